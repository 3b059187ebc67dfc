"""Sees the rows of a public live table as they are put into it."""

import time
from collections import deque

from bench.messages import LEFT_STAMP, RIGHT_STAMP
from bench.seen import Update
from turnout.tables.registry import Changed, Event


class Recorder:
    """A listener of the registry. It is called under its lock, so it notes the time and the columns, and no more."""

    def __init__(self) -> None:
        self._updates: deque[Update] = deque()

    def note(self, event: Event) -> None:
        changed = isinstance(event, Changed)
        rows = event.delta.upserts if isinstance(event, Changed) else event.rows
        now = time.time_ns() // 1000
        self._updates.append(Update(now, rows.get_column(LEFT_STAMP), rows.get_column(RIGHT_STAMP), not changed))

    def take(self) -> list[Update]:
        """What has come since the last time."""
        return [self._updates.popleft() for _ in range(len(self._updates))]
