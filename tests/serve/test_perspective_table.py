"""Rows take one another's places in Perspective's table; what it shows is what was told."""

import perspective
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.serve import perspective_table
from turnout.serve.perspective_table import PLACE, PerspectiveTable
from turnout.tables.delta import ROW, Delta

ROWS = [f"l:0:{number}" for number in range(12)]
Change = tuple[dict[str, int | None], set[str]]
changes = st.tuples(
    st.dictionaries(st.sampled_from(ROWS), st.none() | st.integers(-(2**62), 2**62)),
    st.sets(st.sampled_from(ROWS)),
)


class Shown:
    def __init__(self) -> None:
        self._server = perspective.Server(on_poll_request=lambda *_: None)
        client = self._server.new_local_client()
        self.table = PerspectiveTable(client, "t", _frame({}), with_ids=True)
        self._view = client.open_table("t").view()

    def change(self, upserts: dict[str, int | None], removes: set[str]) -> None:
        self.table.change(Delta(_frame(upserts), pl.Series(ROW, sorted(removes), dtype=pl.String)))
        self._server.poll()
        self.table.tidy()

    def refill(self, rows: dict[str, int | None]) -> None:
        self.table.refill(_frame(rows))
        self._server.poll()

    def columns(self) -> dict[str, list[object]]:
        return self._view.to_columns()  # type: ignore[no-any-return]

    def rows(self) -> dict[object, object]:
        columns = self.columns()
        return dict(zip(columns[ROW], columns["age"], strict=True))


def _frame(rows: dict[str, int | None]) -> pl.DataFrame:
    return pl.DataFrame({ROW: list(rows), "age": list(rows.values())}, {ROW: pl.String, "age": pl.Int64})


@given(st.lists(changes, max_size=8))
@settings(max_examples=60)
def test_after_any_changes_it_shows_the_rows_that_are_there(told: list[Change]) -> None:
    shown, expected = Shown(), dict[str, int | None]()
    for upserts, removes in told:
        gone = removes - upserts.keys()  # an id is in a delta once
        shown.change(upserts, gone)
        expected = {row: age for row, age in (expected | upserts).items() if row not in gone}
        assert shown.rows() == expected
        assert len(shown.columns()[ROW]) == len(expected)


def test_rows_that_come_take_the_places_of_those_that_go() -> None:
    shown = Shown()
    shown.change({"a": 1, "b": 2, "c": 3}, set())
    shown.change({"d": 4, "e": None}, {"a", "b", "c"})
    assert shown.rows() == {"d": 4, "e": None}
    assert set(shown.columns()[PLACE]) < {0, 1, 2}
    shown.change({"f": 6}, set())
    assert set(shown.columns()[PLACE]) == {0, 1, 2}


def test_a_table_that_was_empty_begins_anew() -> None:
    shown = Shown()
    shown.change({"a": 1, "b": 2}, set())
    shown.change({}, {"a", "b"})
    assert shown.rows() == {}
    shown.change({"c": 3}, set())
    assert shown.rows() == {"c": 3}
    assert shown.columns()[PLACE] == [0]


@given(st.lists(changes, max_size=6), changes)
@settings(max_examples=30)
def test_filled_anew_it_shows_the_same_rows_in_the_same_places(told: list[Change], later: Change) -> None:
    shown, expected = Shown(), dict[str, int | None]()
    for upserts, removes in told:
        gone = removes - upserts.keys()
        shown.change(upserts, gone)
        expected = {row: age for row, age in (expected | upserts).items() if row not in gone}
    before = shown.columns()

    shown.refill(expected)
    assert shown.columns() == before
    upserts, removes = later
    shown.change(upserts, removes - upserts.keys())
    assert shown.rows() == {
        row: age for row, age in (expected | upserts).items() if row not in removes - upserts.keys()
    }


def test_it_is_worn_by_rows_that_come_and_as_new_once_it_is_filled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perspective_table, "FEWEST_WORN", 4)
    monkeypatch.setattr(perspective_table, "TIMES_WORN", 2)
    shown = Shown()
    for age in range(4):
        shown.change({"a": age}, set())
    assert not shown.table.worn
    shown.change({"a": 4}, set())
    assert shown.table.worn
    shown.refill({"a": 4})
    assert not shown.table.worn


def test_without_ids_it_shows_the_same_rows() -> None:
    server = perspective.Server(on_poll_request=lambda *_: None)
    client = server.new_local_client()
    table = PerspectiveTable(client, "t", _frame({}), with_ids=False)
    view = client.open_table("t").view()
    table.change(Delta(_frame({"a": 1, "b": 2}), pl.Series(ROW, [], dtype=pl.String)))
    table.change(Delta(_frame({"c": 3}), pl.Series(ROW, ["a"], dtype=pl.String)))
    server.poll()
    assert view.to_columns() == {"age": [3, 2], PLACE: [0, 1]}
    table.refill(_frame({"b": 4, "c": 3}))
    server.poll()
    assert view.to_columns() == {"age": [3, 4], PLACE: [0, 1]}
