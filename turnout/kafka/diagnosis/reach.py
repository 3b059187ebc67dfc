"""The way to a server: its name, and a connection."""

import socket
import time
from typing import NamedTuple

from turnout.kafka.diagnosis.obstacle import Obstacle

CONNECT_SECONDS = 5.0
"""For each address: more than any network needs, and a person waits for it."""
DEFAULT_PORT = 9092
"""librdkafka's; Java's client wants one to be named."""


class Server(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Connected(NamedTuple):
    address: str
    seconds: float


def servers_of(bootstrap: str) -> list[Server]:
    """Those that `bootstrap.servers` names."""
    servers = [_server(text) for item in bootstrap.split(",") if (text := item.strip())]
    if not servers:
        raise Obstacle("bootstrap.servers names no server", "write host:port, or several with commas")
    return servers


def _server(text: str) -> Server:
    text = text.rpartition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or host.endswith(":") or (host.startswith("[") and not host.endswith("]")):  # no port: all is the host
        host, port = text, str(DEFAULT_PORT)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise Obstacle(
            f"bootstrap.servers: {text} does not end in a port", "write host:port, with a port from 1 to 65535"
        )
    return Server(host.strip("[]"), int(port))


def resolve(server: Server) -> list[str]:
    """Its addresses."""
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else "it cannot be a host's name"
        raise Obstacle(
            f"the name {server.host} is not known here ({reason})",
            "correct it where it is written; if it is right, this machine's name server (or /etc/hosts) must know it, "
            "and a VPN may have to be up",
        ) from None
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def connect(server: Server, addresses: list[str]) -> Connected:
    """To the first address that answers, as the clients do."""
    obstacles: list[Obstacle] = []
    for address in addresses:
        begun = time.monotonic()
        try:
            with open_connection(address, server.port):
                return Connected(address, time.monotonic() - begun)
        except OSError as error:
            obstacles.append(_unreachable(Server(address, server.port), error))
    # What was refused is nearer to the truth than an address that leads nowhere.
    raise next((obstacle for obstacle in obstacles if "refused" in obstacle.reason), obstacles[0])


def open_connection(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=CONNECT_SECONDS)


def _unreachable(place: Server, error: OSError) -> Obstacle:
    match error:
        case ConnectionRefusedError():
            return Obstacle(
                f"nothing listens on {place} (connection refused)",
                "see that the server runs, and that host and port are right: a broker's `listeners` names its ports",
            )
        case TimeoutError():
            return Obstacle(
                f"{place} does not answer in {CONNECT_SECONDS:g} s",
                f"see that the host is up, that a firewall or security group lets TCP port {place.port} through, and "
                "that a VPN is up if it takes one",
            )
        case _:
            return Obstacle(
                f"{place} cannot be reached ({error.strerror or error})",
                "see that this machine has a way to that network (route, VPN, IPv6), and that the address is right",
            )
