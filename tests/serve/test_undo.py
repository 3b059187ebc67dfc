"""`POST /api/undo` of a service whose orchestrator works among fakes; publishing is taken over."""

import json

import httpx
import pytest

from tests.orchestrator.fakes import World
from tests.serve.publishing import Published
from turnout.errors import KafkaError
from turnout.service import Service


def publish(service: Service, monkeypatch: pytest.MonkeyPatch, outcome: str | None) -> Published:
    published = Published(service, outcome)
    monkeypatch.setattr(service, "publish_control", published)
    return published


@pytest.mark.parametrize(
    ("outcome", "status"), [("applied", 200), ("no change", 200), ("superseded", 200), ("rejected: gone", 422)]
)
def test_an_undo_publishes_the_whole_previous_state_and_is_answered_with_its_outcome(
    http: httpx.Client, service: Service, world: World, monkeypatch: pytest.MonkeyPatch, outcome: str, status: int
) -> None:
    published = publish(service, monkeypatch, outcome)
    world.send('{"leftTopic": "left_b", "joinType": "inner"}')
    world.succeed()
    answer = http.post("/api/undo")
    assert (answer.status_code, answer.json()) == (status, {"id": "0:0", "outcome": outcome})
    fields = {"usersTopic": "left", "accountsTopic": "right", "joinType": "left"}
    assert [json.loads(value) for value in published.values] == [fields]


def test_an_undo_whose_outcome_takes_long_is_answered_with_its_id(
    http: httpx.Client, service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(service, monkeypatch, None)
    monkeypatch.setattr("turnout.serve.control_api.OUTCOME_SECONDS", 0.05)
    world.send('{"joinType": "inner"}')
    answer = http.post("/api/undo")
    assert (answer.status_code, answer.json()) == (202, {"id": "0:0"})


@pytest.mark.usefixtures("world")
def test_nothing_to_undo_is_a_409_that_says_so_and_publishes_nothing(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = publish(service, monkeypatch, "applied")
    answer = http.post("/api/undo")
    assert answer.status_code == 409
    assert answer.json() == {"error": "There is nothing to undo: no other topics or join type have been shown before."}
    assert published.values == []


def test_an_undo_before_kafka_is_there_is_a_503_that_says_so(http: httpx.Client) -> None:
    answer = http.post("/api/undo")
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("Turnout is still starting")


def test_before_the_control_topic_is_read_nobody_knows_what_to_undo(http: httpx.Client, service: Service) -> None:
    service._conductor = World().orchestrator
    answer = http.post("/api/undo")
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("Turnout is still starting")


def test_a_kafka_that_does_not_answer_is_a_503_with_its_reason(
    http: httpx.Client, service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise KafkaError("no answer in 10 s")

    monkeypatch.setattr(service, "publish_control", fail)
    world.send('{"joinType": "inner"}')
    answer = http.post("/api/undo")
    assert (answer.status_code, answer.json()) == (503, {"error": "no answer in 10 s"})


def test_only_a_post_undoes(http: httpx.Client) -> None:
    assert http.get("/api/undo").status_code == 405
