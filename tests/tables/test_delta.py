from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, oracle_of, records_of, schemas
from tests.oracle import Value
from turnout.changelog.record import decode
from turnout.schema import JoinType, Match
from turnout.tables.delta import ROW, Delta, apply, merge
from turnout.views.expand import MATCH, expand

# Columns may be called what the module calls its own.
SCHEMA = {ROW: pl.String(), "id": pl.Int64(), "upsert": pl.String()}
Rows = dict[str, tuple[int, str]]


def table(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame([(row, *values) for row, values in rows.items()], schema=SCHEMA, orient="row")


def rows(frame: pl.DataFrame) -> Rows:
    assert frame.get_column(ROW).is_unique().all()
    return {row: (number, text) for row, number, text in frame.rows()}


def delta(upserts: Rows, removes: Sequence[str] = ()) -> Delta:
    return Delta(table(upserts), pl.Series(ROW, removes, dtype=pl.String))


def matched(matches: Mapping[str, str | None]) -> pl.DataFrame:
    return pl.DataFrame(list(matches.items()), schema={ROW: pl.String, MATCH: pl.String}, orient="row").insert_column(
        1, pl.Series("shown", [f"with {match}" for match in matches.values()], dtype=pl.String)
    )


def test_the_difference_is_new_rows_and_gone_rows() -> None:
    difference = Delta.between(table({"a": (1, "x"), "b": (2, "y")}), table({"b": (2, "y"), "c": (3, "z")}), [ROW])
    assert rows(difference.upserts) == {"c": (3, "z")}
    assert difference.removes.to_list() == ["a"]


@pytest.mark.parametrize(
    ("old", "new"), [("r", "s"), (None, "r"), ("r", None)], ids=["another match", "first match", "match lost"]
)
def test_a_row_whose_match_changed_is_an_upsert_and_not_a_remove(old: str | None, new: str | None) -> None:
    difference = Delta.between(matched({"a": old, "b": None}), matched({"a": new, "b": None}), [ROW, MATCH])
    assert difference.upserts.to_dicts() == [{ROW: "a", "shown": f"with {new}"}]
    assert difference.removes.to_list() == []


def test_a_column_that_serves_only_the_comparison_is_not_handed_on() -> None:
    for old, new in (({}, {"a": "r"}), ({"a": "r"}, {"a": "r"}), ({"a": "r"}, {}), ({}, {})):
        assert Delta.between(matched(old), matched(new), [ROW, MATCH]).upserts.columns == [ROW, "shown"]


def test_equal_tables_differ_in_nothing_in_whatever_order() -> None:
    first, second = matched({"a": "r", "b": None}), matched({"b": None, "a": "r"})
    for other in (first, second):
        difference = Delta.between(first, other, [ROW, MATCH])
        assert (difference.upserts.height, difference.removes.len()) == (0, 0)


def test_of_several_deltas_the_last_word_on_a_row_counts() -> None:
    merged = merge(
        [
            delta({"a": (1, "first"), "b": (1, "first"), "c": (1, "first")}),
            delta({"a": (2, "second")}, removes=["b"]),
            delta({"b": (3, "back")}, removes=["c", "never seen"]),
        ]
    )
    assert rows(merged.upserts) == {"a": (2, "second"), "b": (3, "back")}
    assert sorted(merged.removes) == ["c", "never seen"]


def test_an_updated_row_moves_to_the_end_and_the_others_keep_their_order() -> None:
    base = table(dict.fromkeys("abcde", (0, "old")))
    after = apply(base, [delta({"b": (1, "new")}, removes=["d"]), delta({"f": (2, "new"), "a": (2, "new")})])
    assert after.get_column(ROW).to_list() == ["c", "e", "b", "f", "a"]


def test_no_deltas_change_nothing() -> None:
    base = table({"a": (1, "x")})
    assert apply(base, []).equals(base)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    return draw(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(0, 9), st.text(max_size=2))))


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    upserts = draw(tables())
    removes = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    return delta(upserts, [row for row in removes if row not in upserts])


def applied_in_python(base: Rows, steps: Sequence[Delta]) -> Rows:
    after = dict(base)
    for step in steps:
        for row in step.removes:
            after.pop(row, None)
        after.update(rows(step.upserts))
    return after


@given(tables(), st.lists(deltas(), max_size=5))
def test_deltas_do_the_same_one_by_one_together_and_merged(base: Rows, steps: list[Delta]) -> None:
    expected = applied_in_python(base, steps)
    one_by_one = table(base)
    for step in steps:
        one_by_one = apply(one_by_one, [step])
    assert rows(one_by_one) == expected
    assert rows(apply(table(base), steps)) == expected
    if steps:
        merged = merge(steps)
        assert rows(apply(table(base), [merged])) == expected
        assert not set(merged.removes) & set(merged.upserts.get_column(ROW))


@given(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.sampled_from("rs")), st.data())
def test_a_difference_turns_the_old_table_into_the_new_one(old: dict[str, str | None], data: st.DataObject) -> None:
    new = data.draw(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.sampled_from("rs")))
    difference = Delta.between(matched(old), matched(new), [ROW, MATCH])
    after = apply(matched(old).drop(MATCH), [difference])
    assert sorted(after.rows()) == sorted(matched(new).drop(MATCH).rows())
    assert set(difference.upserts.get_column(ROW)) == {row for row in new if row not in old or old[row] != new[row]}


@pytest.mark.parametrize("join", JoinType)
@pytest.mark.parametrize("match", Match)
@given(data=st.data())
@settings(max_examples=25)
def test_tables_kept_up_to_date_batch_by_batch_are_those_of_the_oracle(
    join: JoinType, match: Match, data: st.DataObject
) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    batches = data.draw(st.lists(st.integers(0, len(messages)), max_size=4).map(sorted))
    nothing = expand(decode([], schema), schema, join, match)
    kept = {"left": nothing.left, "right": nothing.right, "joined": nothing.joined.drop(MATCH)}
    pending: dict[str, list[Delta]] = {name: [] for name in kept}
    held: dict[Value, bytes] = {}
    for end in [*batches, len(messages)]:
        records = records_of(messages[:end], schema)
        changed = {key: record for key, record in records.items() if held.get(key) != record}
        before = expand(decode([held[key] for key in changed if key in held], schema), schema, join, match)
        after = expand(decode(list(changed.values()), schema), schema, join, match)
        pending["left"].append(Delta.between(before.left, after.left, [ROW]))
        pending["right"].append(Delta.between(before.right, after.right, [ROW]))
        pending["joined"].append(Delta.between(before.joined, after.joined, [ROW, MATCH]))
        held = records
    expected = oracle_of(schema).tables(messages, join, match)
    fresh = expand(decode(list(held.values()), schema), schema, join, match)
    for name, table_of_now in (("left", fresh.left), ("right", fresh.right), ("joined", fresh.joined.drop(MATCH))):
        for steps in (pending[name], [merge(pending[name])]):
            after_all = apply(kept[name], steps)
            assert after_all.schema == table_of_now.schema
            assert Counter(after_all.rows()) == Counter(table_of_now.rows())
            assert Counter(after_all.drop(ROW).rows()) == expected[name]
