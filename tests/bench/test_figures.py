"""Latencies, and what counts as lost: the rule is the same for every system and every observer."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Figures, figures
from bench.seen import Seen

MS = 1_000
LEFT, RIGHT = False, True

Sent = list[tuple[bool, int]]
"""Side and key of each message. They are sent a millisecond apart, the first one at 1 ms."""


def test_a_message_that_was_shown_takes_until_then() -> None:
    taken = _figures([(LEFT, 1), (RIGHT, 1), (LEFT, 2)], {1: 5, 2: 12, 3: 5})
    assert (taken.p50, taken.max, taken.lost, taken.superseded) == (4.0, 10.0, 0, 0)


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_a_superseded_message_takes_until_the_newer_one_was_shown(side: bool) -> None:
    taken = _figures([(side, 1)] * 3, {3: 10})
    assert (taken.lost, taken.superseded) == (0, 2)
    assert (taken.p50, taken.max) == (8.0, 9.0)


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param((LEFT, 2), id="of another key"),
        pytest.param((RIGHT, 1), id="of the other side"),
    ],
)
def test_only_a_newer_message_of_the_same_key_and_side_supersedes(newer: tuple[bool, int]) -> None:
    taken = _figures([(LEFT, 1), newer], {2: 10})
    assert (taken.lost, taken.superseded) == (1, 0)
    assert taken.max == 8.0, "the lost one has no time"


def test_an_older_message_supersedes_nothing() -> None:
    taken = _figures([(LEFT, 1), (LEFT, 1)], {1: 10})
    assert (taken.lost, taken.superseded) == (1, 0)


def test_a_left_row_is_superseded_only_by_as_many_as_are_kept() -> None:
    sent: Sent = [(LEFT, 1)] * 4
    assert _figures(sent, {2: 10, 3: 10, 4: 10}, keep=3).lost == 0
    assert _figures(sent, {2: 10, 3: 10}, keep=3).lost == 2, "the first would still be kept beside two newer ones"


def test_a_right_row_is_superseded_by_the_next_whatever_is_kept() -> None:
    assert _figures([(RIGHT, 1)] * 2, {2: 10}, keep=3).superseded == 1


def test_where_nothing_was_shown_all_are_lost_and_there_are_no_times() -> None:
    taken = _figures([(LEFT, 1), (RIGHT, 1)], {})
    assert (taken.lost, taken.p50, taken.p99, taken.max) == (2, None, None, None)


def test_quarters_tell_whether_the_latency_grows() -> None:
    count = 40
    taken = _figures([(LEFT, key) for key in range(count)], {number: 2 * number for number in range(1, count + 1)})
    assert (taken.p50_of_first_quarter, taken.p50_of_last_quarter) == (6.0, 36.0)
    assert (taken.p99, taken.max) == (40.0, 40.0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.booleans()), min_size=1, max_size=30), st.integers(1, 3))
def test_every_message_is_shown_superseded_or_lost(history: list[tuple[bool, int, bool]], keep: int) -> None:
    """Against a plain search for what came after it."""
    sent = [(side, key) for side, key, _ in history]
    shown = {number for number, (_, _, was_shown) in enumerate(history, 1) if was_shown}
    lost = superseded = 0
    for number, message in enumerate(sent, 1):
        if number in shown:
            continue
        newer = [other for other in range(number + 1, len(sent) + 1) if sent[other - 1] == message]
        places = 1 if message[0] == RIGHT else keep
        if any(other in shown for other in newer[places - 1 :]):
            superseded += 1
        else:
            lost += 1
    taken = _figures(sent, {number: number + 1 for number in shown}, keep)
    assert (taken.lost, taken.superseded) == (lost, superseded)


def test_it_does_not_matter_in_which_order_the_sides_were_seen() -> None:
    sent: Sent = list(product((LEFT, RIGHT), range(3)))
    arrivals = {number: 20 - number for number in range(1, len(sent) + 1)}
    assert _figures(sent, arrivals) == _figures(sent, dict(reversed(arrivals.items())))


def _figures(sent: Sent, arrivals_ms: dict[int, int], keep: int = 1) -> Figures:
    """Of messages by number, and when each of them was shown, if it was."""
    rows = [(number * MS, side, key) for number, (side, key) in enumerate(sent, 1)]
    frame = pl.DataFrame(rows, {"stamp": pl.Int64, "right": pl.Boolean, "key": pl.Int64}, orient="row")
    return figures(frame, Seen({number * MS: arrived * MS for number, arrived in arrivals_ms.items()}), keep)
