"""What the orchestrator works with: each part is handed in, so that a test can hand in others."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnout.changelog.store import Changelog
from turnout.control.message import ControlMessage
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics


class Pipeline(Protocol):
    """A pipeline that runs and has caught up."""

    @property
    def id(self) -> str: ...

    @property
    def topics(self) -> Topics: ...

    @property
    def changelog(self) -> Changelog: ...

    def promote(self, generation: int, join: JoinType) -> None:
        """It is about to be shown, as this: from here on a restart resumes it."""

    def stop(self) -> None:
        """End it, soon, and keep what it needs to go on later."""

    def retire(self) -> None:
        """End it, soon, and delete all that it made."""

    def abandon(self) -> None:
        """It will not be shown after all: end it, soon, and delete what it made, but for what an earlier run left."""


class Build(Protocol):
    """A pipeline that is being built."""

    @property
    def trouble(self) -> str | None:
        """What holds it up, if anything is known."""

    @property
    def waits_for_spark(self) -> bool:
        """Spark is starting, which takes its time and is nothing that another attempt would make faster."""

    def cancel(self) -> None:
        """It ends soon, and deletes all that it made, also if it has just become ready; the next build begins after
        that."""


@dataclass(frozen=True)
class SparkStarted:
    """What the build has waited for is there: from here on, time counts."""

    build: int


@dataclass(frozen=True)
class CatchingUp:
    build: int


@dataclass(frozen=True)
class Ready:
    build: int
    pipeline: Pipeline


@dataclass(frozen=True)
class Failed:
    """It did not become ready, and has cleaned up after itself."""

    build: int
    reason: str


@dataclass(frozen=True)
class Died:
    """A pipeline that had been ready runs no longer."""

    pipeline: str
    reason: str


@dataclass(frozen=True)
class Trouble:
    """A part cannot do its work for now, although it goes on trying; no reason: it can again."""

    source: str
    """The id of a pipeline, or CONTROL."""
    reason: str | None


CONTROL = "control"
"""Where control messages come from."""

BuildEvent = SparkStarted | CatchingUp | Ready | Failed | Died | Trouble


@dataclass(frozen=True)
class Remembered:
    """What an earlier run showed last."""

    desired: Desired
    generation: int


class Builder(Protocol):
    def missing(self, topics: Sequence[str]) -> list[str]:
        """Those of the topics that do not exist."""

    def remembered(self) -> Remembered | None:
        """What an earlier run showed last, if it can be shown again."""

    def sweep(self, keep: Collection[Topics]) -> None:
        """Delete what an earlier run left behind, but for pipelines on these topics that can go on."""

    def build(self, number: int, topics: Topics, report: Callable[[BuildEvent], None]) -> Build:
        """Begin to build, or to resume what an earlier run left; what becomes of it is reported."""

    def close(self, seconds: float) -> None:
        """Wait until all that was stopped has stopped, if that takes no longer."""


@dataclass(frozen=True)
class Status:
    """The one row of the status table."""

    desired: Desired
    last_applied_ms: int | None
    state: State
    generation: int
    message: str


class Public(Protocol):
    """The public tables, as far as the orchestrator writes them."""

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        """What has become of a control message; None: it is under way."""

    def status(self, status: Status) -> None: ...

    def show(self, generation: int, pipeline: Pipeline, desired: Desired) -> None:
        """Swap: from now on the public tables show this pipeline by this join."""
