"""How far a pipeline has come, as far as its reader has seen."""

import threading
from collections.abc import Callable, Mapping

from turnout.kafka.client import Offsets

POLL_SECONDS = 0.1

Position = tuple[str, int]
"""A data topic and one of its partitions."""


class Progress:
    """Written by the reader's thread, waited for by whoever builds the pipeline."""

    def __init__(self) -> None:
        self._read: dict[Position, int] = {}  # topic and partition of the bus -> the next offset to be read
        self._mark: Mapping[Position, int] = {}
        self._seen: dict[Position, int] = {}
        self._worked: dict[Position, int] = {}
        self._changed = threading.Condition()
        self._over = False

    def mark(self, topic: str, ends: Offsets) -> None:
        """What stands before these ends on a topic of the bus is from an earlier run: it does not count as work."""
        with self._changed:
            self._mark = {**self._mark, **{(topic, partition): end for partition, end in ends.items()}}

    def note(self, bus_position: Position, offset: int, worked_on: Position, worked_offset: int) -> None:
        """A record of the bus was read; it was written for this message of a data topic."""
        if worked_offset > self._seen.get(worked_on, -1):
            self._seen[worked_on] = worked_offset
        if offset >= self._mark.get(bus_position, 0) and worked_offset > self._worked.get(worked_on, -1):
            self._worked[worked_on] = worked_offset
        self._read[bus_position] = offset + 1

    def tell(self) -> None:
        """What was noted is now in the tables."""
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        """Nobody needs to wait any longer."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def seen(self) -> Mapping[Position, int]:
        """Data topic and partition -> highest offset whose effect has been read."""
        return dict(self._seen)

    def wait_until_read(self, topic: str, ends: Offsets, given_up: Callable[[], bool]) -> None:
        """Wait until a topic of the bus has been read up to `ends`."""
        self._wait(lambda: all(self._read.get((topic, part), 0) >= end for part, end in ends.items()), given_up)

    def wait_until_worked(self, positions: Mapping[Position, int], given_up: Callable[[], bool]) -> None:
        """Wait until the query has worked on these messages, and what came of it has been read."""
        self._wait(lambda: all(self._worked.get(at, -1) >= offset for at, offset in positions.items()), given_up)

    def _wait(self, done: Callable[[], bool], given_up: Callable[[], bool]) -> None:
        with self._changed:
            while not (done() or self._over or given_up()):
                self._changed.wait(POLL_SECONDS)
