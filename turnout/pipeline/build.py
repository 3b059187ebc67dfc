"""One attempt to build a pipeline, on a thread of its own."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from turnout.changelog.progress import Position
from turnout.crash_points import CrashPoint, crash_point
from turnout.errors import BuildFailed, TurnoutError
from turnout.kafka.client import Offsets
from turnout.orchestrator.parts import BuildEvent, CatchingUp, Died, Failed, Ready, SparkStarted, Trouble
from turnout.pipeline.manifest import Manifest
from turnout.pipeline.plan import Plan
from turnout.pipeline.running import RunningPipeline
from turnout.schema import Topics

if TYPE_CHECKING:
    from turnout.pipeline.builder import PipelineBuilder

JOIN_SECONDS = 0.1

log = logging.getLogger(__name__)


class PipelineBuild:
    def __init__(
        self,
        number: int,
        topics: Topics,
        report: Callable[[BuildEvent], None],
        builder: "PipelineBuilder",
        previous: "PipelineBuild | None",
    ) -> None:
        self._number, self._topics, self._report, self._builder = number, topics, report, builder
        self._previous = previous
        self._cancelled = threading.Event()
        self._troubles: dict[str, str] = {}
        self._broken: Exception | None = None  # a part that failed before the build was ready
        self._ready = False
        self._waits_for_spark = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"build {number}", daemon=True)
        self._plan: Plan | None = None
        self._running: RunningPipeline | None = None

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled.set()
            if self._ready and self._running is not None:
                self._running.abandon()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    @property
    def trouble(self) -> str | None:
        """What holds it up, if anything is known."""
        return next(iter(self._troubles.values()), None)

    @property
    def waits_for_spark(self) -> bool:
        return self._waits_for_spark

    def _run(self) -> None:
        try:
            running = self._build()
        except TurnoutError as error:
            self._undo(str(error))
        except Exception as error:  # a defect, but the old generation must go on and say so
            log.exception("Building on %s failed in an unexpected way", self._topics)
            self._undo(f"unexpected: {error}")
        else:
            self._hand_over(running)

    def _hand_over(self, running: RunningPipeline) -> None:
        with self._lock:  # so that nobody hears of its death before its birth
            if not self._given_up():
                self._ready = True
                self._report(Ready(self._number, running))
                if self.trouble is not None:
                    self._report(Trouble(running.id, self.trouble))
                return
        self._undo(str(self._broken or "given up"))

    def _build(self) -> RunningPipeline:
        self._wait_for_earlier_ones()
        self._wait_for_spark()
        self._builder.wait_for_slots(self._topics, self._given_up)
        self._check()
        plan = self._plan = self._builder.planner.plan(self._topics)
        crash_point(CrashPoint.MANIFEST_WRITTEN)
        running = self._running = self._builder.prepare(plan, self._lost, self._note_trouble)
        crash_point(CrashPoint.TOPICS_CREATED)
        running.changelog.start()
        running.start_watching()
        try:
            self._get_going(plan, running)
        except BuildFailed:
            self._builder.planner.failed(plan)
            raise
        self._builder.planner.succeeded(plan)
        return running

    def _wait_for_earlier_ones(self) -> None:
        """A query that still runs would be in the way of one on the same checkpoint."""
        while self._previous is not None and not self._given_up():
            self._previous.join(JOIN_SECONDS)
            if not self._previous.is_alive:
                self._previous = None
        self._builder.cleanup.wait_until_stopped(self._given_up)
        self._check()

    def _wait_for_spark(self) -> None:
        self._waits_for_spark = True
        try:
            self._builder.session()
            self._report(SparkStarted(self._number))
        finally:
            self._waits_for_spark = False
        self._check()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _get_going(self, plan: Plan, running: RunningPipeline) -> None:
        """Work on the backlog, then run; returns when everything that has come until now is in the changelog, and
        has been read from there."""
        manifest, positions = plan.manifest, plan.positions
        backlog = _count(positions, self._builder.ends(manifest))
        if backlog:
            self._report(CatchingUp(self._number))
            crash_point(CrashPoint.CATCHING_UP)
        if self._builder.is_far_behind(backlog, manifest):
            running.query.catch_up(self._given_up)
            self._check()
            positions = {**positions, **self._builder.committed(manifest)}
        from_before = self._mark(running)
        running.query.go_live()
        running.query.watch(self._lost)
        last = self._last_messages(manifest, positions)  # while Spark gets its tasks going
        running.query.wait_until_it_runs(self._given_up)
        self._check()
        crash_point(CrashPoint.RUNNING)
        running.changelog.progress.wait_until_read(manifest.changelog_topic, from_before, self._given_up)
        # One that begins at the latest is complete while it is still empty. What has come by now spares viewers that.
        last = last or self._last_messages(manifest, positions)
        running.changelog.progress.wait_until_worked(last, self._given_up)
        if len(from_before) > 1:  # the last message's record may have come before those of other partitions
            ends = self._builder.bus_ends(manifest)[manifest.changelog_topic]
            running.changelog.progress.wait_until_read(manifest.changelog_topic, ends, self._given_up)
        self._check()
        crash_point(CrashPoint.READY)

    def _last_messages(self, manifest: Manifest, positions: Mapping[str, Offsets]) -> Mapping[Position, int]:
        if not self._builder.tells_how_far(manifest):
            return {}
        return self._builder.last_messages(positions, self._builder.ends(manifest))

    def _mark(self, running: RunningPipeline) -> Offsets:
        """Tell what is on the bus from before apart from what the live query writes; returns where the changelog of
        before ends."""
        ends = self._builder.bus_ends(running.manifest)
        for topic, its_ends in ends.items():
            running.changelog.progress.mark(topic, its_ends)
        return ends[running.manifest.changelog_topic]

    def _given_up(self) -> bool:
        return self._cancelled.is_set() or self._broken is not None

    def _check(self) -> None:
        if self._broken is not None:
            raise BuildFailed(str(self._broken))
        if self._cancelled.is_set():
            raise BuildFailed("given up")

    def _lost(self, error: Exception) -> None:
        """Before it is ready it is this build that fails; from then on it is the pipeline that died."""
        with self._lock:
            ready = self._ready
            if not ready:
                self._broken = self._broken or error
        if ready and self._running is not None:
            self._report(Died(self._running.id, str(error)))

    def _note_trouble(self, source: str, reason: str | None) -> None:
        if reason is None:
            self._troubles.pop(source, None)
        else:
            self._troubles[source] = reason
        with self._lock:
            ready = self._ready
        if ready and self._running is not None:
            self._report(Trouble(self._running.id, self.trouble))

    def _undo(self, reason: str) -> None:
        """Leave nothing behind; a pipeline of an earlier run keeps what it needs for the next attempt."""
        if self._running is not None:
            self._running.abandon()
        elif self._plan is not None and not self._plan.resumed:
            self._builder.delete(self._plan.manifest, f"Cleaned up what was built on {self._topics}")
        if not self._cancelled.is_set():
            self._report(Failed(self._number, reason))


def _count(positions: Mapping[str, Offsets], ends: Mapping[str, Offsets]) -> int:
    """Offsets from these positions to these ends."""
    return sum(
        max(0, end - positions[topic].get(partition, 0))
        for topic, its_ends in ends.items()
        for partition, end in its_ends.items()
    )
