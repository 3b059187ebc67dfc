"""Ports that stay free while nobody listens on them."""

import random
import socket
from contextlib import ExitStack, suppress

from turnout.kafka.embedded import LASTING_PORTS

HOST = "127.0.0.1"


def lasting_ports(count: int) -> list[int]:
    """Different ones: all are held while choosing. Clients that call a stopped server are never given its port."""
    with ExitStack() as held:
        ports: list[int] = []
        for candidate in random.sample(LASTING_PORTS, len(LASTING_PORTS)):
            with suppress(OSError):
                held.enter_context(socket.create_server((HOST, candidate)))
                ports.append(candidate)
            if len(ports) == count:
                return ports
    raise OSError(f"fewer than {count} ports are free on {HOST}")
