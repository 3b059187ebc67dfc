"""Kafka client properties for each of the two clients: people write Java's spelling or librdkafka's, or mix them.

Turnout uses a Kafka through librdkafka (control messages, changelogs, checks) and through Java's client (Spark), with
one set of properties. What they say of the login is understood as one `Login` and written for each client in its own
words. Any other property goes to the client that knows it, or to both; one that neither knows is an error.
"""

from collections.abc import Callable, Mapping

from turnout.kafka.login.model import Login
from turnout.kafka.login.names import is_javas, is_librdkafkas, must_be_known
from turnout.kafka.login.parse import LOGIN_NAMES, read_login
from turnout.kafka.login.render_java import render_for_java
from turnout.kafka.login.render_librdkafka import render_for_librdkafka
from turnout.properties import Properties


def for_librdkafka(properties: Mapping[str, str]) -> Properties:
    """The properties as librdkafka (confluent_kafka) takes them. Reads the stores that only Java reads, if any."""
    return _translated(properties, is_librdkafkas, render_for_librdkafka)


def for_java(properties: Mapping[str, str]) -> Properties:
    """The properties as Java's client (Spark) takes them. Reads the PEM files of a client's certificate, if any."""
    return _translated(properties, is_javas, render_for_java)


def _translated(
    properties: Mapping[str, str], is_known: Callable[[str], bool], render: Callable[[Login], dict[str, str]]
) -> Properties:
    must_be_known(properties)
    passed = {name: value for name, value in properties.items() if is_known(name) and name not in LOGIN_NAMES}
    return Properties.plain({**passed, **render(read_login(properties))})
