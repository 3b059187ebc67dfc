"""`WS /api/pulse` on a real server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.serve.feeding import users
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics
from turnout.serve.vitals import RATE_SECONDS, RowRate
from turnout.service import Service
from turnout.tables.delta import Delta
from turnout.tables.registry import Changed, Swapped

QUIET_SECONDS = 10


@pytest.fixture
def pulse(server: str) -> Iterator[ClientConnection]:
    with connect(server.replace("http", "ws") + "/api/pulse") as connection:
        yield connection


def beat(pulse: ClientConnection) -> dict[str, Any]:
    return dict(json.loads(pulse.recv(QUIET_SECONDS)))


def test_it_beats_by_itself(pulse: ClientConnection) -> None:
    first, second = beat(pulse), beat(pulse)
    assert first["state"] == second["state"] == "starting"
    assert second["uptimeSeconds"] > first["uptimeSeconds"]
    assert second["now"] > first["now"]


def test_a_change_of_status_is_told(pulse: ClientConnection, service: Service) -> None:
    beat(pulse)
    service.tables.status(Status(Desired(Topics("a", "b"), JoinType.INNER), None, State.LIVE, 3, "live: a + b"))
    while (told := beat(pulse))["state"] != "live":
        pass
    assert (told["usersTopic"], told["joinType"], told["generation"]) == ("a", "inner", 3)


def test_all_listeners_hear_it_and_one_that_leaves_does_not_end_it(server: str, pulse: ClientConnection) -> None:
    with connect(server.replace("http", "ws") + "/api/pulse") as other:
        assert beat(other)["state"] == "starting"
    last = beat(pulse)["uptimeSeconds"]
    assert beat(pulse)["uptimeSeconds"] > last


def test_what_a_listener_says_does_no_harm(pulse: ClientConnection) -> None:
    pulse.send("hello")
    assert beat(pulse)["state"] == "starting"


def test_rows_are_counted_over_the_last_whole_seconds(service: Service) -> None:
    times = iter([100.1, 100.9, 101.2, 101.3, 102.0, 102.1, 200.0])
    rate = RowRate(lambda: next(times))
    two_rows = users(service, [("a", 1), ("b", 2)])
    delta = Delta(two_rows, two_rows.get_column("_row").clear())
    for _ in range(3):
        rate.note(Changed(1, delta))
    assert rate.per_second() == 4 / RATE_SECONDS, "the second that is not over does not count"
    rate.note(Swapped(2, two_rows, delta))
    assert rate.per_second() == 6 / RATE_SECONDS, "a swap does not count"
    next(times)
    assert rate.per_second() == 0
