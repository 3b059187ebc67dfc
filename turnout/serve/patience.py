"""Connections on which nothing moves: uvicorn itself would wait for ever, and somebody may open all there can be."""

import asyncio
import sys
from contextlib import suppress
from fcntl import ioctl
from termios import TIOCOUTQ

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNREAD_SECONDS = 60.0
"""For a client to read anything at all of what waits for it. A laptop that wakes up later comes back by itself."""


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """uvicorn's own protocol, for which a request's header has to be there within `seconds`, and which hangs up on who
    no longer reads."""

    class Impatient(HttpToolsProtocol):
        _patience: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._wait()

        def on_headers_complete(self) -> None:
            self._cease()
            super().on_headers_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._look_later(_unread(self.transport))

        def resume_writing(self) -> None:
            self._look_no_more()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cease()
            self._look_no_more()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._cease()
            self._patience = self.loop.call_later(seconds, self.transport.close)

        def _cease(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

        def _look_later(self, waiting: int) -> None:
            self._look_no_more()
            self._unread = self.loop.call_later(UNREAD_SECONDS, self._look, waiting)

        def _look(self, before: int) -> None:
            """Nothing is added while writing is paused: so what is left says whether any of it was read."""
            waiting = _unread(self.transport)
            if waiting < before:
                self._look_later(waiting)
            else:
                self.transport.abort()  # to close it would be to wait until all of it has been read

        def _look_no_more(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return Impatient


def _unread(transport: asyncio.Transport) -> int:
    """Bytes that the other side has not taken. The kernel may hold megabytes of them, and takes the next ones only when
    a third of it is free: for slow clients its own count is the one that moves."""
    waiting = transport.get_write_buffer_size()
    with suppress(OSError):  # not every system tells
        found = ioctl(transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        waiting += int.from_bytes(found, sys.byteorder)
    return waiting
