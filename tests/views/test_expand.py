from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, oracle_of, records_of, schemas
from tests.oracle import Message, Table, Value
from turnout.changelog.record import decode, dtypes
from turnout.schema import ColumnType, JoinSchema, JoinType, Match, TableSchema
from turnout.views.expand import MATCH, ROW, Expanded, expand

SCHEMA = JoinSchema(
    TableSchema("users", {"name": ColumnType.STRING, "id": ColumnType.LONG}, keep=100),
    TableSchema("accounts", {"balance": ColumnType.DOUBLE, "id": ColumnType.LONG, "name": ColumnType.STRING}, keep=100),
    key="id",
)

every_join = pytest.mark.parametrize("join", JoinType)
every_match = pytest.mark.parametrize("match", Match)


def left(offset: int, key: Value, name: str) -> Message:
    return Message("left", 1_000 + offset, 0, offset, {"id": key, "name": name})


def right(offset: int, key: Value, name: str) -> Message:
    return Message("right", 2_000 + offset, 1, offset, {"id": key, "name": name, "balance": None})


def tables(messages: list[Message], join: str, match: str = "latest", schema: JoinSchema = SCHEMA) -> Expanded:
    records = decode(list(records_of(messages, schema).values()), schema)
    return expand(records, schema, JoinType(join), Match(match))


def joined(messages: list[Message], join: str, match: str = "latest") -> dict[str, tuple[Value, Value, Value, Value]]:
    """Row id -> left name, key, right name, id of the match."""
    frame = tables(messages, join, match).joined
    return {row[ROW]: (row["name"], row["id"], row["accounts_name"], row[MATCH]) for row in frame.to_dicts()}


def public(table: pl.DataFrame) -> Table:
    return Counter(table.drop(ROW, MATCH, strict=False).rows())


TWO_AND_TWO = [left(0, 1, "old"), left(1, 1, "new"), right(0, 1, "past"), right(1, 1, "now")]


def test_own_tables_show_every_row_by_partition_and_offset() -> None:
    expanded = tables([*TWO_AND_TWO, left(2, None, "nobody"), right(2, None, "orphan")], "inner")
    assert {row[ROW]: row["name"] for row in expanded.left.to_dicts()} == {"0:0": "old", "0:1": "new", "0:2": "nobody"}
    assert {row[ROW]: row["name"] for row in expanded.right.to_dicts()} == {
        "1:0": "past",
        "1:1": "now",
        "1:2": "orphan",
    }


def test_left_shows_each_left_row_with_the_latest_right_row() -> None:
    assert joined([*TWO_AND_TWO, left(2, 2, "alone")], "left") == {
        "l:0:0": ("old", 1, "now", "1:1"),
        "l:0:1": ("new", 1, "now", "1:1"),
        "l:0:2": ("alone", 2, None, None),
    }


def test_left_with_all_shows_each_pair_and_unmatched_left_rows_once() -> None:
    assert joined([*TWO_AND_TWO, left(2, 2, "alone"), right(2, 3, "other")], "left", "all") == {
        "l:0:0|r:1:0": ("old", 1, "past", "1:0"),
        "l:0:0|r:1:1": ("old", 1, "now", "1:1"),
        "l:0:1|r:1:0": ("new", 1, "past", "1:0"),
        "l:0:1|r:1:1": ("new", 1, "now", "1:1"),
        "l:0:2": ("alone", 2, None, None),
    }


@every_match
def test_inner_shows_each_pair_whatever_match_says(match: str) -> None:
    assert joined([*TWO_AND_TWO, left(2, 2, "alone"), right(2, 3, "other")], "inner", match).keys() == {
        "l:0:0|r:1:0",
        "l:0:0|r:1:1",
        "l:0:1|r:1:0",
        "l:0:1|r:1:1",
    }


def test_right_mirrors_left_and_fills_in_the_key() -> None:
    assert joined([*TWO_AND_TWO, left(2, 2, "alone"), right(2, 3, "other")], "right") == {
        "r:1:0": ("new", 1, "past", "0:1"),
        "r:1:1": ("new", 1, "now", "0:1"),
        "r:1:2": (None, 3, "other", None),
    }


def test_full_shows_what_left_and_right_show_each_pair_once() -> None:
    assert joined([*TWO_AND_TWO, left(2, 2, "alone"), right(2, 3, "other")], "full") == {
        "l:0:0": ("old", 1, "now", "1:1"),
        "l:0:1": ("new", 1, "now", "1:1"),
        "r:1:0": ("new", 1, "past", "0:1"),
        "l:0:2": ("alone", 2, None, None),
        "r:1:2": (None, 3, "other", None),
    }


def test_full_with_all_shows_each_pair_and_the_unmatched_of_either_side() -> None:
    assert joined([left(0, 1, "a"), right(0, 1, "b"), left(1, 2, "alone"), right(1, 3, "other")], "full", "all") == {
        "l:0:0|r:1:0": ("a", 1, "b", "1:0"),
        "l:0:1": ("alone", 2, None, None),
        "r:1:1": (None, 3, "other", None),
    }


@every_match
def test_semi_and_anti_show_left_columns_only(match: str) -> None:
    messages = [*TWO_AND_TWO, left(2, 2, "alone"), right(2, 3, "other")]
    assert joined(messages, "semi", match) == {"l:0:0": ("old", 1, None, None), "l:0:1": ("new", 1, None, None)}
    assert joined(messages, "anti", match) == {"l:0:2": ("alone", 2, None, None)}


@every_match
@pytest.mark.parametrize("join", ["left", "full", "anti"])
def test_a_left_row_with_a_null_key_is_shown_unmatched(join: str, match: str) -> None:
    messages = [left(0, None, "nobody"), right(0, None, "orphan")]
    assert joined(messages, join, match) == {"l:0:0": ("nobody", None, None, None)}


@every_match
@pytest.mark.parametrize("join", ["inner", "right", "semi"])
def test_null_keys_take_no_part_in_the_other_joins(join: str, match: str) -> None:
    assert joined([left(0, None, "nobody"), right(0, None, "orphan")], join, match) == {}


@every_join
@every_match
def test_a_lone_null_key_on_the_right_shows_only_in_its_own_table(join: str, match: str) -> None:
    expanded = tables([right(0, None, "orphan")], join, match)
    assert (expanded.left.height, expanded.right.height, expanded.joined.height) == (0, 1, 0)


def test_a_row_keeps_its_id_when_its_match_is_updated() -> None:
    before = [left(0, 1, "a"), right(0, 1, "past")]
    after = [*before, right(1, 1, "now")]
    assert joined(before, "left") == {"l:0:0": ("a", 1, "past", "1:0")}
    assert joined(after, "left") == {"l:0:0": ("a", 1, "now", "1:1")}


def test_a_row_keeps_its_id_when_its_first_match_arrives() -> None:
    assert joined([left(0, 1, "a")], "left").keys() == joined([left(0, 1, "a"), right(0, 1, "b")], "left").keys()
    assert joined([right(0, 1, "b")], "right").keys() == joined([left(0, 1, "a"), right(0, 1, "b")], "right").keys()


@every_join
@every_match
def test_columns_have_their_order_and_types_even_without_rows(join: str, match: str) -> None:
    for messages in ([], [left(0, 1, "a")], [right(0, 1, "b")], TWO_AND_TWO):
        expanded = tables(messages, join, match)
        assert expanded.left.schema == pl.Schema({ROW: pl.String(), **dtypes(SCHEMA.left.columns)})
        assert expanded.right.schema == pl.Schema({ROW: pl.String(), **dtypes(SCHEMA.right.columns)})
        assert expanded.joined.schema == pl.Schema(
            {
                ROW: pl.String,
                "name": pl.String,
                "id": pl.Int64,
                "balance": pl.Float64,
                "accounts_name": pl.String,
                MATCH: pl.String,
            }
        )


@every_join
@every_match
@given(data=st.data())
@settings(max_examples=60)
def test_the_tables_of_any_history_are_those_of_the_oracle(join: str, match: str, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    expanded = tables(messages, join, match, schema)
    expected = oracle_of(schema).tables(messages, join, match)
    assert public(expanded.left) == expected["left"]
    assert public(expanded.right) == expected["right"]
    assert public(expanded.joined) == expected["joined"]
    assert expanded.joined.schema == pl.Schema({ROW: pl.String(), **dtypes(schema.joined_columns), MATCH: pl.String()})
    for table in (expanded.left, expanded.right, expanded.joined):
        assert table.columns[0] == ROW
        assert table.get_column(ROW).null_count() == 0
        assert table.get_column(ROW).is_unique().all()


@pytest.mark.parametrize("join", ["left", "right"])
@given(data=st.data())
@settings(max_examples=60)
def test_rows_of_the_leading_side_keep_their_ids_as_the_other_side_grows(join: str, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    half = data.draw(st.integers(0, len(messages)))
    before = [message for number, message in enumerate(messages) if message.side == join or number < half]
    old, new = tables(before, join, schema=schema).joined, tables(messages, join, schema=schema).joined
    assert set(old.get_column(ROW)) == set(new.get_column(ROW))
    changed = old.drop(MATCH).join(new.drop(MATCH), on=ROW, suffix=" then")
    seen = dict(zip(old.get_column(ROW), old.get_column(MATCH), strict=True))
    now = dict(zip(new.get_column(ROW), new.get_column(MATCH), strict=True))
    width = old.width - 2
    for row in changed.rows():
        if row[1 : width + 1] != row[width + 1 :]:
            assert seen[row[0]] != now[row[0]]
