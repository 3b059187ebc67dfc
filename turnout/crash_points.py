"""Places where the process can be told to die at once, as `kill -9` would: for tests of what a restart makes of it.

`TURNOUT_CRASH_AT=ready` dies where a new generation is ready; `ready:2` when it gets there for the second time.
Nothing happens without that variable.
"""

import os
import signal
from collections import Counter
from enum import StrEnum

VARIABLE = "TURNOUT_CRASH_AT"


class CrashPoint(StrEnum):
    """The phases of a switch, in their order."""

    RECEIVED = "received"  # a control message was taken, and nothing was done about it
    MANIFEST_WRITTEN = "manifest-written"  # a new pipeline has a manifest and nothing else
    TOPICS_CREATED = "topics-created"  # and its topics on the bus
    CATCHING_UP = "catching-up"  # its query is about to work on the backlog
    RUNNING = "running"  # its query runs
    READY = "ready"  # it has caught up; the old generation is still shown
    PROMOTED = "promoted"  # a restart would resume it; the old generation is still shown
    SWAPPED = "swapped"  # it is shown; the old pipeline still runs
    LINGERING = "lingering"  # the message has its outcome; the old pipeline lingers
    RETIRING = "retiring"  # the old query is stopped; its topics and files are still there
    TOPICS_DELETED = "topics-deleted"  # and its topics are gone
    RETIRED = "retired"  # nothing is left of the old pipeline


_passed: Counter[CrashPoint] = Counter()


def crash_point(point: CrashPoint) -> None:
    """Die here, if that was asked for."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _passed[point] += 1
    if wanted in (f"{point}:{_passed[point]}", str(point) if _passed[point] == 1 else None):
        os.kill(os.getpid(), signal.SIGKILL)
