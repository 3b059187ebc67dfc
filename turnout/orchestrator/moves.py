"""What has come of control messages and of builds since the start, counted."""

from collections import Counter
from enum import StrEnum

from turnout.measures import Histogram

# A view takes a fraction of a second, a pipeline about one, one with a backlog as long as that takes.
SWITCH_SECONDS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Outcome(StrEnum):
    """Of a control message."""

    APPLIED = "applied"
    NO_CHANGE = "no change"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    """It was taken, but what it asked for could not be built."""


class Build(StrEnum):
    """What has become of one."""

    READY = "ready"
    FAILED = "failed"
    GIVEN_UP = "given up"


class Moves:
    """Written on the orchestrator's thread alone, read from any.

    What came before the start is not counted: every start reads it again, and nothing happens by it.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.builds: Counter[Build] = Counter()
        self.switch_seconds = Histogram(SWITCH_SECONDS)
        """From a control message to the swap that it asked for."""
        self._asked: float | None = None

    def asked(self, now: float) -> None:
        """A control message is taken, and what it asks for is to be done."""
        self._asked = now

    def answered(self, outcome: Outcome, now: float) -> None:
        """What becomes of the message that was taken last, unless it came before the start."""
        asked, self._asked = self._asked, None
        if asked is not None:
            self.outcomes[outcome] += 1
            if outcome is Outcome.APPLIED:
                self.switch_seconds.note(now - asked)
