"""How a pipeline writes, crashes and writes again is played here by hand: see `runs`."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import encode
from turnout.changelog.store import Store
from turnout.errors import TurnoutError
from turnout.schema import ColumnType, JoinSchema, TableSchema

SCHEMA = JoinSchema(
    TableSchema("one", {"id": ColumnType.LONG}, keep=2), TableSchema("other", {"id": ColumnType.LONG}, keep=2), key="id"
)

Counts = tuple[int, int]
Entry = tuple[bytes, bytes]


def entry(key: int, left: int, right: int) -> Entry:
    """The changelog's entry of a key after so many rows of either side."""

    def newest(count: int) -> list[dict[str, object]]:
        return [{"v": {"id": key}, "t": 0, "o": offset, "p": 0} for offset in reversed(range(max(0, count - 2), count))]

    record = encode({"k": key, "l": newest(left) or None, "r": newest(right) or None, "ln": left, "rn": right})
    return str(key).encode(), record


def counts(records: pl.DataFrame) -> dict[int, Counts]:
    """Key -> rows seen of either side; the rows themselves must be the newest of them."""
    for side, count in (("l", "ln"), ("r", "rn")):
        newest = [row[0]["o"] + 1 if row else 0 for row in records[side].to_list()]
        assert newest == records[count].to_list()
    return {key: (left, right) for key, left, right in records.select("k", "ln", "rn").rows()}


def take(store: Store, *versions: tuple[int, int, int]) -> tuple[dict[int, Counts], dict[int, Counts]] | None:
    """The keys that changed: what they were, what they are."""
    change = store.take(entry(*version) for version in versions)
    if change is None:
        return None
    assert change.old.schema == change.new.schema == store.all().schema
    return counts(change.old), counts(change.new)


def test_a_new_key_has_nothing_before() -> None:
    store = Store(SCHEMA)
    assert take(store, (1, 1, 0), (2, 0, 1)) == ({}, {1: (1, 0), 2: (0, 1)})
    assert len(store) == 2


def test_a_change_says_what_was_held_and_what_came() -> None:
    store = Store(SCHEMA)
    take(store, (1, 1, 0), (2, 1, 0))
    assert take(store, (2, 1, 1), (3, 1, 0)) == ({2: (1, 0)}, {2: (1, 1), 3: (1, 0)})


def test_of_several_records_of_a_key_the_last_counts() -> None:
    store = Store(SCHEMA)
    assert take(store, (1, 1, 0), (1, 2, 0), (1, 2, 1)) == ({}, {1: (2, 1)})


def test_all_records_are_those_of_now() -> None:
    store = Store(SCHEMA)
    take(store, (1, 1, 0), (2, 1, 0))
    take(store, (1, 5, 3))
    assert counts(store.all()) == {1: (5, 3), 2: (1, 0)}


def test_an_empty_store_has_columns_all_the_same() -> None:
    assert Store(SCHEMA).all().columns == ["k", "l", "r", "ln", "rn"]


@pytest.mark.parametrize(
    "came", [(3, 3), (2, 3), (3, 2), (2, 4), (4, 2), (0, 0)], ids=lambda counts: f"{counts[0]} left {counts[1]} right"
)
def test_a_record_that_has_not_seen_all_that_the_held_one_has_and_more_is_dropped(came: Counts) -> None:
    store = Store(SCHEMA)
    take(store, (1, 3, 3))
    assert take(store, (1, *came)) is None
    assert counts(store.all()) == {1: (3, 3)}


@pytest.mark.parametrize("came", [(4, 3), (3, 4), (4, 4)])
def test_a_record_that_has_seen_more_of_one_side_is_taken(came: Counts) -> None:
    store = Store(SCHEMA)
    take(store, (1, 3, 3))
    assert take(store, (1, *came)) == ({1: (3, 3)}, {1: came})


def test_what_is_dropped_does_not_hold_up_what_came_with_it() -> None:
    store = Store(SCHEMA)
    take(store, (1, 2, 2), (2, 1, 1), (3, 1, 1))
    assert take(store, (1, 1, 2), (4, 1, 0), (2, 2, 1), (3, 1, 1)) == ({2: (1, 1)}, {4: (1, 0), 2: (2, 1)})


def test_nothing_is_no_change() -> None:
    assert Store(SCHEMA).take([]) is None


def test_a_record_of_the_null_key_is_a_record_like_any_other() -> None:
    store = Store(SCHEMA)
    change = store.take([(b"", encode({"ln": 1, "rn": 0}))])
    assert change is not None
    assert change.new["k"].to_list() == [None]


def test_a_foreign_record_is_an_error_and_changes_nothing() -> None:
    store = Store(SCHEMA)
    take(store, (1, 1, 0))
    with pytest.raises(TurnoutError, match="Something else writes to the changelog"):
        store.take([entry(1, 2, 0), (b"2", b"rubbish")])
    assert counts(store.all()) == {1: (1, 0)}


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """All records that a pipeline writes over its life, with crashes.

    It reads each side in order, but the two sides in any order, and writes a key's record after each row of it. After
    a crash it goes on from its last commit: what it had read since, it reads once more, in another order.
    """
    rows = {side: draw(st.lists(st.integers(1, 3), max_size=6)) for side in "lr"}
    read = {"l": 0, "r": 0}
    written = []
    crashes = draw(st.integers(0, 3))
    while True:
        committed = dict(read)
        todo = [side for side in "lr" for _ in rows[side][read[side] :]]
        order = draw(st.permutations(todo))
        end = draw(st.integers(0, len(order))) if crashes else len(order)
        for side in order[:end]:
            key = rows[side][read[side]]
            read[side] += 1
            written.append((key, rows["l"][: read["l"]].count(key), rows["r"][: read["r"]].count(key)))
        if not crashes:
            return written
        crashes -= 1
        # It may have committed on the way: then it goes back less far.
        read = draw(st.sampled_from([committed, dict(read)]))


def furthest(entries: Iterable[tuple[int, int, int]]) -> Mapping[int, Counts]:
    found: dict[int, Counts] = {}
    for key, left, right in entries:
        held = found.get(key, (0, 0))
        found[key] = max(held[0], left), max(held[1], right)
    return found


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_however_often_a_pipeline_crashes_no_key_goes_back_and_all_end_as_the_newest(data: st.DataObject) -> None:
    written = data.draw(runs())
    ends = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    store, shown = Store(SCHEMA), dict[int, Counts]()
    for start, end in pairwise([0, *ends, len(written)]):
        change = take(store, *written[start:end])
        if change is None:
            continue
        old, new = change
        assert old == {key: shown[key] for key in new if key in shown}
        for key, (left, right) in old.items():
            assert new[key][0] >= left
            assert new[key][1] >= right
            assert new[key] != (left, right)
        shown.update(new)
        assert counts(store.all()) == shown
    assert shown == furthest(written)
