from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.histories import encode
from turnout.changelog.store import Store, Watcher
from turnout.config import Config, load
from turnout.control.message import ControlMessage
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.schema import ColumnType, JoinSchema, JoinType, Topics
from turnout.tables.delta import ROW
from turnout.tables.public import PublicTables, control_fields

ORDERS_AND_PAYMENTS = """
tables:
  orders:   {topic: o, columns: {item: string, orderId: long, paid: boolean}}
  payments: {topic: p, columns: {orderId: long, item: string, amount: double}}
join: {left: orders, right: payments, on: orderId}
"""


def default() -> Config:
    return load(None, env={})


@pytest.fixture
def orders(tmp_path: Path) -> Config:
    file = tmp_path / "turnout.yaml"
    file.write_text(ORDERS_AND_PAYMENTS)
    return load(file, env={})


def rows(tables: PublicTables, name: str) -> list[dict[str, object]]:
    return tables.registry.snapshot(name).rows.drop(ROW).to_dicts()


def columns(tables: PublicTables) -> dict[str, list[str]]:
    return {name: list(table.columns) for name, table in tables.registry.tables.items()}


def message(offset: int, value: bytes = b"{}") -> ControlMessage:
    return ControlMessage(0, offset, 1_700_000_000_000, value)


def status(state: State, generation: int = 0, last_applied_ms: int | None = None) -> Status:
    return Status(Desired(Topics("users_b", "accounts"), JoinType.INNER), last_applied_ms, state, generation, "says so")


class Changelog:
    """A changelog without a topic: records are put by hand."""

    def __init__(self, schema: JoinSchema) -> None:
        self._store = Store(schema)
        self._offset = 0
        self.watcher: Watcher | None = None

    def watch(self, watcher: Watcher, first: Callable[[pl.DataFrame], None]) -> None:
        first(self._store.bind(watcher.bound))
        self.watcher = watcher

    def unwatch(self) -> None:
        self.watcher = None

    def put(self, user: str, watcher: Watcher | None = None) -> None:
        """A new left row, told to whoever watches, or to another."""
        self._offset += 1
        row = {"v": {"userId": user}, "t": 0, "o": self._offset, "p": 0}
        change = self._store.take([(user.encode(), encode({"k": user, "l": [row], "ln": 1, "rn": 0}))])
        watcher = watcher or self.watcher
        if change is not None and watcher is not None:
            watcher.changed(change)


class Pipeline:
    id = "p"
    topics = Topics("users", "accounts")

    def __init__(self) -> None:
        self.changelog = Changelog(default().join_schema())

    def promote(self, generation: int, join: JoinType) -> None: ...

    def stop(self) -> None: ...

    def retire(self) -> None: ...

    def abandon(self) -> None: ...


LEFT = Desired(Pipeline.topics, JoinType.LEFT)


def test_seven_tables_are_there_from_the_first_moment_and_empty() -> None:
    tables = PublicTables(default())
    assert columns(tables) == {
        "users_ui": ["userId", "name", "email", "age"],
        "accounts_ui": ["userId", "accountType", "balance"],
        "final_ui": ["userId", "name", "email", "age", "accountType", "balance"],
        "control_raw": ["ts", "partition", "offset", "value", "outcome"],
        "orchestrator_status": [
            "usersTopic",
            "accountsTopic",
            "joinType",
            "lastApplied",
            "state",
            "generation",
            "message",
        ],
        "orchestrator_logs": ["ts", "level", "msg"],
        "rejected_ui": ["ts", "topic", "partition", "offset", "reason", "value"],
    }
    assert all(rows(tables, name) == [] for name in tables.registry.tables)


def test_names_columns_and_control_fields_are_those_of_the_configuration(orders: Config) -> None:
    tables = PublicTables(orders)
    shown = columns(tables)
    assert list(shown)[:3] == ["orders_ui", "payments_ui", "final_ui"]
    assert shown["orders_ui"] == ["item", "orderId", "paid"]
    assert shown["final_ui"] == ["item", "orderId", "paid", "payments_item", "amount"]
    assert shown["orchestrator_status"][:3] == ["ordersTopic", "paymentsTopic", "joinType"]
    assert tables.registry.table("final_ui").columns["orderId"] is ColumnType.LONG
    assert control_fields(orders) == tables.fields
    assert (tables.fields.left, tables.fields.right) == ("ordersTopic", "paymentsTopic")


def test_the_status_is_one_row_updated_in_place() -> None:
    tables = PublicTables(default())
    tables.status(status(State.STARTING))
    tables.status(status(State.LIVE, 3, 1_700_000_000_000))
    assert rows(tables, "orchestrator_status") == [tables.status_row()]
    assert tables.status_row() == {
        "usersTopic": "users_b",
        "accountsTopic": "accounts",
        "joinType": "inner",
        "lastApplied": "2023-11-14T22:13:20.000Z",
        "state": "live",
        "generation": 3,
        "message": "says so",
    }


def test_nothing_applied_yet_is_a_null() -> None:
    tables = PublicTables(default())
    tables.status(status(State.STARTING))
    assert tables.status_row()["lastApplied"] is None


def test_a_control_message_is_shown_as_received_and_its_outcome_comes_later() -> None:
    tables = PublicTables(default())
    tables.outcome(message(7, b' {"joinType": "\xff"} '), None)
    expected: dict[str, object] = {
        "ts": "2023-11-14T22:13:20.000Z",
        "partition": 0,
        "offset": 7,
        "value": ' {"joinType": "\ufffd"} ',
        "outcome": None,
    }
    assert rows(tables, "control_raw") == [expected]
    tables.outcome(message(8), None)
    tables.outcome(message(7, b' {"joinType": "\xff"} '), "rejected: not JSON")
    assert {row["offset"]: row["outcome"] for row in rows(tables, "control_raw")} == {
        7: "rejected: not JSON",
        8: None,
    }


def test_a_rejected_record_is_shown() -> None:
    tables = PublicTables(default())
    record = {"ts": 0, "topic": "users", "partition": 0, "offset": 5, "reason": "not JSON", "value": "rubbish"}
    tables.rejected([record])
    tables.rejected([])
    assert rows(tables, "rejected_ui") == [{**record, "ts": "1970-01-01T00:00:00.000Z"}]


def users(tables: PublicTables, name: str = "users_ui") -> list[object]:
    return [row["userId"] for row in rows(tables, name)]


def test_a_pipeline_is_shown_with_what_it_has_and_then_with_what_comes() -> None:
    tables, pipeline = PublicTables(default()), Pipeline()
    pipeline.changelog.put("u1")
    tables.show(1, pipeline, LEFT)
    pipeline.changelog.put("u2")
    assert users(tables) == users(tables, "final_ui") == ["u1", "u2"]
    assert tables.registry.generation == 1


def test_a_pipeline_that_is_no_longer_shown_changes_nothing() -> None:
    tables, old, new = PublicTables(default()), Pipeline(), Pipeline()
    tables.show(1, old, LEFT)
    old_view = old.changelog.watcher
    tables.show(2, new, LEFT)
    assert old.changelog.watcher is None
    old.changelog.put("u1", old_view)  # told in the very moment of the swap
    assert users(tables) == []
    new.changelog.put("u2")
    assert users(tables) == ["u2"]


def test_another_join_of_the_same_pipeline_is_a_new_generation_that_goes_on() -> None:
    tables, pipeline = PublicTables(default()), Pipeline()
    pipeline.changelog.put("u1")
    tables.show(1, pipeline, LEFT)
    tables.show(2, pipeline, Desired(Pipeline.topics, JoinType.INNER))
    pipeline.changelog.put("u2")
    assert users(tables) == ["u1", "u2"]
    assert users(tables, "final_ui") == []
    assert tables.registry.generation == 2


def test_going_back_to_an_older_pipeline_shows_what_it_has_by_now() -> None:
    tables, first, second = PublicTables(default()), Pipeline(), Pipeline()
    tables.show(1, first, LEFT)
    tables.show(2, second, LEFT)
    first.changelog.put("u1")
    tables.show(3, first, LEFT)
    first.changelog.put("u2")
    second.changelog.put("other")
    assert users(tables) == ["u1", "u2"]
