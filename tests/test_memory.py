import os
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
