"""What an observer has seen: updates, each with the time at which it came, and the messages that are in it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

STALLED_SECONDS = 15.0
"""Messages that are still missing when nothing has come for so long are taken for lost."""

POLL_SECONDS = 0.05


@dataclass(frozen=True, eq=False)
class Update:
    """Rows that came together: for each the time stamps of its left and of its right message."""

    arrived_us: int
    left: pl.Series
    right: pl.Series
    whole_table: bool = False
    """A snapshot or a swap, not a change."""


@dataclass(frozen=True, eq=False)
class Seen:
    first: pl.DataFrame
    """stamp -> arrived, when its message was first to be seen."""
    updates: int
    rows: int
    snapshots: int


def collect(take: Callable[[], list[Update]], last_left: int, last_right: int) -> Seen:
    """Takes updates until the last message of either side is among them, or nothing comes any more."""
    updates: list[Update] = []
    left = right = 0
    stalled = time.monotonic() + STALLED_SECONDS
    while (left < last_left or right < last_right) and time.monotonic() < stalled:
        time.sleep(POLL_SECONDS)
        new = take()
        for update in new:
            left, right = max(left, _newest(update.left)), max(right, _newest(update.right))
        if new:
            updates += new
            stalled = time.monotonic() + STALLED_SECONDS
    return _seen(updates)


def _newest(stamps: pl.Series) -> int:
    newest = stamps.max()
    return int(newest) if isinstance(newest, int | float) else 0


def _seen(updates: list[Update]) -> Seen:
    changes = [update for update in updates if not update.whole_table]
    return Seen(
        _first(updates), len(changes), sum(update.left.len() for update in changes), len(updates) - len(changes)
    )


def _first(updates: list[Update]) -> pl.DataFrame:
    stamps = [pl.Series("stamp", [], dtype=pl.Int64)]
    arrived = [pl.Series("arrived", [], dtype=pl.Int64)]
    for update in updates:
        for side in (update.left, update.right):
            stamps.append(side.cast(pl.Int64).alias("stamp"))
            arrived.append(pl.Series("arrived", [update.arrived_us]).new_from_index(0, side.len()))
    rows = pl.DataFrame([pl.concat(stamps), pl.concat(arrived)]).drop_nulls()
    return rows.group_by("stamp").agg(pl.col("arrived").min())
