"""All that is wrong with the properties of a Kafka, as far as it can be told without the Kafka."""

from collections.abc import Callable, Iterator, Mapping

from turnout.errors import PropertyError
from turnout.kafka.login.given import Given
from turnout.kafka.login.names import nearest_name, unknown_names
from turnout.kafka.login.parse import LOGIN_NAMES, read_protocol
from turnout.kafka.login.parse_sasl import read_sasl
from turnout.kafka.login.parse_tls import read_tls


def mistakes_in(properties: Mapping[str, str]) -> Iterator[PropertyError]:
    unknown = list(unknown_names(properties))
    yield from unknown
    # A misspelt part of the login is missing from it: that is said once.
    if not any(nearest_name(mistake.name) in LOGIN_NAMES for mistake in unknown):
        yield from _login_mistakes(Given(properties))


def _login_mistakes(given: Given) -> Iterator[PropertyError]:
    try:
        protocol = read_protocol(given)
    except PropertyError as mistake:
        yield mistake
        return
    parts: tuple[Callable[[], object], ...] = (lambda: read_tls(given, protocol), lambda: read_sasl(given, protocol))
    for read in parts:
        try:
            read()
        except PropertyError as mistake:
            yield mistake
