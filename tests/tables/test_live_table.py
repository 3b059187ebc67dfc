import os
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cpu import resident_mb
from turnout.schema import Columns, ColumnType
from turnout.tables.delta import ROW, Delta, apply
from turnout.tables.live_table import TIER, LiveTable

# Names that Polars would take for patterns, were it asked by them.
COLUMNS: Columns = {"*": ColumnType.LONG, "^.*$": ColumnType.STRING}
DTYPES = {ROW: pl.String(), "*": pl.Int64(), "^.*$": pl.String()}

Values = tuple[int | None, str | None]
Rows = dict[str, Values]


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame([(row, *values) for row, values in rows.items()], schema=DTYPES, orient="row")


def rows(table: pl.DataFrame) -> Rows:
    assert table.schema == pl.Schema(DTYPES)
    assert table.get_column(ROW).is_unique().all()
    return {row: (number, text) for row, number, text in table.rows()}


def delta(upserts: Rows, removes: Sequence[str] = ()) -> Delta:
    return Delta(frame(upserts), pl.Series(ROW, removes, dtype=pl.String))


def filled(content: Rows) -> LiveTable:
    table = LiveTable("t", COLUMNS)
    table.swap(frame(content))
    return table


def test_a_new_table_is_empty_and_has_its_columns() -> None:
    table = LiveTable("t", {"s": ColumnType.STRING, "l": ColumnType.LONG, "d": ColumnType.DOUBLE})
    assert table.rows().height == 0
    assert table.rows().schema == pl.Schema({ROW: pl.String(), "s": pl.String(), "l": pl.Int64(), "d": pl.Float64()})


def test_a_changed_row_is_replaced_and_moves_to_the_end() -> None:
    table = filled({"a": (1, "old"), "b": (2, "b"), "c": (3, "c")})
    table.change(delta({"a": (9, "new")}, removes=["b"]))
    assert list(rows(table.rows()).items()) == [("c", (3, "c")), ("a", (9, "new"))]


def test_a_row_may_go_and_come_back() -> None:
    table = filled({"a": (1, "x")})
    table.change(delta({}, removes=["a"]))
    table.change(delta({"a": (2, "y")}))
    assert rows(table.rows()) == {"a": (2, "y")}


def test_rows_handed_out_stay_as_they_were() -> None:
    table = filled({"a": (1, "x")})
    before = table.rows()
    table.change(delta({"a": (2, "y")}))
    after = table.rows()
    table.swap(frame({}))
    assert rows(before) == {"a": (1, "x")}
    assert rows(after) == {"a": (2, "y")}


def test_rows_that_come_and_go_for_long_leave_nothing_behind() -> None:
    """Nobody asks for the rows meanwhile."""
    table = filled({})
    for number in range(5_000):  # until what stays has been made
        table.change(_replaced(number))
    before = resident_mb([os.getpid()])
    for number in range(5_000, 35_000):
        table.change(_replaced(number))
    # It was 10 KB for each: a small change kept the memory that Polars takes for one, and the id of what it removed.
    assert resident_mb([os.getpid()]) - before < 100
    assert rows(table.rows()) == {"row number 34999": (34_999, "a text that is not short")}


def _replaced(number: int) -> Delta:
    row: Rows = {f"row number {number}": (number, "a text that is not short")}
    return delta(row, removes=[f"row number {number - 1}"] if number else [])


def test_of_more_changes_than_any_tier_holds_none_is_lost() -> None:
    table, expected = LiveTable("t", COLUMNS), dict[str, Values]()
    for number in range(TIER * TIER + TIER + 1):
        row, gone = str(number % 50), str((number + 25) % 50)
        table.change(delta({row: (number, None)}, removes=[gone]))
        expected.pop(row, None)
        expected.pop(gone, None)
        expected[row] = (number, None)
    assert list(rows(table.rows()).items()) == list(expected.items())


def test_a_swap_tells_what_it_changed_and_nothing_else() -> None:
    table = filled({"same": (1, None), "other": (2, "x"), "nulled": (3, "x"), "gone": (4, "x")})
    table.change(delta({"gone too": (5, "x")}))
    told = table.swap(frame({"new": (6, "x"), "nulled": (3, None), "same": (1, None), "other": (2, "y")}))
    assert rows(told.upserts) == {"new": (6, "x"), "nulled": (3, None), "other": (2, "y")}
    assert sorted(told.removes) == ["gone", "gone too"]


def test_a_swap_takes_columns_in_any_order_and_only_its_own() -> None:
    table = LiveTable("t", COLUMNS)
    more = frame({"a": (1, "x")}).with_columns(pl.lit(True).alias("more"))
    told = table.swap(more[["more", "^.*$", "*", ROW]])
    assert rows(table.rows()) == rows(told.upserts) == {"a": (1, "x")}


def test_a_swap_to_the_same_rows_changes_nothing() -> None:
    content: Rows = {"a": (None, None), "b": (2**63 - 1, "☃")}
    told = filled(content).swap(frame(dict(reversed(content.items()))))
    assert (told.upserts.height, told.removes.len()) == (0, 0)


IDS = st.sampled_from("abcdefgh")
CONTENT = st.dictionaries(IDS, st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("xy")))


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    upserts = draw(CONTENT)
    return delta(upserts, [row for row in draw(st.lists(IDS, unique=True)) if row not in upserts])


@pytest.mark.parametrize("tier", [2, TIER])
@given(steps=st.lists(deltas() | CONTENT | st.just("look"), max_size=40))
@settings(max_examples=30)
def test_whatever_comes_in_whatever_order_the_rows_are_those_of_a_plain_dict(
    tier: int, steps: list[Delta | Rows | str]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("turnout.tables.live_table.TIER", tier)
        table, expected = LiveTable("t", COLUMNS), dict[str, Values]()
        for step in steps:
            if isinstance(step, Delta):
                table.change(step)
                touched = {*step.removes, *rows(step.upserts)}
                kept = {row: values for row, values in expected.items() if row not in touched}
                expected = {**kept, **rows(step.upserts)}
            elif isinstance(step, dict):
                told = table.swap(frame(step))
                assert rows(apply(frame(expected), [told])) == step
                expected = step
            else:
                assert list(rows(table.rows()).items()) == list(expected.items())
        assert list(rows(table.rows()).items()) == list(expected.items())
