"""What a listener speaks, found out by trying: for when it is not what the configuration says."""

import ssl
from contextlib import suppress
from typing import NamedTuple

from turnout.kafka.diagnosis.reach import open_connection
from turnout.kafka.diagnosis.wire import ANSWER_SECONDS, NotKafka, greet
from turnout.kafka.login.model import Protocol


class Spoken(NamedTuple):
    protocol: Protocol
    mechanisms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.protocol} with {' or '.join(self.mechanisms)}" if self.mechanisms else self.protocol.value

    @property
    def advice(self) -> str:
        """For the configuration."""
        mechanism = f" and sasl.mechanism to {' or '.join(self.mechanisms)}" if self.mechanisms else ""
        return f"set security.protocol to {self.protocol}{mechanism}"


def recognize(address: str, port: int, host: str) -> Spoken | None:
    """None: no Kafka that anything is known about. Nobody is trusted here, and nothing secret is said."""
    with suppress(OSError, NotKafka), open_connection(address, port) as connection:
        found = greet(connection, "").mechanisms
        return Spoken(Protocol.PLAINTEXT) if found is None else Spoken(Protocol.SASL_PLAINTEXT, found)
    with suppress(OSError), unverified(address, port, host) as secured:
        with suppress(OSError, NotKafka):
            found = greet(secured, "").mechanisms
            return Spoken(Protocol.SSL) if found is None else Spoken(Protocol.SASL_SSL, found)
        return Spoken(Protocol.SSL)  # one that wants a client's certificate says no more than that
    return None


def unverified(address: str, port: int, host: str) -> ssl.SSLSocket:
    """A TLS connection to whoever is there: to look at its certificate, not to talk."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = open_connection(address, port)
    connection.settimeout(ANSWER_SECONDS)
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise
