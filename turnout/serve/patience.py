"""Connections on which no request comes: uvicorn itself would wait for ever, and somebody may open all there can be."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """uvicorn's own protocol, for which a request's header has to be there within `seconds`."""

    class Impatient(HttpToolsProtocol):
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._wait()

        def on_headers_complete(self) -> None:
            self._cease()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cease()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._cease()
            self._patience = self.loop.call_later(seconds, self.transport.close)

        def _cease(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return Impatient
