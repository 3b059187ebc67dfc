"""Properties in Java's spelling, in librdkafka's or in both, understood as one login."""

from collections.abc import Mapping

from turnout.errors import PropertyError
from turnout.kafka.login.given import Given
from turnout.kafka.login.model import Login, Protocol
from turnout.kafka.login.parse_sasl import SASL_NAMES, read_sasl
from turnout.kafka.login.parse_tls import TLS_NAMES, read_tls

PROTOCOL = "security.protocol"
LOGIN_NAMES = SASL_NAMES | TLS_NAMES | {PROTOCOL}
"""Properties that are the login, and nothing else is."""


def read_login(properties: Mapping[str, str]) -> Login:
    given = Given(properties)
    protocol = read_protocol(given)
    return Login(protocol=protocol, tls=read_tls(given, protocol), sasl=read_sasl(given, protocol))


def read_protocol(given: Given) -> Protocol:
    text = (given.text(PROTOCOL) or Protocol.PLAINTEXT).upper()
    if text not in list(Protocol):
        raise PropertyError(PROTOCOL, f"{PROTOCOL} must be one of {', '.join(Protocol)}")
    return Protocol(text)
