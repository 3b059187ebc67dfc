"""Parts for the orchestrator that do as they are told, and a clock that stands still until it is moved."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from turnout.changelog.store import Changelog
from turnout.config import SwitchConfig
from turnout.control.message import ControlFields, ControlMessage
from turnout.errors import TurnoutError
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import Event, History, Orchestrator
from turnout.orchestrator.parts import BuildEvent, CatchingUp, Died, Failed, Pipeline, Ready, Remembered, Status
from turnout.schema import JoinType, Topics

DEFAULT = Desired(Topics("left", "right"), JoinType.LEFT)
FIELDS = ControlFields("leftTopic", "rightTopic")


@dataclass
class FakePipeline:
    id: str
    topics: Topics
    resumed: bool = False
    promoted: tuple[int, JoinType] | None = None
    stopped: bool = False
    retired: bool = False
    failure: str | None = None
    """What keeps it from being promoted."""

    @property
    def changelog(self) -> Changelog:
        raise AssertionError("the orchestrator does not look into a changelog")

    def promote(self, generation: int, join: JoinType) -> None:
        assert not self.stopped, "promoted when it was stopped"
        assert not self.retired, "promoted when it was retired"
        if self.failure is not None:
            raise TurnoutError(self.failure)
        self.promoted = (generation, join)

    def stop(self) -> None:
        self.stopped = True

    def retire(self) -> None:
        assert not self.retired, "retired twice"
        self.retired = True

    def abandon(self) -> None:
        if self.resumed:
            self.stop()
        else:
            self.retire()


@dataclass
class FakeBuild:
    number: int
    topics: Topics
    report: Callable[[BuildEvent], None]
    resumed: bool = False
    cancelled: bool = False
    over: bool = False
    trouble: str | None = None
    pipeline: FakePipeline | None = None

    def cancel(self) -> None:
        self.cancelled = self.over = True
        if self.pipeline is not None:
            self.pipeline.abandon()

    def catch_up(self) -> None:
        self.report(CatchingUp(self.number))

    def succeed(self) -> FakePipeline:
        pipeline = self.pipeline = FakePipeline(f"pipeline-{self.number}", self.topics, self.resumed)
        self.over = True
        self.report(Ready(self.number, pipeline))
        return pipeline

    def fail(self, reason: str) -> None:
        self.over = True
        self.report(Failed(self.number, reason))


@dataclass
class FakeBuilder:
    topics: set[str] = field(default_factory=lambda: {"left", "right", "left_b", "right_b"})
    builds: list[FakeBuild] = field(default_factory=list)
    swept: list[Collection[Topics]] = field(default_factory=list)
    shown_before: Remembered | None = None
    closed: bool = False
    asked: list[str] = field(default_factory=list)

    def missing(self, topics: Sequence[str]) -> list[str]:
        self.asked += topics
        return [topic for topic in topics if topic not in self.topics]

    def remembered(self) -> Remembered | None:
        return self.shown_before

    def sweep(self, keep: Collection[Topics]) -> None:
        self.swept.append(keep)

    def close(self, seconds: float) -> None:  # noqa: ARG002 - nothing here takes time
        self.closed = True

    def build(self, number: int, topics: Topics, report: Callable[[BuildEvent], None]) -> FakeBuild:
        assert all(build.over for build in self.builds), "two builds at a time"
        self.builds.append(FakeBuild(number, topics, report))
        return self.builds[-1]


@dataclass
class FakePublic:
    outcomes: dict[str, str | None] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    shown: list[tuple[int, str, JoinType]] = field(default_factory=list)

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        self.outcomes[message.id] = outcome

    def status(self, status: Status) -> None:
        self.statuses.append(status)

    def show(self, generation: int, pipeline: Pipeline, desired: Desired) -> None:
        self.shown.append((generation, pipeline.id, desired.join))


class World:
    """An orchestrator among fakes, driven step by step."""

    def __init__(self, **settings: float) -> None:
        self.now = 1000.0
        self.builder, self.public = FakeBuilder(), FakePublic()
        self.orchestrator = Orchestrator(
            DEFAULT,
            FIELDS,
            SwitchConfig(**settings),  # type: ignore[arg-type]
            self.builder,
            self.public,
            lambda: self.now,
            lambda: int(self.now * 1000),
        )
        self._posted: list[Event] = []
        self._offset = 0
        self.orchestrator.post = self._posted.append  # type: ignore[method-assign,assignment]

    def message(self, value: str) -> ControlMessage:
        self._offset += 1
        return ControlMessage(0, self._offset, int(self.now * 1000), value.encode())

    def start(self, *history: str) -> None:
        self.orchestrator.step([History([self.message(value) for value in history])])

    def send(self, *values: str) -> list[str]:
        """Control messages that come all at once; their ids."""
        messages = [self.message(value) for value in values]
        self.orchestrator.step(messages)
        return [message.id for message in messages]

    @property
    def pipeline(self) -> FakePipeline:
        """The pipeline that is shown."""
        assert self.orchestrator.live is not None
        assert isinstance(self.orchestrator.live.pipeline, FakePipeline)
        return self.orchestrator.live.pipeline

    @property
    def build(self) -> FakeBuild:
        """The newest build."""
        return self.builder.builds[-1]

    def succeed(self) -> FakePipeline:
        pipeline = self.build.succeed()
        self.deliver()
        return pipeline

    def fail(self, reason: str) -> None:
        self.build.fail(reason)
        self.deliver()

    def deliver(self) -> None:
        """What the parts have reported, and the next step."""
        events, self._posted[:] = list(self._posted), []
        self.orchestrator.step(events)

    def die(self, pipeline: FakePipeline, reason: str) -> None:
        self.orchestrator.step([Died(pipeline.id, reason)])

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.orchestrator.step([])

    @property
    def status(self) -> Status:
        return self.public.statuses[-1]
