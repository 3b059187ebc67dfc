"""The desired-state loop: control messages in, one complete generation under the public names out.

Everything here happens on one thread, the only writer of the lifecycle. Parts that take their time (a build) report
back through the inbox.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turnout.config import SwitchConfig
from turnout.control.message import ControlFields, ControlMessage, Request, parse, resolve
from turnout.errors import ControlRejected, KafkaError, TurnoutError
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.generation import Generation, Lingering
from turnout.orchestrator.parts import (
    Build,
    Builder,
    BuildEvent,
    CatchingUp,
    Died,
    Failed,
    Pipeline,
    Public,
    Ready,
    Status,
)
from turnout.orchestrator.past import Past, folded
from turnout.orchestrator.states import Lifecycle, State
from turnout.schema import Topics

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0
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
        self._fields, self._settings = fields, settings
        self._builder, self._public, self._clock, self._wall_clock_ms = builder, public, clock, wall_clock_ms
        self._inbox: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._lifecycle = Lifecycle()
        self._desired = default
        self._past = Past(default)
        self._pending: ControlMessage | None = None  # the message that the desired state comes from, until applied
        self._live: Generation | None = None
        self._healthy = False  # does the live generation's pipeline run?
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
    def previous(self) -> Desired | None:
        """Where an undo leads: the state that was applied last and is not the desired one."""
        # The past is read first: a switch that is applied in between then leads back to what was before it.
        return self._past.before(self._desired)

    # -- on the orchestrator's thread

    def run(self) -> None:
        while self._lifecycle.state is not State.STOPPED:
            self.step(self._events())

    def step(self, events: Sequence[Event]) -> None:
        """Take all that has come, then do what follows from it: a storm of messages leads to one build."""
        checked: dict[str, bool] = {}
        for event in events:
            match event:
                case History():
                    self._on_history(event, checked)
                case ControlMessage():
                    self._on_message(event, checked)
                case CatchingUp() | Ready() | Failed():
                    self._on_build(event)
                case Died():
                    self._on_died(event)
                case Stop():
                    self._on_stop()
                    return
        self._on_time()
        if self._lifecycle.state is not State.STARTING:
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

    def _on_history(self, history: History, checked: dict[str, bool]) -> None:
        """Fold all messages into one desired state. One that names a missing topic is rejected as it would be live."""
        requests: list[tuple[ControlMessage, Request]] = []
        for message in history.messages:
            self._public.outcome(message, None)
            try:
                requests.append((message, parse(message.value, self._fields)))
            except ControlRejected as rejected:
                self._reject(message, str(rejected))
        default, last = self._desired, None
        while True:
            desired, last, faulty = self._fold(default, requests, checked)
            if faulty is None:
                break
            requests = [entry for entry in requests if entry[0] is not faulty]
        for message, _ in requests:
            if message is not last:
                self._public.outcome(message, "superseded")
        log.info("Folded %d control messages into %s", len(history.messages), desired)
        self._past = folded(default, [request for _, request in requests])
        self._desired, self._pending = desired, last
        self._sweep(desired.topics)
        self._begin()

    def _fold(
        self, default: Desired, requests: Sequence[tuple[ControlMessage, Request]], checked: dict[str, bool]
    ) -> tuple[Desired, ControlMessage | None, ControlMessage | None]:
        """The desired state, the message it is due to, and a message to leave out and try again without."""
        desired, last = default, None
        for message, request in requests:
            try:
                desired, last = resolve(desired, request), message
            except ControlRejected as rejected:
                self._reject(message, str(rejected))
                return default, None, message
        try:
            missing = self._missing(desired.topics, checked)
        except KafkaError as error:  # the build will meet it too, and is tried again
            log.warning("Whether the topics exist is unknown: %s", error)
            return desired, last, None
        for message, request in reversed(requests):
            if any(request.names(topic) for topic in missing):
                self._reject(message, _absent(missing))
                return default, None, message
        return desired, last, None

    def _on_message(self, message: ControlMessage, checked: dict[str, bool]) -> None:
        self._public.outcome(message, None)
        log.info("Received control message %s: %s", message.id, message.value[:SHOWN_CHARS].decode(errors="replace"))
        try:
            request = parse(message.value, self._fields)
            desired = resolve(self._desired, request)
            if missing := self._missing(desired.topics, checked):
                raise ControlRejected(_absent(missing))
        except (ControlRejected, KafkaError) as rejected:
            self._reject(message, str(rejected))
            return
        if request.ignored:
            log.warning("Control message %s: unknown fields ignored: %s", message.id, ", ".join(request.ignored))
        log.info("Resolved control message %s to %s", message.id, desired)
        self._want(desired, message)

    def _want(self, desired: Desired, message: ControlMessage) -> None:
        if self._pending is not None:
            self._public.outcome(self._pending, "superseded")
            log.info("Control message %s is superseded by %s", self._pending.id, message.id)
            self._pending = None
        if self._shows(desired):
            self._desired = desired
            self._applied(message, "no change")
            log.info("No change: %s is live already", desired)
            self._say(self._lifecycle.state, f"no change: {desired} is live already")
            return
        log.info("Changed: %s to %s", self._desired, desired)
        self._desired, self._pending = desired, message
        self._retry_at, self._retry_seconds = None, FIRST_RETRY_SECONDS

    def _missing(self, topics: Topics, checked: dict[str, bool]) -> list[str]:
        """Topics that do not exist; each is asked for once, however many messages name it."""
        unknown = [topic for topic in (topics.left, topics.right) if topic not in checked]
        if unknown:
            absent = self._builder.missing(unknown)
            checked.update({topic: topic in absent for topic in unknown})
        return [topic for topic in (topics.left, topics.right) if checked[topic]]

    def _reject(self, message: ControlMessage, reason: str) -> None:
        self._public.outcome(message, f"rejected: {reason}")
        log.error("Rejected control message %s: %s", message.id, reason)
        self._say(self._lifecycle.state, f"control message {message.id} rejected: {reason}")

    def _applied(self, message: ControlMessage | None, outcome: str) -> None:
        self._last_applied_ms = self._wall_clock_ms()
        if message is not None:
            self._public.outcome(message, outcome)

    # -- towards the desired state

    def _shows(self, desired: Desired) -> bool:
        return self._live is not None and self._healthy and self._live.desired == desired

    def _reconcile(self) -> None:
        """Do the next thing that brings what is shown nearer to what is desired."""
        topics = self._desired.topics
        if self._attempt is not None:
            if self._attempt.topics == topics and not self._shows(self._desired):
                return
            self._cancel("another state is desired")
        if self._shows(self._desired):
            self._settle()
        elif self._live is not None and self._healthy and self._live.desired.topics == topics:
            self._swap(self._live.pipeline)
        elif (pipeline := self._lingering.take(topics)) is not None:
            log.info("Going back to lingering pipeline %s on %s", pipeline.id, topics)
            self._swap(pipeline)
        elif self._retry_at is None:
            self._begin()

    def _begin(self) -> None:
        self._attempts += 1
        topics = self._desired.topics
        log.info("Building generation on %s", topics)
        self._say(State.BUILDING, f"building {self._desired}")
        deadline = self._clock() + self._settings.ready_timeout_seconds
        build = self._builder.build(self._attempts, topics, self.post)
        self._attempt = _Attempt(self._attempts, topics, deadline, build)

    def _cancel(self, why: str) -> None:
        if self._attempt is not None:
            attempt, self._attempt = self._attempt, None
            attempt.build.cancel()
            log.info("Gave up building on %s: %s", attempt.topics, why)

    def _on_build(self, event: CatchingUp | Ready | Failed) -> None:
        if self._attempt is None or event.build != self._attempt.number:
            return  # of a build that was given up, and has cleaned up
        match event:
            case CatchingUp():
                log.info("Catching up with %s", self._attempt.topics)
                self._say(State.CATCHING_UP, f"catching up with {self._attempt.topics}")
            case Ready():
                self._attempt = None
                log.info("Ready: pipeline %s on %s", event.pipeline.id, event.pipeline.topics)
                self._swap(event.pipeline)
            case Failed():
                self._attempt = None
                self._on_failed(event.reason)

    def _swap(self, pipeline: Pipeline) -> None:
        old, number = self._live, self._live.number + 1 if self._live else 1
        self._say(State.SWITCHING, f"switching to {self._desired}")
        try:
            self._public.show(number, pipeline, self._desired)
            pipeline.promote()
        except TurnoutError as error:
            self._retire(pipeline)
            self._on_failed(str(error))
            return
        self._live, self._healthy = Generation(number, self._desired, pipeline), True
        log.info("Swapped %s to %s, generation %d", old.desired if old else "nothing", self._desired, number)
        self._settle()
        if old is not None and old.pipeline is not pipeline:
            self._let_linger(old.pipeline)

    def _let_linger(self, pipeline: Pipeline) -> None:
        if self._live is not None and pipeline.topics == self._live.desired.topics:
            return  # the one that died, which the live one goes on from
        log.info("Lingering: pipeline %s on %s for %g s", pipeline.id, pipeline.topics, self._settings.linger_seconds)
        self._lingering.add(pipeline, self._clock())

    def _settle(self) -> None:
        """The desired state is shown."""
        self._past = self._past.applied(self._desired)
        if self._pending is not None or self._last_applied_ms is None:
            self._applied(self._pending, "applied")
            self._pending = None
        self._retry_at, self._retry_seconds = None, FIRST_RETRY_SECONDS
        if self._lifecycle.state is not State.LIVE:
            self._say(State.LIVE, f"live: {self._desired}")

    def _on_failed(self, reason: str) -> None:
        """A build failed: the old generation goes on; without one, try again later."""
        log.error("Building on %s failed: %s", self._desired.topics, reason)
        if self._live is not None:
            self._desired = self._live.desired
        if self._pending is not None:  # not sooner: whoever hears of it may undo at once
            self._public.outcome(self._pending, f"rejected: {reason}")
            self._pending = None
        if self._live is not None and self._healthy:
            self._say(State.LIVE, f"switch failed, {self._desired} goes on: {reason}")
            return
        self._degrade(reason)

    def _degrade(self, reason: str) -> None:
        self._retry_at = self._clock() + self._retry_seconds
        log.warning("Degraded, trying again in %g s: %s", self._retry_seconds, reason)
        self._say(State.DEGRADED, f"trying again in {self._retry_seconds:g} s: {reason}")
        self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)

    def _on_died(self, event: Died) -> None:
        if self._live is not None and event.pipeline == self._live.pipeline.id and self._healthy:
            self._healthy = False
            log.error("The live pipeline died: %s", event.reason)
            self._live.pipeline.stop()
            if self._attempt is None:
                self._degrade(event.reason)
        elif (pipeline := self._lingering.drop(event.pipeline)) is not None:
            log.warning("A lingering pipeline died: %s", event.reason)
            self._retire(pipeline)

    # -- time

    def _on_time(self) -> None:
        now = self._clock()
        if self._attempt is not None and self._attempt.deadline <= now:
            seconds = self._settings.ready_timeout_seconds
            self._cancel("not ready in time")
            self._on_failed(f"not ready in {seconds:g} s (switch.ready_timeout_seconds)")
        for pipeline in self._lingering.due(now):
            self._retire(pipeline)
        if self._retry_at is not None and self._retry_at <= now:
            self._retry_at = None

    def _retire(self, pipeline: Pipeline) -> None:
        try:
            pipeline.retire()
            log.info("Retired pipeline %s on %s", pipeline.id, pipeline.topics)
        except TurnoutError as error:
            log.error("Pipeline %s could not be cleaned up, the next start will: %s", pipeline.id, error)

    def _sweep(self, topics: Topics) -> None:
        try:
            self._builder.sweep(topics)
        except TurnoutError as error:
            log.warning("What an earlier run left behind could not be cleaned up: %s", error)

    def _on_stop(self) -> None:
        self._cancel("stopping")
        for pipeline in self._lingering:
            self._retire(pipeline)
        if self._live is not None:
            self._live.pipeline.stop()
        self._say(State.STOPPED, "stopped")

    # -- status

    def _say(self, state: State, message: str) -> None:
        self._lifecycle.move(state)
        shown = self._live.desired if self._live else self._desired
        number = self._live.number if self._live else 0
        self._public.status(Status(shown, self._last_applied_ms, state, number, message))


def _absent(topics: Sequence[str]) -> str:
    names = " and ".join(repr(topic) for topic in topics)
    return f"topic {names} does not exist: create it first, or name another"
