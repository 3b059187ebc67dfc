"""How long an observer waits for messages, and what it has seen then."""

from collections.abc import Callable, Iterator

import pytest

from bench import seen as seen_module
from bench.seen import Update, collect


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(seen_module, "time", clock)
    return clock


def test_what_comes_just_after_the_last_message_still_counts(clock: Clock) -> None:
    """Where several workers share the keys, the last message of a side need not be the last that shows."""
    updates = iter([[Update(10, [3], [4])], [Update(20, [1], [2])]])
    assert collect(_one_by_one(updates), 3, 4).first == {3: 10, 4: 10, 1: 20, 2: 20}
    assert clock.now < 1, "no longer than that"


def test_it_waits_for_both_sides(clock: Clock) -> None:
    quiet: list[list[Update]] = [[]] * 100
    updates = iter([[Update(10, [1], [])], *quiet, [Update(20, [], [2])]])
    assert collect(_one_by_one(updates), 1, 2).first == {1: 10, 2: 20}
    assert clock.now > 100 * seen_module.POLL_SECONDS


def test_it_gives_up_when_nothing_has_come_for_long(clock: Clock) -> None:
    assert collect(_one_by_one(iter([[Update(10, [1], [])]])), 1, 2).first == {1: 10}
    assert seen_module.STALLED_SECONDS <= clock.now < seen_module.STALLED_SECONDS + 1


def test_it_gives_up_on_who_never_comes_to_an_end(clock: Clock) -> None:
    collect(lambda: [Update(10, [1], [])], 1, 2)
    assert seen_module.LONGEST_SECONDS <= clock.now < seen_module.LONGEST_SECONDS + 1


def test_a_message_counts_as_seen_when_it_came_first() -> None:
    updates = [Update(10, [1, None, -1.0], [float("nan")], whole_table=True), Update(20, [1.0], [2.0])]
    seen = seen_module.Seen()
    for update in updates:
        seen.add(update)
    assert seen.first == {1: 10, 2: 20}
    assert (seen.snapshots, seen.updates, seen.rows) == (1, 1, 1)


def _one_by_one(updates: Iterator[list[Update]]) -> Callable[[], list[Update]]:
    return lambda: next(updates, [])
