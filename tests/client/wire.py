"""What lies between a client and its server: it can be cut, go silent, and lead to another server."""

import socket
import struct
import threading
from contextlib import suppress


class Wire:
    """A port of its own that is forwarded, byte by byte."""

    def __init__(self, port: int) -> None:
        self.connections = 0
        self._to: int | None = port
        self._open = threading.Event()
        self._open.set()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lead(self, port: int | None) -> None:
        """To another server from now on; None: to nowhere. What is connected is cut."""
        self._to = port
        self.cut()

    def cut(self) -> None:
        """At once, as by a cable that is pulled out of a router that says so."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for each in sockets:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def silence(self) -> None:
        """Nothing comes through any more, and nobody is told."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._listener.close()
        self.resume()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    if self._to is None:
                        raise OSError
                    server = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    client.close()
                    continue
                self.connections += 1
                with self._lock:
                    self._sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                self._open.wait()
                sink.sendall(part)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
