import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from turnout.crash_points import VARIABLE, CrashPoint

REPO = Path(__file__).parent.parent
PROGRAM = """
from turnout.crash_points import CrashPoint, crash_point
for point in (CrashPoint.READY, CrashPoint.SWAPPED, CrashPoint.READY, CrashPoint.READY):
    print("before", point, flush=True)
    crash_point(point)
"""


def run(crash_at: str | None) -> tuple[int, list[str]]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if crash_at is not None:
        environment[VARIABLE] = crash_at
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(
    ("crash_at", "passed"),
    [("ready", 1), ("ready:1", 1), ("swapped", 2), ("ready:2", 3), ("ready:3", 4)],
)
def test_it_dies_where_it_is_told_to(crash_at: str, passed: int) -> None:
    code, said = run(crash_at)
    assert code == -signal.SIGKILL
    assert len(said) == passed


@pytest.mark.parametrize("crash_at", [None, "retired", "ready:4", "rea", ""])
def test_otherwise_nothing_happens(crash_at: str | None) -> None:
    assert run(crash_at) == (0, ["before ready", "before swapped", "before ready", "before ready"])


def test_points_have_distinct_names() -> None:
    assert len({str(point) for point in CrashPoint}) == len(CrashPoint)
