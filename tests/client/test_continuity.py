from hypothesis import given
from hypothesis import strategies as st

from turnout.client import Change, Event, Held, Snapshot, Swap
from turnout.client.continuity import Continuity

A, B = {"a": {"x": 1}}, {"b": {"x": 2}}
EMPTY = Snapshot(0, {})


def told(*events: Event) -> list[Event]:
    continuity = Continuity()
    return [event for event in map(continuity.passed_on, events) if event is not None]


def test_what_a_server_that_has_just_started_lacks_is_not_told() -> None:
    assert told(Snapshot(3, A), EMPTY, EMPTY, Swap(4, B)) == [Snapshot(3, A), Swap(4, B)]


def test_whoever_holds_nothing_hears_that_there_is_nothing() -> None:
    assert told(EMPTY, Change(0, A, [])) == [EMPTY, Change(0, A, [])]


def test_the_first_change_of_a_server_that_has_just_started_replaces_what_is_held() -> None:
    assert told(Snapshot(0, A), EMPTY, Change(0, B, [])) == [Snapshot(0, A), Snapshot(0, B)]
    assert told(Snapshot(2, A), EMPTY, Change(0, {}, ["b"])) == [Snapshot(2, A)]


def test_a_generation_without_rows_is_told() -> None:
    for empty in (Snapshot(5, {}), Swap(5, {})):
        assert told(Snapshot(3, A), EMPTY, empty) == [Snapshot(3, A), empty]
    assert told(Snapshot(3, A), EMPTY, Change(1, {}, ["a"])) == [Snapshot(3, A), Snapshot(1, {})]


def test_rows_that_were_removed_one_by_one_are_none() -> None:
    assert told(Snapshot(1, A), Change(1, {}, ["a"]), Snapshot(2, {}), EMPTY) == [
        Snapshot(1, A),
        Change(1, {}, ["a"]),
        Snapshot(2, {}),
        EMPTY,
    ]


ROWS = st.dictionaries(st.sampled_from("abc"), st.fixed_dictionaries({"x": st.integers(0, 9)}), max_size=3)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Snapshot, st.integers(0, 3), ROWS),
    st.builds(Change, st.integers(0, 3), ROWS, st.lists(st.sampled_from("abc"), max_size=2)),
    st.builds(Swap, st.integers(1, 3), ROWS),
)


@given(st.lists(EVENTS, max_size=12))
def test_what_is_held_is_the_table_or_what_it_was_before_a_restart(events: list[Event]) -> None:
    continuity, held, table = Continuity(), Held(), Held()
    for event in events:
        before, following = held.by_id, held.by_id == table.by_id
        table.take(event)
        if (passed := continuity.passed_on(event)) is not None:
            held.take(passed)
            assert list(held.by_id.items()) == list(table.by_id.items())
        else:
            assert held.by_id == before
            assert not table.by_id
            assert table.generation == 0
            assert before or following
