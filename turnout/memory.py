"""How much memory processes hold, and how much they may: as Linux tells it. Elsewhere nothing is known."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def resident_bytes(pids: Iterable[int]) -> int | None:
    """What these hold together; None: none of them runs, or nobody can tell."""
    found = []
    for pid in pids:
        with suppress(OSError, IndexError, ValueError):  # it has just ended
            found.append(int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return sum(found) if found else None


def limit_bytes() -> int | None:
    """What the container, the service's unit or the machine allows, whichever is least."""
    return min([*_of_groups(), *_of_machine()], default=None)


def _of_groups() -> Iterator[int]:
    """Each group's limit, from this process's own up to the root."""
    with suppress(OSError):
        for line in (_PROC / "self" / "cgroup").read_text().splitlines():
            if line.startswith("0::"):  # the one hierarchy of version 2
                group = _CGROUPS / line.removeprefix("0::").strip("/")
                for place in (group, *group.parents):
                    with suppress(OSError, ValueError):  # the root has none; `max` is none
                        yield int((place / "memory.max").read_text())


def _of_machine() -> Iterator[int]:
    with suppress(OSError, IndexError, ValueError):
        first, *_ = (_PROC / "meminfo").read_text().splitlines()
        yield int(first.split()[1]) * 1024  # MemTotal, in kB
