"""How much of the processor each process takes, where the system has /proc to tell it.

Unlike a latency, this hardly depends on what else runs on the machine; and it shows who is the one that cannot keep up.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """By name, the cores that each process has kept busy since `start`."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids if (_PROC / "self" / "stat").exists() else {}
        self.start()

    def start(self) -> None:
        self._began, self._before = time.monotonic(), self._seconds()

    def cores(self) -> dict[str, float]:
        elapsed = time.monotonic() - self._began
        return {name: round((now - self._before[name]) / elapsed, 2) for name, now in self._seconds().items()}

    def _seconds(self) -> dict[str, float]:
        return {name: _cpu_seconds(pid) for name, pid in self._pids.items()}


def child_running(what: str) -> int | None:
    """The child of this process whose command line has this in it."""
    for entry in _PROC.glob("[0-9]*"):
        try:
            parent = int(_after_name(entry)[1])
            if parent == os.getpid() and what.encode() in (entry / "cmdline").read_bytes():
                return int(entry.name)
        except OSError:  # it has just ended
            continue
    return None


def _cpu_seconds(pid: int) -> float:
    user, system = _after_name(_PROC / str(pid))[11:13]
    return (int(user) + int(system)) / _TICKS_PER_SECOND


def _after_name(process: Path) -> list[str]:
    """The fields of `stat` from the state on. The name before them may hold blanks and parentheses."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
