from turnout.client import Change, Held, Snapshot, Swap


def test_what_changed_last_comes_last() -> None:
    held = Held()
    held.take(Snapshot(1, {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}))
    held.take(Change(1, {"a": {"x": 4}}, ["b"]))
    assert held.rows == [{"x": 3}, {"x": 4}]
    assert list(held.by_id) == ["c", "a"]
    assert held.newest(1) == [{"x": 4}]
    assert len(held) == 2


def test_a_swap_replaces_everything() -> None:
    held = Held()
    held.take(Snapshot(1, {"a": {"x": 1}}))
    held.take(Swap(2, {"z": {"x": 9}}))
    assert (held.generation, held.by_id) == (2, {"z": {"x": 9}})


def test_events_are_not_changed_by_what_comes_after_them() -> None:
    held, first = Held(), Snapshot(1, {"a": {"x": 1}})
    held.take(first)
    held.take(Change(1, {"b": {"x": 2}}, ["a"]))
    assert first.rows == {"a": {"x": 1}}
