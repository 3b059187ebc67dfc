"""How much memory processes hold, and how much they may, as Linux tells it (elsewhere nothing is known); and how to
have them hold no more than they need."""

import ctypes
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")

ARENAS, ARENAS_VARIABLE = 2, "MALLOC_ARENA_MAX"
"""From which the C library gives memory to threads. By itself it has eight for each core, and what is free in one of
them is of no use to threads of another: a tenth of all memory was that."""
TRIMMING = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TrimNativeHeapInterval=10000")
"""Flags for a JVM that gives back every ten seconds what its C library holds for it and it needs no more: what its
compilers have left behind, and RocksDB. Java before 17.0.9 does not know that flag, and other JVMs do not know those of
HotSpot: they work without."""

TRIM_SECONDS = 20.0
"""Between two times that this process does the same: threads that want memory meanwhile wait for about five
milliseconds. Large changes come and go, and what they took would stay with the process: a tenth of all."""

_M_ARENA_MAX = -8  # as glibc's malloc.h has it


def use_few_arenas() -> None:
    """This process from now on, and those that it starts. Whoever has set the variable knows better."""
    if ARENAS_VARIABLE not in os.environ:
        os.environ[ARENAS_VARIABLE] = str(ARENAS)
        with suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def keep_trimmed(stopping: threading.Event) -> None:
    """Until then, this process gives back what it does not need."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None and not stopping.wait(TRIM_SECONDS):
        trim(0)


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
