"""How it goes at this moment, as the header of the page and `/api/status` show it."""

import time
from collections import deque
from collections.abc import Callable

from turnout.service import Service
from turnout.tables.registry import Changed, Event
from turnout.tables.system import iso

RATE_SECONDS = 5
"""What a rate is taken over: long enough to be read, short enough to show a change."""

Vitals = dict[str, object]


class RowRate:
    """Counts the rows of a table that change; a swap is no change of rows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: deque[tuple[int, int]] = deque(maxlen=RATE_SECONDS + 1)  # second, rows; the last is not over yet

    def note(self, event: Event) -> None:
        if isinstance(event, Changed):
            second, rows = int(self._clock()), event.delta.upserts.height
            if self._counts and self._counts[-1][0] == second:
                rows += self._counts.pop()[1]
            self._counts.append((second, rows))

    def per_second(self) -> float:
        now = int(self._clock())
        return sum(rows for second, rows in tuple(self._counts) if now - RATE_SECONDS <= second < now) / RATE_SECONDS


class VitalSigns:
    """Follows a service. Nothing here waits for Kafka, but for `lag`."""

    def __init__(self, service: Service) -> None:
        self._service, self._tables = service, service.tables
        self._rate = RowRate()
        self._tables.registry.subscribe(self._tables.names.joined, self._rate.note)

    def lag(self) -> dict[str, int | None]:
        return self._service.lag()

    def read(self, lag: dict[str, int | None]) -> Vitals:
        freshness = self._service.freshness()
        return {
            **self._tables.status_row(),
            "uptimeSeconds": round(self._service.uptime_seconds, 3),
            "lag": lag,
            "rowsPerSecond": self._rate.per_second(),
            "newestRowAt": iso(freshness.newest_ms) if freshness else None,
            "latencyMs": freshness.latency_ms if freshness else None,
            "rejected": self._tables.registry.snapshot(self._tables.names.rejected).rows.height,
            "now": iso(int(time.time() * 1000)),
        }
