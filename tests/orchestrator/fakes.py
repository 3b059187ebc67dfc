"""Parts for the orchestrator that do as they are told, and a clock that stands still until it is moved."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from turnout.changelog.store import Changelog
from turnout.config import SwitchConfig
from turnout.control.message import ControlFields, ControlMessage
from turnout.errors import KafkaError, TurnoutError
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import Event, History, Orchestrator
from turnout.orchestrator.parts import (
    BuildEvent,
    CatchingUp,
    Died,
    Failed,
    Pipeline,
    Ready,
    Remembered,
    SparkStarted,
    Status,
)
from turnout.schema import JoinType, Topics

DEFAULT = Desired(Topics("left", "right"), JoinType.LEFT)
FIELDS = ControlFields("leftTopic", "rightTopic")


def about(topics: Topics) -> str:
    """Stands in each made-up failure, so that a test can tell whose it is."""
    return f"<{topics.left}, {topics.right}>"


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Fuse:
    """Kills the process between two calls of its parts."""

    calls: int | None = None
    """How many are left; None: it lives on."""

    def burn(self) -> None:
        if self.calls is not None:
            self.calls -= 1
            if self.calls < 0:
                raise Killed


@dataclass
class FakeManifest:
    id: str
    topics: Topics
    shown: Remembered | None = None


@dataclass
class FakeDisk:
    """What outlives the process: a manifest per pipeline."""

    manifests: dict[str, FakeManifest] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)
    """Those that are being deleted, which takes its time: a crash may come first."""
    spoiled: set[str] = field(default_factory=set)
    """Those that cannot be gone on from: another pipeline takes their place once it is shown."""
    full: bool = False
    _made: int = 0

    def new(self, topics: Topics) -> FakeManifest:
        self._made += 1
        manifest = self.manifests[f"pipeline-{self._made}"] = FakeManifest(f"pipeline-{self._made}", topics)
        return manifest

    def shown(self) -> list[FakeManifest]:
        """The last shown first."""
        found = [it for it in self.manifests.values() if it.shown is not None and it.id not in self.doomed]
        return sorted(found, key=lambda it: it.shown.generation if it.shown else 0, reverse=True)

    def resumable(self, topics: Topics) -> FakeManifest | None:
        return next((manifest for manifest in self.shown() if manifest.topics == topics), None)

    def delete_doomed(self) -> None:
        for doomed in self.doomed:
            self.manifests.pop(doomed, None)
        self.doomed.clear()


@dataclass(eq=False)
class FakePipeline:
    manifest: FakeManifest
    disk: FakeDisk
    fuse: Fuse
    resumed: bool = False
    replaces: FakeManifest | None = None
    promoted: tuple[int, JoinType] | None = None
    stopped: bool = False
    retired: bool = False

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def topics(self) -> Topics:
        return self.manifest.topics

    @property
    def runs(self) -> bool:
        return not self.stopped and not self.retired

    @property
    def changelog(self) -> Changelog:
        raise AssertionError("the orchestrator does not look into a changelog")

    def promote(self, generation: int, join: JoinType) -> None:
        self.fuse.burn()
        assert self.runs, "promoted after its end"
        if self.disk.full:
            raise TurnoutError(f"the disk is full, {about(self.topics)}")
        self.promoted = (generation, join)
        self.manifest.shown = Remembered(Desired(self.topics, join), generation)
        if self.replaces is not None:
            self.disk.doomed.add(self.replaces.id)

    def stop(self) -> None:
        self.fuse.burn()
        self.stopped = True

    def retire(self) -> None:
        self.fuse.burn()
        assert not self.retired, "retired twice"
        self.retired = True
        self.disk.doomed.add(self.id)

    def abandon(self) -> None:
        if self.resumed:
            self.stop()
        else:
            self.retire()


@dataclass(eq=False)
class FakeBuild:
    number: int
    topics: Topics
    report: Callable[[BuildEvent], None]
    disk: FakeDisk
    fuse: Fuse
    cancelled: bool = False
    over: bool = False
    trouble: str | None = None
    waits_for_spark: bool = False
    pipeline: FakePipeline | None = None

    def __post_init__(self) -> None:
        earlier = self.disk.resumable(self.topics)
        self.resumed = earlier is not None and earlier.id not in self.disk.spoiled
        self.replaces = None if self.resumed else earlier
        self.manifest = earlier if earlier is not None and self.resumed else self.disk.new(self.topics)

    def cancel(self) -> None:
        self.fuse.burn()
        assert not self.cancelled, "cancelled twice"
        self.cancelled = True
        if self.pipeline is not None:
            self.pipeline.abandon()
        elif not self.over:
            self._clean_up()
        self.over = True

    def spark_started(self) -> None:
        self.report(SparkStarted(self.number))
        self.waits_for_spark = False

    def catch_up(self) -> None:
        self.report(CatchingUp(self.number))

    def succeed(self) -> FakePipeline:
        pipeline = self.pipeline = FakePipeline(self.manifest, self.disk, self.fuse, self.resumed, self.replaces)
        self.over = True
        self.report(Ready(self.number, pipeline))
        return pipeline

    def fail(self, reason: str) -> None:
        self.over = True
        self._clean_up()
        self.report(Failed(self.number, reason))

    def _clean_up(self) -> None:
        if not self.resumed:
            self.disk.doomed.add(self.manifest.id)


@dataclass
class FakeBuilder:
    disk: FakeDisk = field(default_factory=FakeDisk)
    fuse: Fuse = field(default_factory=Fuse)
    topics: set[str] = field(default_factory=lambda: {"left", "right", "left_b", "right_b"})
    reachable: bool = True
    builds: list[FakeBuild] = field(default_factory=list)
    swept: list[Collection[Topics]] = field(default_factory=list)
    closed: bool = False
    asked: list[str] = field(default_factory=list)

    def missing(self, topics: Sequence[str]) -> list[str]:
        self.fuse.burn()
        self.asked += topics
        if not self.reachable:
            raise KafkaError("the broker does not answer")
        return [topic for topic in topics if topic not in self.topics]

    def remembered(self) -> Remembered | None:
        self.fuse.burn()
        return next((manifest.shown for manifest in self.disk.shown()), None)

    def sweep(self, keep: Collection[Topics]) -> None:
        self.fuse.burn()
        self.swept.append(keep)
        kept = [self.disk.resumable(topics) for topics in keep]
        self.disk.doomed |= {id_ for id_, manifest in self.disk.manifests.items() if manifest not in kept}

    def close(self, seconds: float) -> None:  # noqa: ARG002 - nothing here takes time
        self.closed = True

    def build(self, number: int, topics: Topics, report: Callable[[BuildEvent], None]) -> FakeBuild:
        self.fuse.burn()
        assert all(build.over for build in self.builds), "two builds at a time"
        self.builds.append(FakeBuild(number, topics, report, self.disk, self.fuse))
        return self.builds[-1]


@dataclass
class FakePublic:
    fuse: Fuse = field(default_factory=Fuse)
    outcomes: dict[str, str | None] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    shown: list[tuple[int, str, JoinType]] = field(default_factory=list)
    broken: bool = False

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        self.fuse.burn()
        self.outcomes[message.id] = outcome

    def status(self, status: Status) -> None:
        self.fuse.burn()
        self.statuses.append(status)

    def show(self, generation: int, pipeline: Pipeline, desired: Desired) -> None:
        self.fuse.burn()
        assert isinstance(pipeline, FakePipeline)
        assert pipeline.runs, "shown after its end"
        assert pipeline.topics == desired.topics, "shown as what it is not"
        if self.broken and pipeline.replaces is None:  # else there would be nothing left to go on with
            raise TurnoutError(f"cannot be shown, {about(pipeline.topics)}")
        self.shown.append((generation, pipeline.id, desired.join))


class World:
    """An orchestrator among fakes, driven step by step."""

    def __init__(
        self,
        builder: FakeBuilder | None = None,
        public: FakePublic | None = None,
        now: float = 1000.0,
        **settings: float,
    ) -> None:
        self.now = now
        self.builder, self.public = builder or FakeBuilder(), public or FakePublic()
        self.orchestrator = Orchestrator(
            DEFAULT,
            FIELDS,
            SwitchConfig(**settings),  # type: ignore[arg-type]
            self.builder,
            self.public,
            lambda: self.now,
            lambda: int(self.now * 1000),
        )
        self.inbox: list[Event] = []
        self.late: list[Event] = []
        """What comes while the next step is under way."""
        self._offset = 0
        self.orchestrator.post = self.inbox.append  # type: ignore[method-assign,assignment]

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
        events, self.inbox[:], self.late[:] = list(self.inbox), self.late, []
        self.orchestrator.step(events)

    def die(self, pipeline: FakePipeline, reason: str) -> None:
        self.orchestrator.step([Died(pipeline.id, reason)])

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.orchestrator.step([])

    @property
    def status(self) -> Status:
        return self.public.statuses[-1]
