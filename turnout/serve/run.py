"""Runs a service and its server in this process until somebody asks to stop."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from turnout.ending import Ending
from turnout.serve.app import create_app
from turnout.service import Service

OPEN_STREAMS_SECONDS = 1
"""How long requests may go on after the signal to stop. Viewers' streams never end by themselves: they are cut then."""


def run(service: Service, listener: socket.socket, ending: Ending, on_live: Callable[[], None]) -> None:
    """Serve until a signal to stop. Raises what keeps the service from starting at all."""
    server = _Server(service, on_live)
    ending.gently(server.stop)
    ending.callback(service.stop)
    service.start()
    server.run([listener])
    if service.failure is not None:
        raise service.failure


class _Server(uvicorn.Server):
    """Leaves signals to the ending, and looks after the service while it starts."""

    def __init__(self, service: Service, on_live: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                create_app(service),
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=OPEN_STREAMS_SECONDS,
            )
        )
        self._service = service
        self._on_live: Callable[[], None] | None = on_live

    def stop(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        if self._on_live is not None and self._service.ready:
            self._on_live()
            self._on_live = None
        return await super().on_tick(counter) or self._service.failure is not None
