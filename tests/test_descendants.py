"""Of a process made for the test: pytest has children of its own, the shared broker and Spark."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import is_running, until_gone
from tests.waiting import until
from turnout import descendants as module
from turnout.descendants import descendants, end_descendants, kill_descendants

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(99)"
)
PARENT = """
import subprocess, sys
child = subprocess.Popen({command})
print("ready", flush=True)
sys.stdin.read()
child.poll()
"""
CHILD_WITH_A_CHILD = [sys.executable, "-c", "import subprocess; subprocess.Popen(['sleep', '98']).wait()"]

Family = Callable[[list[str]], int]


@pytest.fixture
def parent_of() -> Iterator[Family]:
    """Starts a process that starts a command and waits; its id."""
    with ExitStack() as processes:

        def start(command: list[str]) -> int:
            code = PARENT.format(command=command)
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            process = processes.enter_context(subprocess.Popen([sys.executable, "-c", code], **pipes))  # type: ignore[call-overload]
            processes.callback(process.kill)
            processes.callback(kill_descendants, process.pid)
            process.stdout.readline()
            return int(process.pid)

        yield start


def test_grandchildren_are_descendants_and_all_of_them_are_ended(parent_of: Family) -> None:
    parent = parent_of(CHILD_WITH_A_CHILD)
    until(lambda: len(descendants(parent)) == 2, "the grandchild runs")
    found = descendants(parent)
    end_descendants(grace_seconds=5, of=parent)
    assert not any(map(is_running, found))
    assert is_running(parent)


def test_those_of_this_process_are_found_without_asking(parent_of: Family) -> None:
    parent = parent_of(["sleep", "98"])
    assert {parent, *descendants(parent)} <= set(descendants())
    assert os.getpid() not in descendants()


def test_one_that_does_not_obey_is_killed(parent_of: Family) -> None:
    parent = parent_of([sys.executable, "-c", STUBBORN])  # both say that they are ready, in whatever order
    (child,) = descendants(parent)
    began = time.monotonic()
    end_descendants(grace_seconds=0.2, of=parent)
    assert time.monotonic() - began < 5
    assert not is_running(child)


def test_one_that_has_ended_already_is_not_waited_for(parent_of: Family) -> None:
    parent = parent_of(["true"])
    until(lambda: descendants(parent) == [], "it has ended")
    end_descendants(grace_seconds=5, of=parent)


def test_ps_tells_the_same_as_proc(parent_of: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = parent_of(CHILD_WITH_A_CHILD)
    until(lambda: len(descendants(parent)) == 2, "the grandchild runs")
    by_proc = descendants(parent)
    monkeypatch.setattr(module, "_PROC", Path("/nowhere"))
    assert descendants(parent) == by_proc


def test_killing_reaches_everyone(parent_of: Family) -> None:
    parent = parent_of(CHILD_WITH_A_CHILD)
    until(lambda: len(descendants(parent)) == 2, "the grandchild runs")
    found = descendants(parent)
    kill_descendants(parent)
    for pid in found:
        until_gone(pid)
