import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.errors import QueryRefused, TableMissing
from turnout.schema import ColumnType
from turnout.tables.delta import ROW, Delta, apply
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Changed, Event, Registry, Snapshot, Swapped

NAMES = ("left", "right", "joined")
DTYPES = {ROW: pl.String(), "value": pl.Int64()}

Rows = Mapping[str, int]


def registry() -> Registry:
    return Registry(LiveTable(name, {"value": ColumnType.LONG}) for name in NAMES)


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(list(rows.items()), schema=DTYPES, orient="row")


def delta(upserts: Rows, *removes: str) -> Delta:
    return Delta(frame(upserts), pl.Series(ROW, removes, dtype=pl.String))


def shown(tables: Registry, name: str = "left") -> dict[str, int]:
    return dict(tables.snapshot(name).rows.rows())


class Follower:
    """Keeps a copy of a table by what it is told alone."""

    def __init__(self, tables: Registry, name: str) -> None:
        self.events: list[Event] = []
        self._snapshot = tables.subscribe(name, self.events.append)

    def now(self) -> Snapshot:
        state = self._snapshot
        for event in self.events:
            rows = apply(state.rows, [event.delta])
            if isinstance(event, Swapped):
                assert sorted(rows.rows()) == sorted(event.rows.rows())
                rows = event.rows
            state = Snapshot(event.generation, rows)
        return state


def test_tables_are_there_and_empty_from_the_beginning() -> None:
    tables = registry()
    assert list(tables.tables) == list(NAMES)
    assert tables.generation == 0
    for name in NAMES:
        assert tables.snapshot(name).generation == 0
        assert tables.snapshot(name).rows.schema == pl.Schema(DTYPES)
        assert shown(tables, name) == {}


@pytest.mark.parametrize("name", ["nothing", "", "LEFT"])
def test_an_unknown_table_is_refused_with_the_names_there_are(name: str) -> None:
    tables = registry()
    for ask in (tables.snapshot, tables.table, lambda name: tables.subscribe(name, print)):
        with pytest.raises(TableMissing, match=f"there is no table '{name}'; there are left, right, joined"):
            ask(name)
    assert issubclass(TableMissing, QueryRefused)


def test_a_subscriber_gets_the_rows_of_the_moment_and_then_each_event_in_order() -> None:
    tables = registry()
    tables.change({"left": delta({"a": 1})})
    follower = Follower(tables, "left")
    tables.change({"left": delta({"b": 2}), "right": delta({"other": 0})})
    tables.swap(1, {"left": frame({"c": 3}), "right": frame({})})
    tables.change({"left": delta({}, "c")}, generation=1)
    kinds = [(type(event), event.generation) for event in follower.events]
    assert kinds == [(Changed, 0), (Swapped, 1), (Changed, 1)]
    assert follower.now().rows.rows() == []


def test_a_change_of_nothing_is_not_told() -> None:
    tables = registry()
    follower = Follower(tables, "left")
    tables.change({"left": delta({}), "right": delta({"a": 1})})
    assert follower.events == []


def test_a_swap_to_the_same_rows_is_told_because_the_generation_is_another() -> None:
    tables = registry()
    follower = Follower(tables, "left")
    tables.swap(1, {"left": frame({})})
    assert [event.generation for event in follower.events] == [1]


def test_who_has_unsubscribed_hears_nothing_more_and_others_still_do() -> None:
    tables = registry()
    gone: list[Event] = []
    tables.subscribe("left", gone.append)
    stays = Follower(tables, "left")
    tables.unsubscribe("left", gone.append)
    tables.change({"left": delta({"a": 1})})
    assert (len(gone), len(stays.events)) == (0, 1)


def test_what_a_generation_that_is_no_longer_shown_has_to_say_is_dropped() -> None:
    tables = registry()
    tables.swap(2, {"left": frame({"a": 2})})
    follower = Follower(tables, "left")
    for stale in (1, 3):
        tables.change({"left": delta({"a": stale, "b": stale}), "right": delta({"b": stale})}, generation=stale)
    assert shown(tables) == {"a": 2}
    assert shown(tables, "right") == {}
    assert follower.events == []


def test_what_belongs_to_no_generation_is_never_dropped() -> None:
    tables = registry()
    tables.swap(2, {"left": frame({})})
    tables.change({"right": delta({"a": 1})})
    assert shown(tables, "right") == {"a": 1}


def test_a_listener_that_looks_at_other_tables_when_told_sees_no_mix() -> None:
    tables = registry()
    seen: list[set[int]] = []

    def look(_: Event) -> None:
        seen.append({value for name in NAMES for value in shown(tables, name).values()})

    for name in NAMES:
        tables.subscribe(name, look)
    tables.swap(1, {name: frame({"a": 1}) for name in NAMES})
    tables.change({name: delta({"a": 10}) for name in NAMES}, generation=1)
    tables.swap(2, {name: frame({"a": 2}) for name in NAMES})
    assert seen == [{1}] * 3 + [{10}] * 3 + [{2}] * 3


@contextmanager
def swapping(tables: Registry) -> Iterator[None]:
    """Another thread that swaps and changes all tables all the time; every value is its generation's number."""
    stop = threading.Event()

    def swap() -> None:
        generation = 0
        while not stop.is_set():
            generation += 1
            tables.swap(generation, {name: frame({"a": generation, "b": generation}) for name in NAMES})
            tables.change({name: delta({"c": generation}) for name in NAMES}, generation)
            tables.change({name: delta({"d": -1}) for name in NAMES}, generation - 1)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_no_reader_ever_sees_two_generations_at_once_while_tables_are_swapped() -> None:
    tables = registry()
    seen = set[int]()
    with swapping(tables):
        while len(seen) < 20:
            with tables.at_once():
                snapshots = [tables.snapshot(name) for name in NAMES]
            values = {value for snapshot in snapshots for value in snapshot.rows.get_column("value")}
            generations = {snapshot.generation for snapshot in snapshots}
            assert values == (generations if generations != {0} else set())
            seen |= generations


def test_whoever_subscribes_while_tables_are_swapped_misses_nothing() -> None:
    tables = registry()
    with swapping(tables):
        followers = [Follower(tables, name) for _ in range(20) for name in NAMES]
    for follower, name in zip(followers, NAMES * 20, strict=True):
        assert dict(follower.now().rows.rows()) == shown(tables, name)
        assert follower.now().generation == tables.generation


ROWS = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 9))


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    upserts = draw(ROWS)
    return delta(upserts, *(row for row in draw(st.sets(st.sampled_from("abcde"))) if row not in upserts))


STEP = st.one_of(
    st.tuples(st.just("change"), st.dictionaries(st.sampled_from(NAMES), deltas())),
    st.tuples(st.just("stale change"), st.dictionaries(st.sampled_from(NAMES), deltas())),
    st.tuples(st.just("swap"), st.dictionaries(st.sampled_from(NAMES), ROWS)),
    st.tuples(st.just("subscribe"), st.sampled_from(NAMES)),
)


@given(st.lists(STEP, max_size=15))
@settings(max_examples=40)
def test_the_first_rows_and_all_events_since_always_make_the_rows_of_now(steps: list[tuple[str, object]]) -> None:
    tables = registry()
    followers = [(name, Follower(tables, name)) for name in NAMES]
    generation = 0
    for kind, content in steps:
        match kind, content:
            case "subscribe", str(name):
                followers.append((name, Follower(tables, name)))
            case "swap", dict(rows):
                generation += 1
                tables.swap(generation, {name: frame(its_rows) for name, its_rows in rows.items()})
            case "stale change", dict(changes):
                tables.change(changes, generation + 1)
            case _, dict(changes):
                tables.change(changes, generation)
    for name, follower in followers:
        assert dict(follower.now().rows.rows()) == shown(tables, name)
