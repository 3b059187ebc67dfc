"""How a pipeline writes, crashes and writes again is played here by hand: see `runs`."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import encode
from turnout.changelog.bounds import Bound
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
    assert change.old.frame.schema == change.new.frame.schema == store.all().schema
    return counts(change.old.frame), counts(change.new.frame)


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
    assert change.new.keys == [None]


def test_a_foreign_record_is_an_error_and_changes_nothing() -> None:
    store = Store(SCHEMA)
    take(store, (1, 1, 0))
    with pytest.raises(TurnoutError, match="Something else writes to the changelog"):
        store.take([entry(1, 2, 0), (b"2", b"rubbish")])
    assert counts(store.all()) == {1: (1, 0)}


# -- bounds: a record has up to two rows of either side here


def bounded(*, left: int = 1_000, right: int = 1_000) -> Store:
    return Store(replace(SCHEMA, left=replace(SCHEMA.left, max_rows=left), right=replace(SCHEMA.right, max_rows=right)))


def pairs(max_rows: int) -> Bound:
    return Bound("final_ui", max_rows, "join.max_rows", lambda size: size[0] * size[2])


def test_the_records_come_in_the_order_of_their_last_change() -> None:
    store = Store(SCHEMA)
    take(store, (1, 1, 0), (2, 1, 0), (3, 1, 0))
    take(store, (1, 2, 0))
    assert list(counts(store.all())) == [2, 3, 1]


@pytest.mark.parametrize("side", ["left", "right"])
def test_where_a_side_would_have_too_many_rows_the_key_that_changed_longest_ago_goes_whole(side: str) -> None:
    store = bounded(**{side: 3})
    take(store, (1, 1, 1), (2, 1, 1), (3, 1, 1))
    take(store, (1, 2, 1) if side == "right" else (1, 1, 2))  # more of the other side
    assert take(store, (4, 1, 1)) == ({2: (1, 1)}, {4: (1, 1)})
    assert list(counts(store.all())) == [3, 1, 4]


def test_a_key_that_was_forgotten_comes_back_with_all_its_rows() -> None:
    store = bounded(left=2)
    take(store, (1, 1, 0))
    take(store, (2, 1, 0), (3, 1, 0))
    assert take(store, (1, 2, 5)) == ({2: (1, 0), 3: (1, 0)}, {1: (2, 5)})


def test_rows_beyond_keep_do_not_count() -> None:
    store = bounded(left=4)
    take(store, (1, 50, 0), (2, 50, 0))
    assert list(counts(store.all())) == [1, 2]


def test_the_newest_key_stays_however_many_rows_it_has() -> None:
    store = bounded(left=1)
    assert take(store, (1, 2, 2)) == ({}, {1: (2, 2)})
    assert take(store, (1, 3, 2)) == ({1: (2, 2)}, {1: (3, 2)})
    assert take(store, (2, 2, 0)) == ({1: (3, 2)}, {2: (2, 0)})


def test_of_more_than_fits_in_one_go_the_last_are_taken_and_those_held_before_are_gone() -> None:
    store = bounded(left=3)
    take(store, (1, 1, 0), (2, 1, 0))
    came = [(key, 2, 0) for key in range(2, 5_000)]
    assert take(store, *came) == ({1: (1, 0), 2: (1, 0)}, {4_999: (2, 0)})


def test_a_large_table_frees_a_little_more_room_than_it_has_to() -> None:
    store = bounded(left=100)
    take(store, *((key, 1, 0) for key in range(100)))
    assert len(store) == 100
    take(store, (100, 1, 0))
    assert list(counts(store.all())) == list(range(6, 101))


def test_a_table_that_is_bound_later_is_cut_to_its_bound_at_once() -> None:
    store = Store(SCHEMA)
    take(store, *((key, 2, 2) for key in range(5)))
    assert list(counts(store.bind(pairs(8)))) == [3, 4]
    assert list(counts(store.all())) == [3, 4]
    assert take(store, (5, 1, 1)) == ({3: (2, 2)}, {5: (1, 1)})


def test_a_table_that_is_bound_has_all_records_where_they_fit() -> None:
    store = Store(SCHEMA)
    take(store, (1, 2, 2), (2, 2, 2))
    assert list(counts(store.bind(pairs(8)))) == [1, 2]


def test_a_table_that_is_no_longer_shown_does_not_count() -> None:
    store = Store(SCHEMA)
    store.bind(pairs(4))
    store.unbind()
    take(store, *((key, 2, 2) for key in range(5)))
    assert len(store) == 5


def test_another_table_takes_the_place_of_the_one_that_was_bound() -> None:
    store = Store(SCHEMA)
    store.bind(pairs(4))
    store.bind(pairs(8))
    take(store, (1, 2, 2), (2, 2, 2))
    assert len(store) == 2


def test_the_null_key_has_no_pairs() -> None:
    store = Store(SCHEMA)
    store.bind(pairs(4))
    row = {"v": {}, "t": 0, "o": 0, "p": 0}
    store.take([(b"{}", encode({"l": [row], "r": [row], "ln": 1, "rn": 1}))])
    take(store, (1, 2, 2))
    assert len(store) == 2


def test_a_full_table_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    store = bounded(right=2)
    for key in range(10):
        take(store, (key, 0, 1))
    assert [record.getMessage().split(" rows")[0] for record in caplog.records] == ["other_ui has reached its 2"]


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("lr")), max_size=40), st.integers(1, 6))
@settings(max_examples=60)
def test_the_keys_held_are_always_those_that_changed_last_and_all_that_fit(
    rows: list[tuple[int, str]], max_rows: int
) -> None:
    store = bounded(left=max_rows)
    store.bind(pairs(max_rows))
    seen, order = dict[int, Counts](), list[int]()
    for key, side in rows:
        left, right = seen.get(key, (0, 0))
        seen[key] = (left + 1, right) if side == "l" else (left, right + 1)
        order = [*(other for other in order if other != key), key]
        take(store, (key, *seen[key]))
        while len(order) > 1 and not fits([seen[key] for key in order], max_rows):
            order.pop(0)
        assert counts(store.all()) == {key: seen[key] for key in order}
        assert list(counts(store.all())) == order


def fits(held: list[Counts], max_rows: int) -> bool:
    kept = [(min(left, 2), min(right, 2)) for left, right in held]
    return sum(left for left, _ in kept) <= max_rows and sum(left * right for left, right in kept) <= max_rows


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
@settings(max_examples=100)
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
