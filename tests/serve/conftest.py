"""A service whose tables are fed by hand (nothing behind them is started), and a real server before it."""

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
import uvicorn

from tests.orchestrator.fakes import World
from tests.serve.feeding import change
from tests.serve.publishing import Published
from tests.waiting import until
from turnout.config import load
from turnout.kafka.activity import Activity
from turnout.serve.app import create_app
from turnout.service import Service


@pytest.fixture
def service() -> Service:
    return Service(load(None, env={}))


@pytest.fixture
def world(service: Service) -> World:
    """The default, live, and the service knows of it: its orchestrator works among fakes."""
    world = World()
    service._conductor = world.orchestrator
    world.start()
    world.succeed()
    service.tables.status(world.status)
    return world


@pytest.fixture
def live(service: Service, world: World, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Something in the tables, something live, and topics."""
    change(service, [("1", 10)])
    monkeypatch.setattr(service, "publish_control", Published(service, "applied"))
    monkeypatch.setattr(service, "topics", lambda: [Activity("orders", 3, 1200, 2.5, 0), Activity("secret", 1)])
    return service


@pytest.fixture
def server(service: Service) -> Iterator[str]:
    """The server's address, such as http://127.0.0.1:40000."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        host, port = listener.getsockname()
        # Without pings: a viewer that a test puts to sleep is to be dropped for what it does not read, not for those.
        config = uvicorn.Config(
            create_app(service), log_config=None, timeout_graceful_shutdown=1, ws_ping_interval=None
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        try:
            until(lambda: running.started, "the server answers")
            yield f"http://{host}:{port}"
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=10) as client:
        yield client
