"""The desired-state loop: control messages in, one complete generation under the public names out.

Everything here happens on one thread, the only writer of the lifecycle. Parts that take their time (a build, the end
of a pipeline) do it elsewhere and report back through the inbox.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from turnout.config import SwitchConfig
from turnout.control.message import ControlFields, ControlMessage
from turnout.crash_points import CrashPoint, crash_point
from turnout.errors import ControlRejected, TurnoutError
from turnout.orchestrator.clerk import Clerk
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.generation import Generation, Lingering
from turnout.orchestrator.moves import Build as BuildMove
from turnout.orchestrator.moves import Moves, Outcome
from turnout.orchestrator.parts import (
    CONTROL,
    Build,
    Builder,
    BuildEvent,
    CatchingUp,
    Died,
    Failed,
    Pipeline,
    Public,
    Ready,
    Remembered,
    SparkStarted,
    Status,
    Trouble,
)
from turnout.orchestrator.past import Past
from turnout.orchestrator.preview import Preview, Work
from turnout.orchestrator.states import Lifecycle, State
from turnout.schema import Topics

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0
STOP_SECONDS = 1.5  # for pipelines to end; what takes longer is resumed or swept by the next start, as after a crash
SHOWN_CHARS = 1024  # of a control message, in the log

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class History:
    """All control messages that were there at start, oldest first."""

    messages: Sequence[ControlMessage]


@dataclass(frozen=True)
class Stop:
    pass


Event = ControlMessage | History | BuildEvent | Stop


@dataclass
class _Attempt:
    """The build under way; there is one at most."""

    number: int
    topics: Topics
    deadline: float
    build: Build


class Orchestrator:
    def __init__(
        self,
        default: Desired,
        fields: ControlFields,
        settings: SwitchConfig,
        builder: Builder,
        public: Public,
        clock: Callable[[], float],
        wall_clock_ms: Callable[[], int],
    ) -> None:
        self._settings, self._builder, self._public = settings, builder, public
        self._clock, self._wall_clock_ms = clock, wall_clock_ms
        self._fields, self._clerk = fields, Clerk(fields, builder.missing)
        self._inbox: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._lifecycle = Lifecycle()
        self.moves = Moves()
        self._desired = default
        self._past = Past(default)
        self._pending: ControlMessage | None = None  # the message that the desired state comes from, until applied
        self._folded = False  # is the control topic read?
        self._remembered: Remembered | None = None  # what an earlier run showed, until something is shown
        self._restore: Desired | None = None  # the same, while it is to be shown again first
        self._live: Generation | None = None
        self._number = 0  # of the newest generation
        self._healthy = False  # does the live generation's pipeline run?
        self._troubles: dict[str, str] = {}
        self._attempt: _Attempt | None = None
        self._attempts = 0
        self._lingering = Lingering(settings.linger_seconds, settings.max_linger_generations)
        self._last_applied_ms: int | None = None
        self._retry_at: float | None = None
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._thread = threading.Thread(target=self.run, name="orchestrator", daemon=True)
        self._say(State.STARTING, "starting")

    # -- from any thread

    def start(self) -> None:
        self._thread.start()

    def post(self, event: Event) -> None:
        self._inbox.put(event)

    def stop(self) -> None:
        """End all pipelines; they can be resumed."""
        self.post(Stop())
        if self._thread.is_alive():
            self._thread.join()

    @property
    def live(self) -> Generation | None:
        return self._live

    @property
    def healthy(self) -> bool:
        """Does the pipeline of what is shown run?"""
        return self._live is not None and self._healthy

    @property
    def lingering(self) -> int:
        """How many old generations go on."""
        return len(list(self._lingering))

    @property
    def previous(self) -> Desired | None:
        """Where an undo leads: the state that was applied last and is not the desired one."""
        # The past is read first: a switch that is applied in between then leads back to what was before it.
        return self._past.before(self._desired)

    def preview(self, value: bytes) -> Preview:
        """What this control message would come to, if it were sent now. Raises ControlRejected."""
        clerk = Clerk(self._fields, self._builder.missing)
        desired, ignored = clerk.resolve(value, self._desired)
        return Preview(self._desired, desired, self._work(desired), ignored)

    def _work(self, desired: Desired) -> Work:
        live = self._live
        if live is not None and self._healthy and live.desired.topics == desired.topics:
            return Work.NONE if live.desired == desired else Work.VIEW
        if any(pipeline.topics == desired.topics for pipeline in self._lingering):
            return Work.RETURN
        return Work.BUILD

    # -- on the orchestrator's thread

    def run(self) -> None:
        while self._lifecycle.state is not State.STOPPED:
            try:
                self.step(self._events())
            except Exception:  # a defect; but whoever keeps the tables alive must not die of it
                log.exception("The orchestrator failed in an unexpected way and goes on")
                time.sleep(FIRST_RETRY_SECONDS)  # it may fail at once again

    def step(self, events: Sequence[Event]) -> None:
        """Take all that has come, then do what follows from it: a storm of messages leads to one build."""
        self._clerk.forget()
        for event in events:
            match event:
                case History():
                    self._on_history(event)
                case ControlMessage():
                    self._on_message(event)
                case SparkStarted() | CatchingUp() | Ready() | Failed():
                    self._on_build(event)
                case Died():
                    self._on_died(event)
                case Trouble():
                    self._on_trouble(event)
                case Stop():
                    self._on_stop()
                    return
        self._on_time()
        if self._folded:
            self._reconcile()

    def _events(self) -> list[Event]:
        """Wait for the first event or the next deadline, then take all that is there."""
        events: list[Event] = []
        try:
            events.append(self._inbox.get(timeout=self._patience()))
            while True:
                events.append(self._inbox.get_nowait())
        except queue.Empty:
            return events

    def _patience(self) -> float | None:
        deadlines = [
            self._attempt.deadline if self._attempt else None,
            self._retry_at,
            self._lingering.next_due(),
        ]
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(due) - self._clock()) if due else None

    # -- control messages

    def _on_history(self, history: History) -> None:
        for message in history.messages:
            self._public.outcome(message, None)
        folded = self._clerk.fold(self._desired, history.messages)
        # Before any outcome is told: whoever hears of it may undo at once.
        self._past, self._desired, self._pending = folded.past, folded.desired, folded.last
        for message, reason in folded.rejected:
            self._reject(message, reason)
        for message in folded.superseded:
            self._public.outcome(message, "superseded")
        log.info("Folded %d control messages into %s", len(history.messages), self._desired)
        self._recall()
        self._folded = True

    def _recall(self) -> None:
        """What an earlier run showed last is shown again first: the old generation is there until the new one is."""
        try:
            self._remembered = self._builder.remembered()
        except TurnoutError as error:
            log.warning("What an earlier run showed is unknown: %s", error)
        keep = {self._desired.topics}
        if self._remembered is not None:
            self._number, self._restore = self._remembered.generation, self._remembered.desired
            keep.add(self._remembered.desired.topics)
        self._sweep(keep)

    def _on_message(self, message: ControlMessage) -> None:
        self._public.outcome(message, None)
        log.info("Received control message %s: %s", message.id, message.value[:SHOWN_CHARS].decode(errors="replace"))
        crash_point(CrashPoint.RECEIVED)
        try:
            desired, ignored = self._clerk.resolve(message.value, self._desired)
        except ControlRejected as rejected:
            self.moves.outcomes[Outcome.REJECTED] += 1
            self._reject(message, str(rejected))
            return
        if ignored:
            log.warning("Control message %s: unknown fields ignored: %s", message.id, ", ".join(ignored))
        log.info("Resolved control message %s to %s", message.id, desired)
        self._want(desired, message)

    def _want(self, desired: Desired, message: ControlMessage) -> None:
        if self._pending is not None:
            self._public.outcome(self._pending, "superseded")
            log.info("Control message %s is superseded by %s", self._pending.id, message.id)
            self._pending = None
            self.moves.answered(Outcome.SUPERSEDED, self._clock())
        if self._shows(desired):
            self._desired = desired
            self.moves.outcomes[Outcome.NO_CHANGE] += 1
            self._last_applied_ms = self._wall_clock_ms()
            self._public.outcome(message, "no change")
            log.info("No change: %s is live already", desired)
            self._say(self._lifecycle.state, f"no change: {desired} is live already")
            return
        log.info("Changed: %s to %s", self._desired, desired)
        self._desired, self._pending = desired, message
        self.moves.asked(self._clock())
        self._retry_at, self._retry_seconds = None, FIRST_RETRY_SECONDS

    def _reject(self, message: ControlMessage, reason: str) -> None:
        self._public.outcome(message, f"rejected: {reason}")
        log.error("Rejected control message %s: %s", message.id, reason)
        self._say(self._lifecycle.state, f"control message {message.id} rejected: {reason}")

    # -- towards the desired state

    def _shows(self, desired: Desired) -> bool:
        return self._live is not None and self._healthy and self._live.desired == desired

    @property
    def _target(self) -> Desired:
        """What is to be shown next."""
        if self._restore is not None and self._restore.topics != self._desired.topics:
            return self._restore
        return self._desired  # which goes on from what is to be restored, if that is on the same topics

    def _reconcile(self) -> None:
        """Do the next thing that brings what is shown nearer to what is desired."""
        topics = self._target.topics
        self._cancel_outdated()
        if self._attempt is not None:
            return
        if self._shows(self._desired):
            self._settle()
        elif self._live is not None and self._healthy and self._live.desired.topics == topics:
            self._swap(self._live.pipeline)
        elif (pipeline := self._lingering.take(topics)) is not None:
            log.info("Going back to lingering pipeline %s on %s", pipeline.id, topics, extra={"pipeline": pipeline.id})
            self._swap(pipeline, pipeline.retire)
        elif self._retry_at is None:
            self._begin()

    def _begin(self) -> None:
        self._attempts += 1
        self._say(State.BUILDING, f"building {self._target}")
        build = self._builder.build(self._attempts, self._target.topics, self.post)
        self._attempt = _Attempt(self._attempts, self._target.topics, self._deadline(), build)

    def _deadline(self) -> float:
        return self._clock() + self._settings.ready_timeout_seconds

    def _cancel(self, why: str, move: BuildMove = BuildMove.GIVEN_UP) -> None:
        if self._attempt is not None:
            attempt, self._attempt = self._attempt, None
            attempt.build.cancel()
            self.moves.builds[move] += 1
            log.info("Gave up building on %s: %s", attempt.topics, why)

    def _cancel_outdated(self) -> None:
        """Give up a build that is not wanted any more. Not before it matters: the next message may want it again."""
        if self._attempt is not None and (self._attempt.topics != self._target.topics or self._shows(self._desired)):
            self._cancel("another state is desired")

    def _on_build(self, event: SparkStarted | CatchingUp | Ready | Failed) -> None:
        self._cancel_outdated()  # or its pipeline would be shown, or its failure be told, as that of the desired state
        if self._attempt is None or event.build != self._attempt.number:
            return  # of a build that was given up, and cleans up
        match event:
            case SparkStarted():
                self._attempt.deadline = self._deadline()
            case CatchingUp():
                self._say(State.CATCHING_UP, f"catching up with {self._attempt.topics}")
            case Ready():
                self._attempt = None
                self.moves.builds[BuildMove.READY] += 1
                self._troubles.pop(event.pipeline.id, None)  # of one that died, and that this one goes on from
                about = {"pipeline": event.pipeline.id}
                log.info("Ready: pipeline %s on %s", event.pipeline.id, event.pipeline.topics, extra=about)
                self._swap(event.pipeline, event.pipeline.abandon)
            case Failed():
                self._attempt = None
                self.moves.builds[BuildMove.FAILED] += 1
                self._on_failed(event.reason)

    def _swap(self, pipeline: Pipeline, give_up: Callable[[], None] | None = None) -> None:
        """Show this pipeline; if that fails, `give_up` is what becomes of one that was not shown until now."""
        self._number += 1  # whatever becomes of it: a number that was written down once is never used again
        old, target, number = self._live, self._target, self._number
        self._say(State.SWITCHING, f"switching to {target}")
        try:
            # First of all a restart has to know of it: what people have seen must not be forgotten.
            pipeline.promote(number, target.join)
            crash_point(CrashPoint.PROMOTED)
            self._public.show(number, pipeline, target)
        except TurnoutError as error:
            if give_up is not None:
                give_up()
            self._on_failed(str(error))
            return
        crash_point(CrashPoint.SWAPPED)
        was_healthy, self._healthy = self._healthy, True
        self._live, self._restore = Generation(number, target, pipeline), None
        about = {"generation": number, "pipeline": pipeline.id}
        log.info("Swapped %s to %s, generation %d", old.desired if old else "nothing", target, number, extra=about)
        self._settle()
        if old is None:
            self._forget_earlier_run()
        elif old.pipeline is not pipeline:
            self._leave(old.pipeline, was_healthy)

    def _forget_earlier_run(self) -> None:
        remembered, self._remembered = self._remembered, None
        if remembered is not None and self._live is not None:
            self._sweep({self._live.desired.topics, self._desired.topics})

    def _leave(self, pipeline: Pipeline, healthy: bool) -> None:
        """What becomes of the pipeline that was shown until now."""
        if self._live is not None and pipeline.id == self._live.pipeline.id:
            return  # it died, and the live one goes on from it
        if not healthy:
            pipeline.retire()
            return
        seconds, about = self._settings.linger_seconds, {"pipeline": pipeline.id}
        log.info("Lingering: pipeline %s on %s for %g s", pipeline.id, pipeline.topics, seconds, extra=about)
        self._lingering.add(pipeline, self._clock())
        crash_point(CrashPoint.LINGERING)

    def _settle(self) -> None:
        """Something is shown, and its pipeline runs; most often it is what is desired."""
        self._retry_at, self._retry_seconds = None, FIRST_RETRY_SECONDS
        if not self._shows(self._desired):
            return  # an earlier run's, shown again: it goes on to the desired state at once, so nothing is at rest
        self._past = self._past.applied(self._desired)
        message, self._pending = self._pending, None
        if message is not None or self._last_applied_ms is None:
            self.moves.answered(Outcome.APPLIED, self._clock())
            self._last_applied_ms = self._wall_clock_ms()
        self._rest()
        if message is not None:  # after the status: whoever hears of it asks how things are
            self._public.outcome(message, "applied")

    def _rest(self) -> None:
        """Nothing is under way: say how things are, unless that is known."""
        trouble = self._trouble()
        if trouble is not None and self._lifecycle.state is not State.DEGRADED:
            self._say(State.DEGRADED, trouble)
        elif trouble is None and self._lifecycle.state is not State.LIVE and self._live is not None and self._healthy:
            self._say(State.LIVE, f"live: {self._live.desired}")

    # -- failures

    def _on_failed(self, reason: str) -> None:
        """A build failed: the old generation goes on; without one, try again later."""
        target, self._restore = self._target, None
        log.error("Building on %s failed: %s", target.topics, reason)
        if target is not self._desired:
            return  # what an earlier run showed cannot be shown again: then the desired state has to do
        if self._live is None:
            if self._remembered is not None and self._remembered.desired.topics != target.topics:
                self._restore = self._remembered.desired  # by turns: either may be the one that works again first
            self._degrade(reason)
            return
        self._desired = self._live.desired
        if self._pending is not None:  # not sooner: whoever hears of it may undo at once
            self.moves.answered(Outcome.FAILED, self._clock())
            self._public.outcome(self._pending, f"rejected: {reason}")
            self._pending = None
        if self._healthy:
            state = State.DEGRADED if self._trouble() else State.LIVE
            self._say(state, f"switch failed, {self._desired} goes on: {reason}")
        else:
            self._degrade(reason)

    def _degrade(self, reason: str) -> None:
        self._retry_at = self._clock() + self._retry_seconds
        self._say(State.DEGRADED, f"trying again in {self._retry_seconds:g} s: {reason}")
        self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)

    def _on_died(self, event: Died) -> None:
        if self._live is not None and event.pipeline == self._live.pipeline.id and self._healthy:
            self._healthy = False
            about = {"generation": self._live.number, "pipeline": event.pipeline}
            log.error("The live pipeline died: %s", event.reason, extra=about)
            self._live.pipeline.stop()
            if self._attempt is None:
                self._degrade(event.reason)
        elif (pipeline := self._lingering.drop(event.pipeline)) is not None:
            log.warning("A lingering pipeline died: %s", event.reason, extra={"pipeline": event.pipeline})
            pipeline.retire()

    def _on_trouble(self, event: Trouble) -> None:
        before = self._trouble()
        if event.reason is not None:
            self._troubles[event.source] = event.reason
        elif self._troubles.pop(event.source, None) is not None and self._retry_at is not None:
            self._retry_at = self._clock()  # what has failed may work again, now
        after = self._trouble()
        if before is not None and after is None:
            log.info("Recovered from: %s", before)
        if self._attempt is not None or self._retry_at is not None:
            return  # there is more important news
        if after is not None and after != before:
            self._say(State.DEGRADED, after)
        elif after is None and self._live is not None:
            self._rest()

    def _trouble(self) -> str | None:
        """What keeps the live generation, or control messages, from coming through."""
        sources = [CONTROL] if self._live is None else [self._live.pipeline.id, CONTROL]
        return next((self._troubles[source] for source in sources if source in self._troubles), None)

    # -- time

    def _on_time(self) -> None:
        now = self._clock()
        self._cancel_outdated()
        if self._attempt is not None and self._attempt.build.waits_for_spark:
            self._attempt.deadline = self._deadline()
        if self._attempt is not None and self._attempt.deadline <= now:
            trouble = self._attempt.build.trouble
            self._cancel("not ready in time", BuildMove.FAILED)
            why = f"not ready in {self._settings.ready_timeout_seconds:g} s (switch.ready_timeout_seconds)"
            self._on_failed(f"{why}: {trouble}" if trouble else why)
        for pipeline in self._lingering.due(now):
            self._troubles.pop(pipeline.id, None)
            pipeline.retire()
        if self._retry_at is not None and self._retry_at <= now:
            self._retry_at = None

    def _sweep(self, keep: Collection[Topics]) -> None:
        try:
            self._builder.sweep(keep)
        except TurnoutError as error:
            log.warning("What an earlier run left behind could not be cleaned up: %s", error)

    def _on_stop(self) -> None:
        self._cancel("stopping")
        for pipeline in self._lingering:
            pipeline.retire()
        if self._live is not None:
            self._live.pipeline.stop()
        self._builder.close(STOP_SECONDS)
        self._say(State.STOPPED, "stopped")

    # -- status

    def _say(self, state: State, message: str) -> None:
        if state is not self._lifecycle.state:
            level = logging.WARNING if state is State.DEGRADED else logging.INFO
            log.log(level, "%s%s (%s → %s)", message[0].upper(), message[1:], self._lifecycle.state, state)
            self._lifecycle.move(state)
        shown = self._live.desired if self._live else self._desired
        number = self._live.number if self._live else 0
        self._public.status(Status(shown, self._last_applied_ms, state, number, message))
