import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import is_running, until_gone
from tests.waiting import until
from turnout import descendants as module
from turnout.descendants import descendants, end_descendants, kill_descendants

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(99)"
)
PARENT = "import subprocess, sys, time; subprocess.Popen(['sleep', '98']); time.sleep(99)"


@pytest.fixture(autouse=True)
def _no_children_before() -> None:
    assert descendants() == []


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A child with a child of its own."""
    with subprocess.Popen([sys.executable, "-c", PARENT]) as child:
        until(lambda: len(descendants()) == 2, "the grandchild runs")
        yield child
        kill_descendants()


def test_grandchildren_are_descendants_and_all_of_them_are_ended(family: subprocess.Popen[bytes]) -> None:
    found = descendants()
    assert found[0] == family.pid
    end_descendants(grace_seconds=5)
    assert not any(map(is_running, found))


def test_one_that_does_not_obey_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        began = time.monotonic()
        end_descendants(grace_seconds=0.2)
        assert time.monotonic() - began < 5
        assert child.wait(1) == -signal.SIGKILL


def test_one_that_has_ended_already_is_not_waited_for() -> None:
    child = subprocess.Popen(["true"])
    until(lambda: not is_running(child.pid), "it has ended")
    assert descendants() == []
    end_descendants(grace_seconds=5)
    child.wait()


def test_ps_tells_the_same_as_proc(family: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    by_proc = descendants()
    monkeypatch.setattr(module, "_PROC", Path("/nowhere"))
    assert descendants() == by_proc


def test_killing_reaches_everyone(family: subprocess.Popen[bytes]) -> None:
    found = descendants()
    kill_descendants()
    for pid in found:
        until_gone(pid)
    assert os.getpid() not in found
