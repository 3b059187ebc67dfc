import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnout import memory
from turnout.memory import limit_bytes, resident_bytes

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up machine: two processes and 4 GiB."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    for file, text in {
        "proc/7/statm": "900 30 5 1 0 40 0\n",
        "proc/8/statm": "900 12 5 1 0 40 0\n",
        "proc/meminfo": "MemTotal:        4194304 kB\nMemFree:          100 kB\n",
        "proc/self/cgroup": "0::/system.slice/turnout.service\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    (tmp_path / "cgroup" / "system.slice" / "turnout.service").mkdir(parents=True)
    return tmp_path


def test_processes_are_added_up_and_one_that_has_ended_is_nothing(linux: Path) -> None:
    assert resident_bytes([7, 8, 9]) == 42 * PAGE
    assert resident_bytes([9]) is None


def test_without_a_limit_it_is_the_machines_memory(linux: Path) -> None:
    (linux / "cgroup/system.slice/turnout.service/memory.max").write_text("max\n")
    assert limit_bytes() == 4 * 1024**3


def test_the_least_limit_on_the_way_up_counts(linux: Path) -> None:
    (linux / "cgroup/system.slice/turnout.service/memory.max").write_text("3000000\n")
    (linux / "cgroup/system.slice/memory.max").write_text("2000000\n")
    assert limit_bytes() == 2_000_000


def test_elsewhere_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_PROC", tmp_path / "none")
    assert limit_bytes() is None
    assert resident_bytes([os.getpid()]) is None


HOLDS_FOR_NOTHING = """
import ctypes, os, threading
from turnout import memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
pieces = [libc.malloc(2_000) for _ in range(50_000)]
for piece in pieces: ctypes.memset(piece, 1, 2_000)
for piece in pieces[:-1]: libc.free(piece)  # the last one keeps all that lies before it
def held(): return memory.resident_bytes([os.getpid()]) >> 20
before, stopping = held(), threading.Event()
memory.TRIM_SECONDS = 0.01
trimming = threading.Thread(target=memory.keep_trimmed, args=(stopping,))
trimming.start()
for _ in range(1_000):
    if before - held() > 80: break
    stopping.wait(0.01)
after = held()
stopping.set()
trimming.join()
print(before, after)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_what_a_process_holds_for_nothing_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", HOLDS_FOR_NOTHING], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before - after > 80, "of 100 MB, less what lies beside what is still needed"


ARENAS_OF = """
import ctypes, os, threading
from turnout.memory import use_few_arenas
use_few_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
met = threading.Barrier(12)
def allocate():
    libc.free(libc.malloc(100_000))
    met.wait()
    met.wait()
threads = [threading.Thread(target=allocate, daemon=True) for _ in range(11)]
for thread in threads: thread.start()
met.wait()
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fdopen.restype, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
reading, writing = os.pipe()
stream = libc.fdopen(writing, b"w")
libc.malloc_info(0, stream)
libc.fclose(stream)
print(os.environ["MALLOC_ARENA_MAX"], os.read(reading, 1 << 20).count(b"<heap nr="))
met.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
@pytest.mark.parametrize(("told", "variable", "most"), [(None, "2", 2), ("4", "4", 4)])
def test_threads_share_few_arenas_unless_somebody_has_said_how_many(told: str | None, variable: str, most: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    if told is not None:
        environment["MALLOC_ARENA_MAX"] = told
    done = subprocess.run(
        [sys.executable, "-c", ARENAS_OF], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    said, arenas = done.stdout.split()
    assert said == variable
    assert 1 < int(arenas) <= most
