"""Anything may happen to the orchestrator, at any time and in any order; what people see stays right.

Hypothesis makes up what happens. The process may be killed between any two calls that it makes to its parts; all that
is left then is the control topic and the disk.
"""

import json
from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.orchestrator.fakes import FakeBuild, FakeBuilder, FakeDisk, FakePipeline, FakePublic, Killed, World, about
from tests.orchestrator.model import Model, plain
from turnout.control.message import ControlMessage
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import History, Stop
from turnout.orchestrator.parts import CONTROL, Died, Failed, Pipeline, Ready, Status, Trouble
from turnout.orchestrator.states import State

TOPICS = ["left", "left_b", "right", "right_b", "either"]
LINGER_SECONDS, READY_SECONDS = 8, 60

blank = st.sampled_from([None, "", "  "])
left = st.sampled_from(["left", "left_b", "left_b", " left ", "either", "gone", "no/slash"])
right = st.sampled_from(["right", "right_b", "right_b", "either", "gone"])
join = st.sampled_from(["left", "inner", " FULL ", "natural", "anti", "cross"])
fields = st.fixed_dictionaries(
    {}, optional={"leftTopic": left | blank, "rightTopic": right | blank, "joinType": join | blank, "else": blank}
)
rubbish = st.sampled_from([b"", b"rubbish", b"[1]", b"null", b"\xff", b'{"leftTopic": 5}', b'{"joinType": ["left"]}'])
pairs = st.tuples(st.sampled_from(["left", "left_b"]), st.sampled_from(["right", "right_b"]))
states = pairs.map(lambda pair: {"leftTopic": pair[0], "rightTopic": pair[1]})
messages = (states | states | fields).map(lambda it: json.dumps(it).encode()) | rubbish
reasons = st.sampled_from([None, "it hangs", "it is slow"])
go = st.sampled_from([True, True, False])  # does the orchestrator wake up, or does more come first?
calls = st.integers(0, 14)
pick = st.integers(0, 10**6)


class ModelledPublic(FakePublic):
    """Holds each call against the model."""

    def __init__(self, model: Model, builder: FakeBuilder, clock: Callable[[], float], last_generation: int) -> None:
        super().__init__(builder.fuse)
        self.model, self._builder, self._clock = model, builder, clock
        self.last_generation = last_generation
        self.pipeline: FakePipeline | None = None
        self.left_at: dict[FakePipeline, float] = {}
        self.slipped = False  # has something been promoted that then could not be shown?

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        super().outcome(message, outcome)
        if outcome is not None:
            self.model.said(message.id, outcome)
        elif not self.model.knows(message.id):
            self.model.take(message, self._builder.topics if self._builder.reachable else [])

    def status(self, status: Status) -> None:
        super().status(status)
        if status.state in (State.LIVE, State.DEGRADED):
            self.model.heard(status.message)
        assert plain(status.desired) == (self.model.shown or self.model.desired)
        assert status.generation == (self.shown[-1][0] if self.shown else 0)
        if status.state is State.LIVE:
            assert self.pipeline is not None, "live without a pipeline"
            assert self.pipeline.runs, "live after its end"

    def show(self, generation: int, pipeline: Pipeline, desired: Desired) -> None:
        self.slipped = True
        super().show(generation, pipeline, desired)
        self.slipped = False
        assert generation > self.last_generation
        assert isinstance(pipeline, FakePipeline)
        self.model.show(plain(desired))
        if self.pipeline is not None:
            self.left_at[self.pipeline] = self._clock()
        self.last_generation, self.pipeline = generation, pipeline


class Run:
    """One life of the process."""

    def __init__(self, disk: FakeDisk, builder: FakeBuilder, now: float, most: int, last_generation: int) -> None:
        self.disk, self.builder, self.fuse, self.most = disk, builder, builder.fuse, most
        shown = disk.shown()
        self.found = set(disk.manifests)
        self.model = Model(earlier=plain(shown[0].shown.desired) if shown and shown[0].shown else None)
        self.public = ModelledPublic(self.model, builder, lambda: self.world.now, last_generation)
        self.world = World(
            builder,
            self.public,
            now,
            linger_seconds=LINGER_SECONDS,
            max_linger_generations=most,
            ready_timeout_seconds=READY_SECONDS,
        )
        self.pipelines: list[FakePipeline] = []
        self.troubles: dict[FakePipeline | None, str | None] = {}
        self.dead: set[FakePipeline] = set()
        self.began: dict[FakeBuild, float] = {}
        self.failed: set[tuple[str | None, str | None]] = set()

    @property
    def build(self) -> FakeBuild | None:
        """The build under way; one that is over is so until that is known."""
        return next(
            (it for it in self.builder.builds if not it.over or (it in self.on_the_way and not it.cancelled)), None
        )

    @property
    def on_the_way(self) -> list[FakeBuild]:
        """Builds that are over, which the orchestrator does not know yet."""
        numbers = [event.build for event in self.world.inbox if isinstance(event, Ready | Failed)]
        return [build for build in self.builder.builds if build.number in numbers]

    @property
    def is_settled(self) -> bool:
        shown = self.public.pipeline
        return shown is not None and shown.runs and self.model.shown == self.model.desired

    def still_heard(self) -> list[FakePipeline]:
        """All pipelines that may report something: one that another has gone on from is long over."""
        newest = {pipeline.id: pipeline for pipeline in self.pipelines}
        build = self.build
        return [pipeline for pipeline in newest.values() if build is None or build.manifest is not pipeline.manifest]

    def step(self) -> None:
        self.world.deliver()
        self.check()

    def check(self) -> None:
        for build in self.builder.builds:
            build.trouble = about(build.topics)
            began = self.began.setdefault(build, self.world.now)
            if build.over and (not build.cancelled or self.world.now >= began + READY_SECONDS):
                self.failed.add((build.topics.left, build.topics.right))
        if self.world.status.state is not State.STOPPED:
            self.check_messages()
            self.check_progress()
            self.check_pipelines()
            self.check_disk()

    def check_messages(self) -> None:
        open_ = {id_ for id_, outcome in self.public.outcomes.items() if outcome is None}
        assert open_ == ({self.model.pending} if self.model.pending else set())
        assert not self.model.due
        assert self.world.orchestrator.previous is None or plain(self.world.orchestrator.previous) != self.model.desired

    def check_progress(self) -> None:
        """It rests where it should be, or is on its way there."""
        build, state, shown = self.build, self.world.status.state, self.public.pipeline
        if self.is_settled:
            assert build is None, "there is nothing to build"
            assert self.model.pending is None
            trouble = self.troubles.get(None) or self.troubles.get(shown)
            assert state is (State.DEGRADED if trouble else State.LIVE)
        elif build is None:
            assert state is State.DEGRADED
            assert self.world.orchestrator._patience() is not None, "it would sleep for ever"
        else:
            assert state in (State.BUILDING, State.CATCHING_UP)
            wanted = [self.model.desired]
            if self.model.shown is None and self.model.earlier is not None:
                # What people have seen comes first, unless it cannot be had.
                wanted = [self.model.earlier] + wanted * (self.model.earlier.topics in self.failed)
            assert (build.topics.left, build.topics.right) in [wish.topics for wish in wanted]

    def check_pipelines(self) -> None:
        """Each one is shown, lingers, or has come to its end."""
        shown = self.public.pipeline
        new = [build.pipeline for build in self.on_the_way]
        lingering = [it for it in self.pipelines if it.runs and it is not shown and it not in new]
        assert len(lingering) <= self.most
        assert all(self.world.now < self.public.left_at[pipeline] + LINGER_SECONDS for pipeline in lingering)
        assert not self.dead & set(lingering)
        if shown is not None:
            assert shown.stopped == (shown in self.dead)
            assert not shown.retired

    def check_disk(self) -> None:
        """Nothing half-built stays, and what was shown last does."""
        left = {id_: manifest for id_, manifest in self.disk.manifests.items() if id_ not in self.disk.doomed}
        in_use = {pipeline.id for pipeline in self.pipelines if pipeline.runs}
        if self.build is not None and not self.build.over:
            in_use.add(self.build.manifest.id)
        if self.public.pipeline is not None:
            in_use.add(self.public.pipeline.id)
        assert in_use <= set(left)
        assert all(id_ in in_use or (id_ in self.found and it.shown is not None) for id_, it in left.items())
        shown = self.model.shown or self.model.earlier
        if shown is not None and not self.public.slipped:
            last = self.disk.shown()[0].shown
            assert last is not None
            assert plain(last.desired) == shown


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk, self.topic = FakeDisk(), list[ControlMessage]()
        self.builder = FakeBuilder(topics=set(TOPICS))
        self.now, self.most, self.last_generation = 1000.0, 2, 0
        self.run_: Run | None = None
        self.is_sound = True  # no step has failed
        self.faults: dict[Callable[[], None], int] = {}

    @property
    def run(self) -> Run:
        assert self.run_ is not None
        return self.run_

    # -- the process

    @initialize(most=st.sampled_from([2, 2, 1, 0]))
    def first_start(self, most: int) -> None:
        self.most = most
        self.start()

    def start(self, trouble: str | None = None, calls: int | None = None) -> None:
        """A new process, among what the one before has left."""
        if self.run_ is not None:
            self.now, self.last_generation = self.run.world.now, self.run.public.last_generation
        before = self.builder
        self.builder = FakeBuilder(self.disk, topics=before.topics, reachable=before.reachable)
        self.run_ = run = Run(self.disk, self.builder, self.now, self.most, self.last_generation)
        run.fuse.calls = calls
        if trouble is not None:
            run.troubles[None] = trouble
            run.world.inbox.append(Trouble(CONTROL, trouble))
            self.deliver_before_history()
        if run is self.run_:
            run.model.start(self.topic, self.builder.topics if self.builder.reachable else None)
            run.world.inbox.append(History(list(self.topic)))
            self.step()

    def deliver_before_history(self) -> None:
        try:
            self.run.world.deliver()
        except Killed:
            self.restart(True)

    def step(self, go: bool = True) -> None:
        if not go:
            return
        self.is_sound = False
        try:
            self.run.step()
        except Killed:
            self.restart(True)
        self.is_sound = True
        self.faults = {mend: steps - 1 for mend, steps in self.faults.items()}
        for mend in [mend for mend, steps in self.faults.items() if steps <= 0]:
            del self.faults[mend]
            mend()

    def restart(self, deleted: bool, trouble: str | None = None, calls: int | None = None) -> None:
        if deleted:
            self.disk.delete_doomed()
        self.disk.doomed.clear()
        self.start(trouble, calls)

    @rule(how=st.sampled_from(["crash", "kill", "kill", "stop"]), deleted=st.booleans(), trouble=reasons, calls=calls)
    def end(self, how: str, deleted: bool, trouble: str | None, calls: int) -> None:
        match how:
            case "crash":
                self.restart(deleted, trouble, calls if calls < 10 else None)
            case "kill":
                self.run.fuse.calls = calls
            case "stop":
                self.stop_and_start(deleted)

    def stop_and_start(self, deleted: bool) -> None:
        run = self.run
        run.world.inbox.append(Stop())
        self.step()
        if run is self.run:
            assert not any(pipeline.runs for pipeline in run.pipelines)
            assert run.public.pipeline is None or not run.public.pipeline.retired
            assert run.build is None
            self.restart(deleted)

    @rule(seconds=st.sampled_from([0.5, 1, 3, 8, 61]))
    def pass_time(self, seconds: float) -> None:
        self.run.world.now += seconds
        self.step()

    # -- control messages

    def publish(self, value: bytes) -> None:
        self.topic.append(ControlMessage(0, len(self.topic), int(self.run.world.now * 1000), value))
        self.run.world.inbox.append(self.topic[-1])

    @rule(values=st.lists(messages, min_size=1, max_size=3), go=go)
    def switch(self, values: list[bytes], go: bool) -> None:
        for value in values:
            self.publish(value)
        self.step(go)

    @rule(go=go)
    def undo(self, go: bool) -> None:
        previous = self.run.world.orchestrator.previous
        if previous is not None:
            names = ("leftTopic", "rightTopic", "joinType")
            self.publish(json.dumps(dict(zip(names, plain(previous), strict=True))).encode())
            self.step(go)

    # -- the build under way

    def has_build(self) -> bool:
        return self.run_ is not None and self.run.build is not None

    @precondition(has_build)
    @rule(go=go, late=st.booleans())
    def build_succeeds(self, go: bool, late: bool) -> None:
        if (build := self.run.build) is not None and not build.over:
            self.run.pipelines.append(build.succeed())
            self.step_before(late)
        self.step(go)

    @precondition(has_build)
    @rule(go=go, late=st.booleans(), catches_up=st.booleans())
    def build_reports(self, go: bool, late: bool, catches_up: bool) -> None:
        if (build := self.run.build) is not None and not build.over:
            if catches_up:
                build.catch_up()
            else:
                build.fail(f"it broke, {about(build.topics)}")
                self.step_before(late)
        self.step(go)

    def step_before(self, late: bool) -> None:
        """What has just been reported may come while the orchestrator is busy with all that came before it."""
        run = self.run
        if late:
            run.world.late.append(run.world.inbox.pop())
            self.step()

    # -- pipelines

    def has_pipeline(self) -> bool:
        return self.run_ is not None and bool(self.run.still_heard())

    def one_of_them(self, pick: int) -> FakePipeline:
        """Most often one that runs; what others report was on its way when they ended."""
        heard = self.run.still_heard()
        running = [pipeline for pipeline in heard if pipeline.runs]
        candidates = running if running and pick % 4 else heard
        return candidates[pick // 4 % len(candidates)]

    @precondition(has_pipeline)
    @rule(pick=pick, go=go)
    def pipeline_dies(self, pick: int, go: bool) -> None:
        pipeline = self.one_of_them(pick)
        self.run.dead.add(pipeline)
        self.run.world.inbox.append(Died(pipeline.id, "executor lost"))
        self.step(go)

    @precondition(has_pipeline)
    @rule(pick=pick, reason=reasons, go=go)
    def pipeline_is_in_trouble(self, pick: int, reason: str | None, go: bool) -> None:
        pipeline = self.one_of_them(pick)
        self.run.troubles[pipeline] = reason
        self.run.world.inbox.append(Trouble(pipeline.id, reason))
        self.step(go)

    @rule(reason=reasons, go=go)
    def control_is_in_trouble(self, reason: str | None, go: bool) -> None:
        self.run.troubles[None] = reason
        self.run.world.inbox += [Trouble(CONTROL, reason), Trouble("nobody", reason)]
        self.step(go)

    # -- the world around

    @rule(what=st.sampled_from(["topic", "broker", "disk", "tables", "checkpoint"]), steps=st.integers(1, 4), pick=pick)
    def something_breaks(self, what: str, steps: int, pick: int) -> None:
        """For some steps."""
        topics, builder, disk, public = self.builder.topics, self.builder, self.disk, self.run.public
        topic = TOPICS[pick % len(TOPICS)]
        match what:
            case "topic":
                topics.discard(topic)
                self.faults[lambda: topics.add(topic)] = steps
            case "broker":
                builder.reachable = False
                self.faults[lambda: setattr(self.builder, "reachable", True)] = steps
            case "disk":
                disk.full = True
                self.faults[lambda: setattr(disk, "full", False)] = steps
            case "tables":
                public.broken = True
                self.faults[lambda: setattr(public, "broken", False)] = steps
            case "checkpoint" if disk.manifests:
                disk.spoiled.add(list(disk.manifests)[pick % len(disk.manifests)])

    # -- the end

    def settle(self) -> None:
        """Nothing fails any more: the newest desired state has to win."""
        run = self.run
        self.builder.topics.update(TOPICS)
        self.builder.reachable = True
        self.disk.full = run.public.broken = False
        run.fuse.calls = None
        run.world.inbox += [Trouble(source, None) for source in (CONTROL, *(it.id for it in run.pipelines))]
        run.troubles.clear()
        for _ in range(100):
            if (build := run.build) is not None and not build.over:
                run.pipelines.append(build.succeed())
            run.step()
            patience = run.world.orchestrator._patience()
            if patience is None:
                break
            run.world.now += patience if run.build is None else 0
        assert run.is_settled
        assert run.world.status.state is State.LIVE
        assert [pipeline for pipeline in run.pipelines if pipeline.runs] == [run.public.pipeline]
        kinds = {str(outcome).partition(": ")[0] for outcome in run.public.outcomes.values()}
        assert kinds <= {"applied", "no change", "superseded", "rejected"}

    def teardown(self) -> None:
        if self.run_ is not None and self.is_sound:
            self.settle()
            self.restart(True)
            self.settle()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=300, stateful_step_count=50, derandomize=True)
