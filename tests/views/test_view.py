from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, oracle_of, records_of, schemas
from tests.oracle import Message
from turnout.changelog.record import decode
from turnout.changelog.store import Store
from turnout.config import PublicNames
from turnout.schema import Columns, ColumnType, JoinSchema, JoinType, Match, TableSchema
from turnout.tables.delta import ROW
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Changed, Event, Registry, Swapped
from turnout.views.expand import MATCH, expand
from turnout.views.view import View

NAMES = PublicNames("left_ui", "right_ui")
SCHEMA = JoinSchema(
    TableSchema("users", {"id": ColumnType.LONG, "name": ColumnType.STRING}, keep=2),
    TableSchema("accounts", {"id": ColumnType.LONG, "balance": ColumnType.LONG}, keep=2),
    key="id",
)


class Shown:
    """A store, a view on it and the public tables, fed with messages."""

    def __init__(self, schema: JoinSchema = SCHEMA) -> None:
        self._schema = schema
        columns: dict[str, Columns] = {
            NAMES.left: schema.left.columns,
            NAMES.right: schema.right.columns,
            NAMES.joined: schema.joined_columns,
        }
        self.registry = Registry(LiveTable(name, its_columns) for name, its_columns in columns.items())
        self.events: dict[str, list[Event]] = {name: [] for name in columns}
        for name, events in self.events.items():
            self.registry.subscribe(name, events.append)
        self._store = Store(schema)
        self._messages: list[Message] = []
        self._view: View | None = None

    def show(self, join: JoinType, match: Match = Match.LATEST, generation: int = 1) -> View:
        self._view = View(self.registry, NAMES, self._schema, join, match, generation)
        self._view.show(self._store.all())
        return self._view

    def send(self, *messages: Message) -> None:
        self._messages += messages
        sent = {message.row[self._schema.key] for message in messages}
        records = enumerate(records_of(self._messages, self._schema).items())
        change = self._store.take((str(number).encode(), record) for number, (key, record) in records if key in sent)
        if change is not None and self._view is not None:
            self._view.changed(change)

    def rows(self, name: str = NAMES.joined) -> pl.DataFrame:
        return self.registry.snapshot(name).rows


def user(offset: int, key: int | None, name: str) -> Message:
    return Message("left", offset, 0, offset, {"id": key, "name": name})


def account(offset: int, key: int | None, balance: int) -> Message:
    return Message("right", offset, 0, offset, {"id": key, "balance": balance})


def test_a_left_row_shows_at_once_and_is_updated_in_place_when_its_match_arrives() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(user(0, 1, "Ann"))
    assert shown.rows().rows() == [("l:0:0", 1, "Ann", None)]
    shown.send(account(0, 1, 50))
    assert shown.rows().rows() == [("l:0:0", 1, "Ann", 50)]
    kinds = [(type(event), event.delta.removes.to_list()) for event in shown.events[NAMES.joined]]
    assert kinds == [(Swapped, []), (Changed, []), (Changed, [])]


def test_only_the_tables_that_change_are_told_of() -> None:
    shown = Shown()
    shown.show(JoinType.SEMI)
    shown.send(account(0, 1, 50))
    assert {name: len(events) - 1 for name, events in shown.events.items()} == {
        "left_ui": 0,
        "right_ui": 1,
        "final_ui": 0,
    }


def test_a_row_beyond_keep_goes() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(*(user(offset, 1, f"v{offset}") for offset in range(3)))
    shown.send(user(3, 1, "v3"))
    assert sorted(shown.rows().get_column("name")) == ["v2", "v3"]
    assert sorted(shown.rows(NAMES.left).get_column("name")) == ["v2", "v3"]


def test_nothing_for_people_but_the_columns_and_the_row_id_is_shown() -> None:
    shown = Shown()
    shown.send(user(0, 1, "Ann"))
    shown.show(JoinType.LEFT)
    shown.send(account(0, 1, 50))
    assert shown.rows().columns == [ROW, "id", "name", "balance"]


def test_another_join_of_the_same_records_is_shown_in_one_step() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(user(0, 1, "Ann"), user(1, 2, "Bob"), account(0, 1, 50))
    shown.show(JoinType.ANTI, generation=2)
    assert shown.rows().get_column("name").to_list() == ["Bob"]
    assert [event.generation for event in shown.events[NAMES.joined]] == [1, 1, 2]
    shown.send(account(1, 2, 60))
    assert shown.rows().height == 0


def test_a_view_of_an_older_generation_changes_nothing() -> None:
    shown = Shown()
    old = shown.show(JoinType.LEFT)
    shown.show(JoinType.INNER, generation=2)
    change = Store(SCHEMA).take([(b"1", records_of([user(0, 1, "Ann")], SCHEMA)[1])])
    assert change is not None
    old.changed(change)
    assert all(shown.rows(name).height == 0 for name in shown.events)


@pytest.mark.parametrize("join", JoinType)
@pytest.mark.parametrize("match", Match)
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_tables_fed_bit_by_bit_are_those_of_a_fresh_expansion_and_of_the_oracle(
    join: JoinType, match: Match, data: st.DataObject
) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    first, size = data.draw(st.integers(0, len(messages))), data.draw(st.integers(1, 5))
    shown = Shown(schema)
    if messages[:first]:
        shown.send(*messages[:first])
    shown.show(join, match)
    for start in range(first, len(messages), size):
        shown.send(*messages[start : start + size])
    fresh = expand(decode(list(records_of(messages, schema).values()), schema), schema, join, match)
    expected = oracle_of(schema).tables(messages, join, match)
    for name, side, rows in (
        (NAMES.left, "left", fresh.left),
        (NAMES.right, "right", fresh.right),
        (NAMES.joined, "joined", fresh.joined.drop(MATCH)),
    ):
        assert Counter(shown.rows(name).rows()) == Counter(rows.rows())
        assert Counter(shown.rows(name).drop(ROW).rows()) == expected[side]
