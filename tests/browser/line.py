"""A line to a server that can be cut, mended and put to sleep: a proxy on a port of its own."""

import socket
import threading
from contextlib import suppress

from tests.torture.users_kafka import free_port

HOST = "127.0.0.1"


class Line:
    def __init__(self, port: int) -> None:
        self._target = port
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._awake.set()
        self._port = free_port()  # one that nobody is given while it is cut
        self._listener = self._listen(self._port)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def cut(self) -> None:
        """Nobody gets through any more, and whoever was connected is not."""
        with self._lock:
            for end in (self._listener, *self._ends):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._ends.clear()

    def mend(self) -> None:
        self._listener = self._listen(self._port)

    def sleep(self) -> None:
        """Nothing gets through any more, and nobody is told: connections look as if they were open."""
        self._awake.clear()

    def wake(self) -> None:
        """What connects from now on gets through; what was connected stays as it is, dead."""
        self._awake = threading.Event()
        self._awake.set()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((HOST, self._target))
                with self._lock:
                    if listener.fileno() < 0:  # it was cut meanwhile
                        near.close()
                        far.close()
                        return
                    self._ends |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=(source, sink, self._awake), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket, awake: threading.Event) -> None:
    with suppress(OSError):  # one of the two was closed
        while data := source.recv(65536):
            awake.wait()
            sink.sendall(data)
        awake.wait()
        sink.shutdown(socket.SHUT_WR)
