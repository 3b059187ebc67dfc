"""The entry of a JAAS configuration, as Java's client reads and writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import ConfigError
from turnout.kafka.login.jaas import parse_jaas, render_jaas

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
# The hard characters often, and any other: quotes, escapes, what ends an option, an entry or a line.
HARD = st.text(st.sampled_from("\"'\\;=${}\n\r\t 0n€") | st.characters(exclude_categories=["Cs"]))


@given(options=st.dictionaries(st.from_regex(r"[a-z][a-zA-Z0-9._-]*", fullmatch=True), HARD))
def test_a_jaas_entry_reads_back_as_it_was_written(options: dict[str, str]) -> None:
    entry = parse_jaas(render_jaas(PLAIN_MODULE, options))
    assert entry.module == PLAIN_MODULE
    assert {name: value.get_secret_value() for name, value in entry.options.items()} == options


@given(text=st.text(st.characters(exclude_characters='"')))
def test_a_broken_jaas_entry_is_not_quoted_for_the_password_is_in_it(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_jaas(f'{PLAIN_MODULE} required password="s3cr3t{text}')
    assert "s3cr3t" not in str(raised.value)


def test_a_jaas_entry_does_not_show_its_options() -> None:
    assert "s3cr3t" not in repr(parse_jaas(f'{PLAIN_MODULE} required password="s3cr3t";'))
