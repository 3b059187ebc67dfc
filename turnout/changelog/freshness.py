"""How old the newest row of a changelog is, and how long rows take to get here."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from turnout.changelog.records import Records


@dataclass(frozen=True)
class Freshness:
    newest_ms: int
    """The newest row's timestamp in Kafka."""
    latency_ms: int | None
    """From there until the row was in the live tables; None: none has come since they are shown."""


class FreshnessMeter:
    """Takes note of each change, which costs nothing, and works it out when somebody asks: of the latest change."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._latest: tuple[Records, float | None] | None = None
        self._known: Freshness | None = None

    def note(self, records: Records, *, shown: bool) -> None:
        """These records came, and are `shown` now; or will be when the pipeline is, which says nothing about haste."""
        self._latest = (records, self._clock() if shown else None)

    def read(self) -> Freshness | None:
        latest, self._latest = self._latest, None
        if latest is not None:
            records, shown_at = latest
            if (newest_ms := _newest_ms(records)) is not None:
                self._known = self._after(newest_ms, shown_at)
        return self._known

    def _after(self, newest_ms: int, shown_at: float | None) -> Freshness:
        known = self._known
        latency_ms = known.latency_ms if known else None
        if shown_at is not None:
            # Producers' clocks may be ahead of this one.
            latency_ms = max(0, round(shown_at * 1000) - newest_ms)
        return Freshness(max(newest_ms, known.newest_ms if known else newest_ms), latency_ms)


def _newest_ms(records: Records) -> int | None:
    """Rows stand newest first."""
    newest = [
        timestamp
        for side in ("l", "r")
        if isinstance(timestamp := records.frame.get_column(side).list.first().struct.field("t").max(), int)
    ]
    return max(newest, default=None)
