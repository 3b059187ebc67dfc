"""How much of the processor and of memory processes take, where the system has /proc to tell it.

Unlike a latency, the processor's time hardly depends on what else runs on the machine; and it shows who is the one
that cannot keep up.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from turnout.descendants import descendants
from turnout.memory import resident_bytes

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """What the processes of each name have taken since `start`."""

    def __init__(self, pids: Mapping[str, Sequence[int]]) -> None:
        self._pids = pids if (_PROC / "self" / "stat").exists() else {}
        self._last: dict[int, float] = {}
        self.start()

    def start(self) -> None:
        self._began, self._before = time.monotonic(), self._seconds()

    def cores(self) -> dict[str, float]:
        """How many it has kept busy."""
        elapsed = time.monotonic() - self._began
        return {name: round(taken / elapsed, 2) for name, taken in self._taken().items()}

    def microseconds_per(self, count: int) -> dict[str, float]:
        """Of one core, for each of so many things that it did."""
        return {name: round(taken / count * 1e6, 1) for name, taken in self._taken().items()}

    def _taken(self) -> dict[str, float]:
        return {name: now - self._before[name] for name, now in self._seconds().items()}

    def _seconds(self) -> dict[str, float]:
        return {name: sum(map(self._seconds_of, pids)) for name, pids in self._pids.items()}

    def _seconds_of(self, pid: int) -> float:
        with suppress(OSError):  # it has ended, having taken what it had
            self._last[pid] = _cpu_seconds(pid)
        return self._last.get(pid, 0.0)


def descendant_running(what: str) -> int | None:
    """The process below this one that has this in its command line."""
    for pid in descendants():
        with suppress(OSError):  # it has just ended, or there is no /proc
            if what.encode() in (_PROC / str(pid) / "cmdline").read_bytes():
                return pid
    return None


def resident_mb(pids: Sequence[int]) -> float:
    """Megabytes of memory that these processes hold, together."""
    return round((resident_bytes(pids) or 0) / 1e6, 1)


def _cpu_seconds(pid: int) -> float:
    # The name before these fields may hold blanks and parentheses.
    fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    user, system = fields[11:13]
    return (int(user) + int(system)) / _TICKS_PER_SECOND
