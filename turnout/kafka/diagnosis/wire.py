"""The two requests of Kafka's protocol that come before a login: is it a Kafka, and which mechanisms has it?

librdkafka asks them too, but does not tell. They hold nothing secret.
"""

import socket
import struct
from typing import NamedTuple

ANSWER_SECONDS = 5.0
_API_VERSIONS, _SASL_HANDSHAKE = (18, 0), (17, 1)
_CLIENT = b"turnout"
_UNSUPPORTED_MECHANISM = 33
_LARGEST_ANSWER = 1 << 20
"""Far more than either answer has. Another protocol's first bytes, read as a length, are more than that."""


class NotKafka(Exception):
    """It answered, but as no Kafka does."""


class Greeting(NamedTuple):
    mechanisms: tuple[str, ...] | None
    """Which the listener has; None if it has no login."""


def greet(connection: socket.socket, mechanism: str) -> Greeting:
    """`mechanism`: the one that will be used; any text will do if there is none."""
    connection.settimeout(ANSWER_SECONDS)
    _ask(connection, _API_VERSIONS, b"")
    answer = _ask(connection, _SASL_HANDSHAKE, _text(mechanism))
    try:
        error, count = struct.unpack_from(">hi", answer)
        mechanisms, end = [], 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", answer, end)
            mechanisms.append(answer[end + 2 : end + 2 + length].decode())
            end += 2 + length
    except (struct.error, UnicodeDecodeError):
        raise NotKafka from None
    # A listener without a login answers that this is no time for one.
    return Greeting(tuple(sorted(mechanisms)) if error in (0, _UNSUPPORTED_MECHANISM) else None)


def _ask(connection: socket.socket, request: tuple[int, int], body: bytes) -> bytes:
    message = struct.pack(">hhi", *request, 0) + _text(_CLIENT.decode()) + body
    connection.sendall(struct.pack(">i", len(message)) + message)
    (length,) = struct.unpack(">i", _receive(connection, 4))
    if not 4 <= length <= _LARGEST_ANSWER:
        raise NotKafka
    return _receive(connection, length)[4:]  # after the number of the request


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _receive(connection: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        piece = connection.recv(length - len(received))
        if not piece:
            raise ConnectionResetError("the connection was closed")
        received += piece
    return received
