"""The processes that this one started, and those that they did: who they are, and how to end them all."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.02

_PROC = Path("/proc")


def descendants(of: int | None = None) -> list[int]:
    """Children and theirs, as far down as it goes, of this process or another. One that has ended but was not asked
    about yet does not count."""
    parents = _parents()
    found = [os.getpid() if of is None else of]
    for ancestor in found:  # grows while it is read
        found += [pid for pid, parent in parents.items() if parent == ancestor]
    return found[1:]


def end_descendants(grace_seconds: float, of: int | None = None) -> None:
    """Returns when none is left: those that have not obeyed SIGTERM by then are killed."""
    _signal(descendants(of), signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while left := descendants(of):
        if time.monotonic() > deadline:
            _signal(left, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def kill_descendants(of: int | None = None) -> None:
    _signal(descendants(of), signal.SIGKILL)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _parents() -> dict[int, int]:
    """Process id -> its parent's, of all that run."""
    # Small containers have no `ps`, macOS has no /proc.
    return _parents_in_proc() if (_PROC / "self" / "stat").exists() else _parents_by_ps()


def _parents_in_proc() -> dict[int, int]:
    parents = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has just ended
                # The second field is the command's name in parentheses, which may hold blanks and parentheses.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(entry.name)] = int(parent)
    return parents


def _parents_by_ps() -> dict[int, int]:
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,stat="], stdout=subprocess.PIPE, text=True) as ps:
        said, _ = ps.communicate()
        rows = [line.split() for line in said.splitlines()]
    return {int(pid): int(parent) for pid, parent, state in rows if state[0] != "Z" and int(pid) != ps.pid}
