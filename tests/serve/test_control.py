"""The outcome of a control message by its id, previews and topics; `/api/control` itself is in test_app."""

import httpx
import pytest

from tests.serve.publishing import Published
from turnout.errors import NotAllowed
from turnout.kafka.activity import Activity
from turnout.service import STILL_STARTING, Service


@pytest.mark.parametrize("outcome", [None, "applied", "rejected: both topics are 'a'"])
def test_an_outcome_by_its_id(http: httpx.Client, service: Service, outcome: str | None) -> None:
    id_ = Published(service, outcome)(b"{}")
    assert http.get(f"/api/control/{id_}").json() == {"id": "0:0", "outcome": outcome}


def test_an_id_that_nobody_has_seen_is_a_404(http: httpx.Client) -> None:
    answer = http.get("/api/control/0:7")
    assert answer.status_code == 404
    assert answer.json() == {"error": "no control message '0:7' has been read: an id is partition:offset"}


@pytest.mark.usefixtures("world")
def test_a_preview_says_from_what_to_what(http: httpx.Client) -> None:
    answer = http.post("/api/preview", json={"leftTopic": "left_b", "usersTopic": "left_b"})
    assert answer.status_code == 200
    assert answer.json() == {
        "from": {"usersTopic": "left", "accountsTopic": "right", "joinType": "left"},
        "to": {"usersTopic": "left_b", "accountsTopic": "right", "joinType": "left"},
        "work": "build",
        "text": "A new pipeline is built on these topics; what is live stays until the new one has caught up.",
        "ignored": ["usersTopic"],
    }


@pytest.mark.usefixtures("world")
def test_a_preview_of_what_would_be_rejected_says_why(http: httpx.Client) -> None:
    answer = http.post("/api/preview", content=b'{"joinType": "outer"}')
    assert answer.status_code == 422
    assert "joinType: 'outer' is not a join type; allowed: left, inner" in answer.json()["error"]


def test_neither_is_known_before_kafka_is_there(http: httpx.Client) -> None:
    for answer in (http.post("/api/preview", content=b"{}"), http.get("/api/topics")):
        assert (answer.status_code, answer.json()) == (503, {"error": STILL_STARTING})


def test_topics_with_how_busy_they_are(http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [Activity("orders", 3, 1200, 2.5, 1_700_000_000_000), Activity("secret", 1)]
    monkeypatch.setattr(service, "topics", lambda: known)
    orders, secret = http.get("/api/topics").json()["topics"]
    assert orders == {
        "name": "orders",
        "partitions": 3,
        "messages": 1200,
        "messagesPerSecond": 2.5,
        "newestAt": "2023-11-14T22:13:20.000Z",
    }
    assert secret["messages"] is secret["messagesPerSecond"] is secret["newestAt"] is None


@pytest.mark.parametrize("path", ["/api/control", "/api/undo"])
def test_a_login_that_may_not_publish_is_a_403_that_says_so(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def publish(*_: object) -> str:
        raise NotAllowed("this login may not write to topic 'control': ask for the right to WRITE to it")

    monkeypatch.setattr(service, "publish_control", publish)
    monkeypatch.setattr(service, "publish_undo", publish)
    answer = http.post(path, json={"joinType": "inner"})
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("this login may not write to topic 'control'")
