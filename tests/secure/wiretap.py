"""What clients say to a broker: a line to one of its listeners that keeps all that goes by."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.secure.ports import HOST


class Wiretap:
    """As a context manager. Clients go through it to log in first; the broker then names its own address to them."""

    def __init__(self, address: str) -> None:
        self._target = int(address.rpartition(":")[2])
        self._listener = socket.create_server((HOST, 0))
        self._ends: list[socket.socket] = []
        self.heard: list[bytearray] = []
        """What was said on each connection."""

    @property
    def address(self) -> str:
        """For `bootstrap.servers`."""
        return f"{HOST}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="wiretap", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((HOST, self._target))
                self._ends += [near, far]
                self.heard.append(said := bytearray())
                for source, sink, kept in ((near, far, said), (far, near, bytearray())):
                    threading.Thread(target=_carry, args=(source, sink, kept), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
    with suppress(OSError):  # one of the two was closed
        while data := source.recv(65536):
            kept += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
