"""Runs a service and its server in this process until somebody asks to stop."""

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from turnout.ending import Ending
from turnout.serve.app import create_app
from turnout.serve.patience import impatient
from turnout.serve.security.exposure import warn_of_exposure
from turnout.service import Service

OPEN_STREAMS_SECONDS = 1
"""How long requests may go on after the signal to stop. Viewers' streams never end by themselves: they are cut then."""

SPARE_CONNECTIONS = 500
"""Open, and with no request under way: browsers keep some for the next one. uvicorn closes them after five seconds."""


def run(service: Service, listener: socket.socket, ending: Ending, on_live: Callable[[], None]) -> None:
    """Serve until a signal to stop. Raises what keeps the service from starting at all."""
    server = _Server(service, on_live)
    ending.gently(server.stop)
    ending.callback(service.stop)
    service.start()
    warn_of_exposure(service.config)
    server.run([listener])
    if service.failure is not None:
        raise service.failure


def _no_refused_sockets(record: logging.LogRecord) -> bool:
    """uvicorn takes a socket that is refused by an answer for a defect: anyone could fill the log with that."""
    return record.getMessage() != "ASGI callable returned without completing handshake."


def server_config(service: Service, **settings: Any) -> uvicorn.Config:
    """How uvicorn serves this service."""
    serve = service.config.serve
    logging.getLogger("uvicorn.error").addFilter(_no_refused_sockets)
    return uvicorn.Config(
        create_app(service),
        http=impatient(serve.limits.request_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(serve.proxies),
        ssl_certfile=serve.tls.certificate or None,
        ssl_keyfile=serve.tls.key or None,
        # Before it is a request, a connection is counted by nobody else.
        limit_concurrency=serve.limits.max_connections + SPARE_CONNECTIONS,
        ws_max_size=serve.limits.max_request_bytes,
        **settings,
    )


class _Server(uvicorn.Server):
    """Leaves signals to the ending, and looks after the service while it starts."""

    def __init__(self, service: Service, on_live: Callable[[], None]) -> None:
        super().__init__(server_config(service, timeout_graceful_shutdown=OPEN_STREAMS_SECONDS))
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
