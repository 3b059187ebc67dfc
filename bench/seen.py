"""What an observer has seen: updates, each with the time at which it came, and the messages that are in it.

Observers run in the environments of the systems that they observe: this takes nothing but Python.
"""

import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypedDict

STALLED_SECONDS = 60.0
"""Messages that are still missing when nothing has come for so long are taken for lost."""

LONGEST_SECONDS = 300.0
"""Whoever has not shown everything by then does not keep up."""

SETTLE_SECONDS = 0.3
"""The last message of a side need not be the last one that shows, where several workers share the keys: what comes
within so long after it still counts."""

POLL_SECONDS = 0.05

Stamps = Iterable[float | None]
"""Time stamps of messages, with whatever stands for none: nothing, not a number, or a number below 0."""


class Question(TypedDict):
    """Tell what was seen up to these messages: the counts in the answer, the messages in `file`."""

    last_left: int
    last_right: int
    file: str


@dataclass(frozen=True, eq=False)
class Update:
    """Rows that came together: for each the time stamps of its left and of its right message."""

    arrived_us: int
    left: Stamps
    right: Stamps
    whole_table: bool = False
    """A snapshot or a swap, not a change."""


@dataclass
class Seen:
    first: dict[int, int] = field(default_factory=dict)
    """Stamp -> when its message was first to be seen."""
    updates: int = 0
    rows: int = 0
    snapshots: int = 0

    @classmethod
    def read(cls, file: Path, counts: dict[str, int]) -> Self:
        numbers = array("q", file.read_bytes())
        return cls(dict(zip(numbers[::2], numbers[1::2], strict=True)), **counts)

    def write(self, file: Path) -> dict[str, int]:
        """The counts are for the answer."""
        file.write_bytes(array("q", (number for pair in self.first.items() for number in pair)).tobytes())
        return {"updates": self.updates, "rows": self.rows, "snapshots": self.snapshots}

    def add(self, update: Update) -> tuple[int, int]:
        """The newest left and right stamps of it."""
        left, right = _stamps(update.left), _stamps(update.right)
        for stamp in (*left, *right):
            self.first.setdefault(stamp, update.arrived_us)
        if update.whole_table:
            self.snapshots += 1
        else:
            self.updates += 1
            self.rows += len(left)
        return max(left, default=0), max(right, default=0)


class Sightings:
    """Where a listener notes what comes: the time and the columns, and no more."""

    def __init__(self) -> None:
        self.with_rows = True
        """Without, only times are noted: of a backlog, it is the last one that counts."""
        self.updates = self.last_us = 0
        self._noted: deque[Update] = deque()

    def note(self, left: Stamps = (), right: Stamps = (), *, whole_table: bool = False) -> None:
        self.last_us = now_us()
        self.updates += 1
        if self.with_rows:
            self._noted.append(Update(self.last_us, left, right, whole_table))

    def take(self) -> list[Update]:
        """What has come since the last time."""
        return [self._noted.popleft() for _ in range(len(self._noted))]

    def clear(self) -> None:
        self.updates = self.last_us = 0
        self._noted.clear()


def now_us() -> int:
    return time.time_ns() // 1000


def answer(take: Callable[[], list[Update]], question: Question) -> dict[str, int]:
    return collect(take, question["last_left"], question["last_right"]).write(Path(question["file"]))


def collect(take: Callable[[], list[Update]], last_left: int, last_right: int) -> Seen:
    """Takes updates until the last message of either side is among them, or nothing comes any more."""
    seen = Seen()
    left = right = 0
    longest = quiet = time.monotonic() + LONGEST_SECONDS  # the first one may have to wait for a start
    while time.monotonic() < min(quiet, longest):
        time.sleep(POLL_SECONDS)
        for update in take():
            newest_left, newest_right = seen.add(update)
            left, right = max(left, newest_left), max(right, newest_right)
            complete = left >= last_left and right >= last_right
            quiet = time.monotonic() + (SETTLE_SECONDS if complete else STALLED_SECONDS)
    return seen


def _stamps(values: Stamps) -> list[int]:
    return [int(value) for value in values if value is not None and value > 0]
