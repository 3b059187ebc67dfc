"""Addresses: the one that the server listens on, and the one that a person opens."""

import errno
import socket

from turnout.config import ServeConfig
from turnout.errors import SetupError

_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """For a browser on the server's machine."""
    host = _EVERY_ADDRESS.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def listen(serve: ServeConfig) -> socket.socket:
    """The socket to serve on, taken before anything slow is started; whoever connects meanwhile waits."""
    family = socket.AF_INET6 if ":" in serve.host else socket.AF_INET
    try:
        return socket.create_server((serve.host, serve.port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SetupError(
                f"Port {serve.port} on {serve.host} is taken, perhaps by another Turnout: stop what uses it, "
                "or choose another with --port."
            ) from None
        reason = error.strerror or error
        raise SetupError(
            f"Cannot listen on {serve.host}, port {serve.port} ({reason}): choose others with --host and --port."
        ) from None


def url_at(listener: socket.socket, scheme: str = "http") -> str:
    host, port = listener.getsockname()[:2]
    return url_of(host, port, scheme)
