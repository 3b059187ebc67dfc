"""How far a pipeline has come, as far as its reader has seen."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from turnout.kafka.client import Offsets, Record

POLL_SECONDS = 0.1

Position = tuple[str, int]
"""A topic and one of its partitions."""

WorkedOn = Callable[[Sequence[Record]], Mapping[Position, int]]
"""The last messages of data topics that some records of the bus were written for."""


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

    def note(self, records: Sequence[Record], worked_on: WorkedOn) -> None:
        """These records of the bus have been read, and are now in the tables."""
        with self._changed:
            for at, of_partition in _by_partition(records).items():
                first = bisect_left(of_partition, self._mark.get(at, 0), key=attrgetter("offset"))
                earlier, counting = of_partition[:first], of_partition[first:]
                _advance(self._seen, worked_on(earlier))
                work = worked_on(counting)
                _advance(self._seen, work)
                _advance(self._worked, work)
                self._read[at] = of_partition[-1].offset + 1
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
        self._wait(lambda: self.has_read(topic, ends), given_up)

    def has_read(self, topic: str, ends: Offsets) -> bool:
        return all(self._read.get((topic, part), 0) >= end for part, end in ends.items())

    def wait_until_worked(self, positions: Mapping[Position, int], given_up: Callable[[], bool]) -> None:
        """Wait until the query has worked on these messages, and what came of it has been read."""
        self._wait(lambda: all(self._worked.get(at, -1) >= offset for at, offset in positions.items()), given_up)

    def _wait(self, done: Callable[[], bool], given_up: Callable[[], bool]) -> None:
        with self._changed:
            while not (done() or self._over or given_up()):
                self._changed.wait(POLL_SECONDS)


def _by_partition(records: Sequence[Record]) -> Mapping[Position, list[Record]]:
    """Each partition's in their order."""
    partitions: dict[Position, list[Record]] = {}
    for record in records:
        partitions.setdefault((record.topic, record.partition), []).append(record)
    return partitions


def _advance(offsets: dict[Position, int], to: Mapping[Position, int]) -> None:
    for at, offset in to.items():
        if offset > offsets.get(at, -1):
            offsets[at] = offset
