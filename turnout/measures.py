"""Counts that outlive whoever counts, to be read by whoever asks. Plain Python, so that any part may count."""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """How some values are spread, at one moment."""

    buckets: Sequence[tuple[float, int]]
    """Upper bound, and how many values are not above it; the last bound is infinite."""
    total: float


class Histogram:
    """Sorts values into buckets. One value takes less than a microsecond, from any thread."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = (*bounds, float("inf"))
        self._counts = [0] * len(self._bounds)
        self._total = 0.0
        self._lock = threading.Lock()

    def note(self, value: float) -> None:
        with self._lock:
            self._counts[bisect_left(self._bounds, value)] += 1
            self._total += value

    def read(self) -> Spread:
        with self._lock:
            counts, total = tuple(self._counts), self._total
        below, buckets = 0, []
        for bound, count in zip(self._bounds, counts, strict=True):
            below += count
            buckets.append((bound, below))
        return Spread(buckets, total)
