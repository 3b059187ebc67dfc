"""References to files: what is one, what is not, and that only the reference shows."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnout.errors import ConfigError, PropertyError
from turnout.properties import KafkaProperties, Properties
from turnout.references import escaped, parse

TEXTS = st.lists(st.sampled_from(["$", "{", "}", "${file:", "$${file:", "file:/", "a"])).map("".join)
SAME_DIRECTORY = [HealthCheck.function_scoped_fixture]


@given(text=TEXTS)
def test_a_plain_text_can_be_written_whatever_it_looks_like(text: str) -> None:
    value = parse(escaped(text), is_secret=False)
    assert not value.files
    assert value.read() == text
    assert value.written() == escaped(text)


@given(text=TEXTS, is_secret=st.booleans())
def test_what_is_written_again_is_the_same(text: str, is_secret: bool) -> None:
    value = parse(text, is_secret=is_secret)
    again = parse(value.written(), is_secret=is_secret)
    assert again == value


@given(
    before=TEXTS.filter(lambda text: not text.endswith("$")),
    secret=st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: not text.endswith("\r")),
    after=TEXTS,
)
@settings(suppress_health_check=SAME_DIRECTORY)
def test_a_value_is_its_texts_and_what_is_in_its_files(before: str, secret: str, after: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(secret.encode() + b"\n")
    value = parse(f"{escaped(before)}${{file:{file}}}{escaped(after)}", is_secret=False)
    assert value.files == {str(file)}
    assert value.read() == before + secret + after


@pytest.mark.parametrize(
    ("content", "value"),
    [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), (" a ", " a "), ("a\nb\n", "a\nb")],
)
def test_one_lines_end_is_dropped(tmp_path: Path, content: str, value: str) -> None:
    (tmp_path / "secret").write_bytes(content.encode())
    assert parse(f"file:{tmp_path}/secret", is_secret=True).read() == value


def test_a_file_alone_is_one_only_where_a_secret_is_due() -> None:
    assert parse("file:/x", is_secret=True).files == {"/x"}
    for text, is_secret in (("file:/x", False), ("file:x", True), (" file:/x", True), ("${file:}", True)):
        assert not parse(text, is_secret=is_secret).files


def test_an_unreadable_file_is_said_with_the_property_and_the_reason(tmp_path: Path) -> None:
    properties = KafkaProperties({"sasl.password": f"file:{tmp_path}/none"})
    with pytest.raises(
        PropertyError, match=r"^sasl\.password: the file \S+/none cannot be read: No such file"
    ) as raised:
        properties["sasl.password"]
    assert raised.value.name == "sasl.password"
    with pytest.raises(ConfigError):
        dict(properties)


def test_nothing_of_a_secret_shows_but_its_references(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    reference = f"${{file:{tmp_path}/secret}}"
    properties = KafkaProperties(
        {"sasl.jaas.config": f'username="ann" password="hush{reference}hush"', "sasl.password": reference}
    )
    assert properties["sasl.jaas.config"] == 'username="ann" password="hushhushhush"'
    for shown in (repr(properties), str(properties.masked()), repr(properties._values), str(vars(properties))):
        assert "hush" not in shown
        assert reference in shown


def test_properties_that_are_plain_refer_to_nothing() -> None:
    values = {"sasl.password": "file:/none", "client.id": "${file:/none} $${file:"}
    assert dict(Properties.plain(values)) == values
    assert not Properties.plain(values).files


def test_properties_are_equal_if_they_are_written_alike() -> None:
    written = {"sasl.password": "file:/none"}
    assert KafkaProperties(written) == KafkaProperties(written)
    assert hash(KafkaProperties(written)) == hash(KafkaProperties(written))
    assert KafkaProperties(written) != KafkaProperties({"sasl.password": "file:/other"})
    assert KafkaProperties({"client.id": "a"}) == {"client.id": "a"}
