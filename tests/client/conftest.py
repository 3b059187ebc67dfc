"""Servers whose tables are fed by hand, and clients of them."""

from collections.abc import Iterator

import pytest

from tests.client.fed import Fed
from tests.client.wire import Wire
from turnout.client import Client


@pytest.fixture
def fed() -> Iterator[Fed]:
    fed = Fed()
    yield fed
    fed.stop()


@pytest.fixture
def wire(fed: Fed) -> Iterator[Wire]:
    wire = Wire(fed.port)
    yield wire
    wire.close()


@pytest.fixture
def client(wire: Wire) -> Iterator[Client]:
    with Client(wire.url) as client:
        yield client


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that connect again without making tests wait."""
    monkeypatch.setattr("turnout.client.changes.FIRST_PAUSE_SECONDS", 0.02)
