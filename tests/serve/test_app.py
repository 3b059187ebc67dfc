import io
import json
from datetime import UTC, datetime, timedelta

import httpx
import polars as pl
import pytest

from tests.serve.feeding import change, swap
from tests.serve.publishing import Published
from turnout import __version__
from turnout.errors import KafkaError
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics
from turnout.serve.control_api import LARGEST_CONTROL_BYTES
from turnout.service import Service

TABLES = [
    "users_ui",
    "accounts_ui",
    "final_ui",
    "control_raw",
    "orchestrator_status",
    "orchestrator_logs",
    "rejected_ui",
]


def test_the_process_is_up_before_anything_is_live(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "up"}
    ready = http.get("/readyz")
    assert (ready.status_code, ready.json()) == (503, {"status": "starting"})


def test_the_status_is_there_from_the_first_moment(http: httpx.Client) -> None:
    status = http.get("/api/status").json()
    assert status.pop("uptimeSeconds") >= 0
    now = datetime.fromisoformat(status.pop("now"))
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=10)
    assert status == {
        "usersTopic": "users",
        "accountsTopic": "accounts",
        "joinType": "left",
        "lastApplied": None,
        "state": "starting",
        "generation": 0,
        "message": "starting",
        "lag": {},
        "rowsPerSecond": 0,
        "newestRowAt": None,
        "latencyMs": None,
        "rejected": 0,
    }


def test_the_status_is_that_of_now(http: httpx.Client, service: Service) -> None:
    desired = Desired(Topics("users_b", "accounts"), JoinType.INNER)
    service.tables.status(Status(desired, 0, State.LIVE, 4, "live"))
    status = http.get("/api/status").json()
    assert (status["usersTopic"], status["joinType"], status["generation"]) == ("users_b", "inner", 4)
    assert status["lastApplied"] == "1970-01-01T00:00:00.000Z"


def test_all_tables_are_listed_with_their_columns_and_counts(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 1), ("2", 2)])
    tables = {table["name"]: table for table in http.get("/api/tables").json()["tables"]}
    assert list(tables) == TABLES
    assert tables["users_ui"] == {
        "name": "users_ui",
        "columns": {"userId": "string", "name": "string", "email": "string", "age": "long"},
        "rows": 2,
    }
    assert [tables[name]["rows"] for name in TABLES] == [2, 0, 0, 0, 1, 0, 0]


def test_every_table_can_be_asked_for_from_the_first_moment(http: httpx.Client) -> None:
    for name in TABLES:
        answer = http.get(f"/api/tables/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert len(answer.json()["rows"]) == (name == "orchestrator_status")


def test_a_snapshot_has_the_generation_and_exact_integers(http: httpx.Client, service: Service) -> None:
    swap(service, 3, [("1", 2**63 - 1), ("2", -(2**53) - 1), ("3", None)])
    answer = http.get("/api/tables/users_ui")
    assert b'"age":9223372036854775807' in answer.content
    assert b'"age":-9007199254740993' in answer.content
    assert answer.json() == {
        "generation": 3,
        "rows": [
            {"userId": "u1", "name": "name 1", "email": None, "age": 2**63 - 1},
            {"userId": "u2", "name": "name 2", "email": None, "age": -(2**53) - 1},
            {"userId": "u3", "name": "name 3", "email": None, "age": None},
        ],
    }


def test_a_snapshot_is_filtered_sorted_and_cut_as_asked(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 10), ("2", 30), ("3", 20), ("4", 40)])
    answer = http.get("/api/tables/users_ui?filter=age>10&filter=userId!%3Du4&sort=age:desc&limit=1")
    assert [row["userId"] for row in answer.json()["rows"]] == ["u2"]


def test_a_snapshot_comes_as_csv(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 10)])
    answer = http.get("/api/tables/users_ui?format=csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.text == "userId,name,email,age\nu1,name 1,,10\n"


def test_a_snapshot_comes_as_arrow(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 2**63 - 1)])
    answer = http.get("/api/tables/users_ui?format=arrow")
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert pl.read_ipc_stream(io.BytesIO(answer.content))["age"].to_list() == [2**63 - 1]


def test_an_unknown_table_is_a_404_with_the_names_there_are(http: httpx.Client) -> None:
    for path in ("/api/tables/other", "/api/tables/other/changes", "/api/tables/other?sort=age"):
        answer = http.get(path)
        assert answer.status_code == 404
        assert answer.json() == {"error": f"there is no table 'other'; there are {', '.join(TABLES)}"}


REFUSED = {
    "filter=age": "filter 'age' is not <column><operator><value>; operators: == != <= >= < > ~",
    "filter=age>old": "filter on 'age': 'old' is not a long",
    "filter=other==1": "there is no column 'other'; there are userId, name, email, age",
    "sort=other": "there is no column 'other'; there are userId, name, email, age",
    "limit=-1": "limit: Input should be greater than or equal to 0, not '-1'",
    "limit=all": "limit: Input should be a valid integer, unable to parse string as an integer, not 'all'",
    "format=xml": "format: Input should be 'json', 'csv' or 'arrow', not 'xml'",
}


def test_a_question_that_makes_no_sense_is_a_400_that_says_why(http: httpx.Client) -> None:
    for query, why in REFUSED.items():
        answer = http.get(f"/api/tables/users_ui?{query}")
        assert (answer.status_code, answer.json()) == (400, {"error": why})


def test_an_absurd_limit_is_no_limit(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 10)])
    assert len(http.get(f"/api/tables/users_ui?limit={10**30}").json()["rows"]) == 1


def test_a_control_message_before_kafka_is_there_is_a_503_that_says_so(http: httpx.Client) -> None:
    answer = http.post("/api/control", content=b'{"joinType": "inner"}')
    assert answer.status_code == 503
    assert answer.json() == {
        "error": "Turnout is still starting and not yet connected to Kafka: try again in a few seconds"
    }


@pytest.mark.parametrize(
    ("outcome", "status"), [("applied", 200), ("no change", 200), ("superseded", 200), ("rejected: not JSON", 422)]
)
def test_a_control_message_is_answered_with_its_outcome(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch, outcome: str, status: int
) -> None:
    published = Published(service, outcome)
    monkeypatch.setattr(service, "publish_control", published)
    value = b' {"joinType": "\xff"} '
    answer = http.post("/api/control", content=value)
    assert (answer.status_code, answer.json()) == (status, {"id": "0:0", "outcome": outcome})
    assert published.values == [value]


def test_a_control_message_whose_outcome_takes_long_is_answered_with_its_id(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "publish_control", Published(service, None))
    monkeypatch.setattr("turnout.serve.control_api.OUTCOME_SECONDS", 0.05)
    answer = http.post("/api/control", content=b"{}")
    assert (answer.status_code, answer.json()) == (202, {"id": "0:0"})


def test_a_kafka_that_does_not_answer_is_a_503_with_its_reason(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(*_: object) -> str:
        raise KafkaError("no answer in 10 s")

    monkeypatch.setattr(service, "publish_control", publish)
    answer = http.post("/api/control", content=b"{}")
    assert (answer.status_code, answer.json()) == (503, {"error": "no answer in 10 s"})


def test_a_body_that_is_too_large_is_a_413(http: httpx.Client) -> None:
    size = LARGEST_CONTROL_BYTES + 1
    for body in (b"x" * size, (b"x" * 1024 for _ in range(size // 1024 + 1))):
        answer = http.post("/api/control", content=body)
        assert answer.status_code == 413
        assert answer.json() == {"error": f"a control message has at most {LARGEST_CONTROL_BYTES} bytes"}


def test_the_largest_body_allowed_is_published(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = Published(service, "applied")
    monkeypatch.setattr(service, "publish_control", published)
    assert http.post("/api/control", content=b"x" * LARGEST_CONTROL_BYTES).status_code == 200
    assert len(published.values[0]) == LARGEST_CONTROL_BYTES


def test_the_interface_describes_itself(http: httpx.Client) -> None:
    described = json.loads(http.get("/openapi.json").text)
    assert described["info"]["version"] == __version__
    assert "/api/tables/{name}/changes" in described["paths"]
