"""What the readers of all changelogs have taken since the start. It outlives each of them: pipelines come and go."""

import threading
import time
from collections.abc import Callable

from turnout.changelog.records import Records
from turnout.measures import Histogram

# From half of what a row takes when little comes, to a time that somebody would have noticed anyway.
LATENCY_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Intake:
    """Told of each batch, once: thousands of records come in a second."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._read = self._taken = 0
        self.latency = Histogram(LATENCY_SECONDS)
        """In seconds, of one row of each batch that is shown: from its time in Kafka until it was in the tables."""

    def note(self, read: int, taken: Records | None, *, shown: bool) -> None:
        """So many records came at once, and these of them were news, which are `shown` now or are not."""
        with self._lock:
            self._read += read
            self._taken += len(taken) if taken is not None else 0
        if taken and shown and (row_ms := taken.sample_ms()) is not None:
            # Producers' clocks may be ahead of this one.
            self.latency.note(max(0.0, self._clock() - row_ms / 1000))

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def dropped(self) -> int:
        """Those that had seen no more than what was held, or were followed at once by a newer one of their key."""
        with self._lock:
            return self._read - self._taken
