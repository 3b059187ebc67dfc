import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import is_running, until_gone
from tests.waiting import until
from turnout.kafka import guard

FOREVER = ["sleep", "600"]

OWNER = """
import subprocess, sys
guard = subprocess.Popen(
    [sys.executable, "-I", "-S", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
)
bystander = subprocess.Popen(["sleep", "600"])
print(guard.pid, int(guard.stdout.readline()), bystander.pid, flush=True)
sys.stdin.read()
"""


class Guarded:
    """A guard with its command, and this process as its owner."""

    def __init__(self, command: list[str], guard_program: list[str] | None = None) -> None:
        program = guard_program or [guard.__file__]
        self.guard = subprocess.Popen(
            [sys.executable, "-I", "-S", *program, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.guard.stdout is not None
        with self.guard.stdout as said:
            self.pid = int(said.readline())

    def let_go(self) -> None:
        assert self.guard.stdin is not None
        self.guard.stdin.close()


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    it = Guarded(FOREVER)
    yield it
    it.let_go()
    it.guard.wait(10)


def test_the_command_runs_until_the_owner_lets_go(guarded: Guarded) -> None:
    assert is_running(guarded.pid)
    guarded.let_go()
    assert guarded.guard.wait(10) == 128 + signal.SIGTERM
    assert not is_running(guarded.pid)


def test_the_guard_ends_with_the_exit_code_of_the_command() -> None:
    it = Guarded(["sh", "-c", "exit 7"])
    assert it.guard.wait(10) == 7
    it.let_go()


def test_the_command_may_tidy_up_before_it_ends(tmp_path: Path) -> None:
    ready, tidy = tmp_path / "ready", tmp_path / "tidy"
    it = Guarded(["sh", "-c", f"trap 'touch {tidy}; exit 0' TERM; touch {ready}; while :; do sleep 0.01; done"])
    until(ready.exists, "the command has set its trap")
    it.let_go()
    assert it.guard.wait(10) == 0
    assert tidy.exists()


def test_a_command_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    impatient = tmp_path / "impatient.py"
    impatient.write_text(Path(guard.__file__).read_text().replace("GRACE_SECONDS = 3.0", "GRACE_SECONDS = 0.1"))
    it = Guarded(["sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.01; done"], [str(impatient)])
    until(ready.exists, "the command ignores SIGTERM")
    it.let_go()
    assert it.guard.wait(2) == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", guard.STOP_SIGNALS)
def test_a_guard_told_to_stop_stops_the_command(guarded: Guarded, number: signal.Signals) -> None:
    guarded.guard.send_signal(number)
    assert guarded.guard.wait(10) == 128 + signal.SIGTERM
    assert not is_running(guarded.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a process to its parent")
def test_killing_the_guard_kills_the_command(guarded: Guarded) -> None:
    guarded.guard.kill()
    guarded.guard.wait(10)
    until_gone(guarded.pid)


def test_the_command_ends_when_its_owner_is_killed_though_another_child_of_that_owner_lives_on() -> None:
    command = [sys.executable, "-c", OWNER, guard.__file__, *FOREVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        guard_pid, command_pid, bystander = map(int, owner.stdout.readline().split())
        assert is_running(guard_pid)
        assert is_running(command_pid)
        owner.kill()
    until_gone(command_pid)
    until_gone(guard_pid)
    assert is_running(bystander)
    os.kill(bystander, signal.SIGKILL)


def test_ctrl_c_in_the_terminal_does_not_reach_the_command(guarded: Guarded) -> None:
    """The terminal signals the foreground process group: that of the owner."""
    assert os.getpgid(guarded.pid) == os.getpgid(guarded.guard.pid) != os.getpgid(0)
