"""`/readyz` on a real server, of a service whose clock is moved by hand."""

import httpx
import pytest

from tests.orchestrator.fakes import World
from turnout.config import load
from turnout.service import Service
from turnout.staleness import Look, Staleness


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stale_seconds() -> str:
    return "30"


@pytest.fixture
def service(clock: Clock, stale_seconds: str) -> Service:
    service = Service(load(None, env={"TURNOUT_SERVE__STALE_SECONDS": stale_seconds}))
    service.staleness = Staleness(clock)
    return service


def wait(service: Service, clock: Clock, seconds: float) -> None:
    """Three messages wait, and none comes."""
    service.staleness.note({"users": Look(3, {0: 7})}, lambda _: True)
    clock.now += seconds


def readiness(http: httpx.Client) -> tuple[int, object]:
    answer = http.get("/readyz")
    return answer.status_code, answer.json()


def test_it_is_starting_until_something_is_live(http: httpx.Client, service: Service, clock: Clock) -> None:
    wait(service, clock, 60)
    assert readiness(http) == (503, {"status": "starting"})


@pytest.mark.usefixtures("world")
def test_it_says_why_it_is_stale_and_is_ready_again_when_a_row_has_come(
    http: httpx.Client, service: Service, clock: Clock
) -> None:
    assert readiness(http) == (200, {"status": "live"})
    wait(service, clock, 29)
    assert readiness(http) == (200, {"status": "live"})
    assert "turnout_ready 1.0" in http.get("/metrics").text
    clock.now += 2
    why = "3 messages of topic 'users' wait, and for 31 s none of them has come into the tables"
    assert readiness(http) == (503, {"status": "stale", "reasons": [why]})
    metrics = http.get("/metrics").text
    assert "turnout_ready 0.0" in metrics
    assert "turnout_live 1.0" in metrics
    assert 'turnout_topic_stale_seconds{topic="users"} 31.0' in metrics
    service.staleness.note({"users": Look(2, {0: 8})}, lambda _: True)
    assert readiness(http) == (200, {"status": "live"})


@pytest.mark.parametrize("stale_seconds", ["0"])
def test_without_a_bound_nothing_is_ever_stale(
    http: httpx.Client, service: Service, clock: Clock, world: World
) -> None:
    wait(service, clock, 1_000_000)
    assert readiness(http) == (200, {"status": "live"})


def test_a_service_that_shows_nothing_waits_for_nothing(service: Service, world: World) -> None:
    service.look()
    assert service.staleness.seconds() == {}
