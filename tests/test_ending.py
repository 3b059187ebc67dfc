"""The context ends its process, so each of these runs one."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import is_running, until_gone
from tests.waiting import in_time
from turnout.ending import ORDERLY_SECONDS

REPO = Path(__file__).parent.parent
PROGRAM = """
import subprocess, sys, threading, time
from turnout.ending import Ending

def say(*words):
    # In one write: two threads may speak at once.
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

with Ending(lambda: say("asked")) as ending:
    child = subprocess.Popen(["sleep", "98"])  # nobody else ends it
    {body}
"""
PROMISED_SECONDS = 5
WAIT = 'say("pid", child.pid); time.sleep(99)'
Start = Callable[[str], tuple[subprocess.Popen[str], int]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program; it, and the process id of its child."""
    started: list[subprocess.Popen[str]] = []

    def start(body: str) -> tuple[subprocess.Popen[str], int]:
        program = PROGRAM.format(body=body)
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        started.append(process)
        assert process.stdout is not None
        word, pid = process.stdout.readline().split()
        assert word == "pid"
        return process, int(pid)

    yield start
    for process in started:
        process.kill()
        with process:
            pass


def rest(process: subprocess.Popen[str]) -> list[str]:
    """What it says until it ends."""
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    process.wait()
    return lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_parts_last_first_and_all_children(start: Start, number: int) -> None:
    process, child = start('ending.callback(lambda: say("first")); ending.callback(lambda: say("second")); ' + WAIT)
    process.send_signal(number)
    assert rest(process) == ["asked", "second", "first"]
    assert process.returncode == 0
    until_gone(child)


def test_a_signal_can_be_taken_gently(start: Start) -> None:
    process, _ = start(
        'stop = threading.Event(); ending.gently(stop.set); say("pid", child.pid); stop.wait(); say("in order")'
    )
    process.send_signal(signal.SIGINT)
    assert sorted(rest(process)) == ["asked", "in order"]
    assert process.returncode == 0


def test_a_part_that_hangs_does_not_hold_it_up(start: Start) -> None:
    process, child = start("ending.callback(lambda: time.sleep(99)); " + WAIT)
    with in_time(PROMISED_SECONDS, "it ends"):
        process.send_signal(signal.SIGTERM)
        assert rest(process) == ["asked"]
    assert process.returncode == 0
    assert not is_running(child)


def test_a_part_whose_child_is_taken_away_when_the_time_is_up_says_nothing_of_it(start: Start) -> None:
    # It ends by SIGTERM, number 15.
    process, child = start('ending.callback(lambda: say("code", 1 / (child.wait() + 15))); ' + WAIT)
    process.send_signal(signal.SIGTERM)
    assert rest(process) == ["asked"]
    assert process.returncode == 0
    until_gone(child)


def test_a_part_that_fails_in_time_is_told(start: Start) -> None:
    process, _ = start("ending.callback(lambda: 1 / 0); " + WAIT)
    process.send_signal(signal.SIGTERM)
    said = rest(process)
    assert said[-1] == "ZeroDivisionError: division by zero"
    assert process.returncode == 0


def test_even_a_main_thread_that_hangs_does_not_hold_it_up(start: Start) -> None:
    process, child = start('ending.gently(lambda: None); say("pid", child.pid); time.sleep(99)')
    with in_time(PROMISED_SECONDS, "it ends"):
        process.send_signal(signal.SIGTERM)
        assert rest(process) == ["asked"]
    assert process.returncode == 0
    until_gone(child)


def test_a_second_signal_ends_everything_at_once(start: Start) -> None:
    process, child = start("ending.callback(lambda: time.sleep(99)); " + WAIT)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    with in_time(ORDERLY_SECONDS, "it ends"):
        process.send_signal(signal.SIGINT)
        assert rest(process) == []
    assert process.returncode == 130
    until_gone(child)


def test_an_error_is_passed_on_once_all_is_stopped(start: Start) -> None:
    process, child = start('say("pid", child.pid); ending.callback(lambda: say("stopped")); raise ValueError("why")')
    lines = rest(process)
    assert lines[0] == "stopped"
    assert lines[-1] == "ValueError: why"
    assert process.returncode == 1
    assert not is_running(child)
