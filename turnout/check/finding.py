"""What became of a check."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from turnout.errors import TurnoutError
from turnout.kafka.diagnosis.obstacle import Obstacle


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """It works, but not all of it, or not for long."""
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """What became of one check."""

    subject: str
    verdict: Verdict
    text: str
    """What was found."""
    remedy: str = ""
    """What to do about it, where the text does not say."""


@dataclass(frozen=True)
class Warned:
    """What was found, for a person to think about."""

    text: str
    remedy: str = ""


Look = Callable[[], str | Warned]
"""Says what it found, or raises what is wrong."""


def find(subject: str, look: Look) -> Finding:
    try:
        found = look()
    except Obstacle as obstacle:
        return Finding(subject, Verdict.FAILED, obstacle.reason, obstacle.remedy)
    except TurnoutError as error:
        return Finding(subject, Verdict.FAILED, str(error))
    if isinstance(found, Warned):
        return Finding(subject, Verdict.WARNING, found.text, found.remedy)
    return Finding(subject, Verdict.OK, found)


class Steps:
    """Checks that need each other, in order: after one that failed, the rest is not checked."""

    def __init__(self, failed: str | None = None) -> None:
        self.failed = failed
        """The subject of the one that failed."""

    def take(self, subject: str, look: Look) -> Finding:
        if self.failed is not None:
            return self.not_checked(subject)
        finding = find(subject, look)
        if finding.verdict is Verdict.FAILED:
            self.failed = subject
        return finding

    def not_checked(self, subject: str) -> Finding:
        return Finding(subject, Verdict.NOT_CHECKED, f"needs {self.failed}")
