"""Waiting for a condition, with a deadline; and what has to be done in time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NAP_SECONDS = 0.01
PATIENCE_SECONDS = 30.0
"""For what takes a moment, on a machine that is busy with other things."""


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(NAP_SECONDS)


@contextmanager
def in_time(seconds: float, what: str) -> Iterator[None]:
    """What is done here takes less than that, on a machine that runs: for as long as it lets nobody go on, not even who
    only wants to wake up, no clock is held against anybody."""
    stood_still, over = 0.0, threading.Event()

    def nap() -> None:
        nonlocal stood_still
        while not over.is_set():
            began = time.monotonic()
            time.sleep(NAP_SECONDS)
            stood_still += max(0.0, time.monotonic() - began - 2 * NAP_SECONDS)

    napper = threading.Thread(target=nap, name="napper", daemon=True)
    napper.start()
    began = time.monotonic()
    try:
        yield
    finally:
        took = time.monotonic() - began
        over.set()
        napper.join()
    assert took - stood_still < seconds, (
        f"{what}: {took:.2f} s, in {stood_still:.2f} s of which the machine stood still"
    )
