"""All parts of Turnout in one process, put together and taken apart in the right order.

A Turnout leads (Spark, pipelines, orchestrator: turnout/leading.py) or follows one that does (turnout/follower.py).
With a bus of its own it leads. Where it shares one, the lease says who does; the others stand by, and follow.
"""

import gc
import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnout.behind import Behind, ReadPipeline
from turnout.bus.announcer import Announcer
from turnout.bus.topics import BusTopics
from turnout.changelog.freshness import Freshness
from turnout.changelog.intake import Intake
from turnout.conductor import Conductor
from turnout.config import Config
from turnout.control.asked import Asked
from turnout.control.message import compose
from turnout.errors import KafkaError, NothingToUndo, TurnoutError
from turnout.follower import Follower
from turnout.java import java_parts
from turnout.kafka.activity import Activity, activities
from turnout.kafka.client import Cluster, Publisher
from turnout.kafka.embedded import EmbeddedBroker
from turnout.kafka.keeper import Keeper
from turnout.kafka.link import NoAnswer
from turnout.lookout import Lookout
from turnout.memory import keep_trimmed, use_few_arenas
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.moves import Moves
from turnout.orchestrator.parts import Status
from turnout.orchestrator.preview import Preview
from turnout.orchestrator.states import State
from turnout.schema import Topics
from turnout.shared_bus import SharedBus
from turnout.staleness import Look, Staleness
from turnout.tables.public import PublicTables

if TYPE_CHECKING:
    from turnout.leading import Leading

NEW_OBJECTS = 50_000
"""Until the collector of cycles looks through them; 700 (2,000 in newer Pythons) is the default."""
STILL_STARTING = "Turnout is still starting and not yet connected to Kafka: try again in a few seconds"

log = logging.getLogger(__name__)


class Service:
    """The public tables exist as soon as this does; everything else starts in the background."""

    def __init__(self, config: Config, bus: EmbeddedBroker | None = None, *, may_lead: bool = True) -> None:
        """`bus` is a broker that runs already, for whoever has one."""
        self.config = config
        self.tables = PublicTables(config)
        join, tables = config.join, config.tables
        self._default = Desired(Topics(tables[join.left].topic, tables[join.right].topic), join.type)
        self._say(State.STARTING, "starting")
        self._broker = bus
        self._own_broker = False
        self._keeper: Keeper | None = None
        self._started = time.monotonic()
        self._conductor: Conductor | None = None
        self._inherits = False
        """Was a generation shown already when it began to lead? Its rows stay until the first one of its own."""
        self._shared: SharedBus | None = None
        self._data: Cluster | None = None
        self._publisher: Publisher | None = None
        self.intake = Intake()
        self._leading = self._leader_to_be() if may_lead else None
        self.staleness = Staleness(time.monotonic)
        self._lookout = Lookout(self.look)
        self.failure: TurnoutError | None = None
        """What keeps it from starting, or from going on: it will not try again."""
        self._stopping = threading.Event()
        self._starter = threading.Thread(target=self._start_parts, name="start", daemon=True)

    def _leader_to_be(self) -> "Leading":
        from turnout.leading import Leading  # not before: who never leads needs no Spark

        return Leading(self.config, self._default, self.tables, self.intake, self._fail, self._name)

    def _say(self, state: State, message: str) -> None:
        """While nobody else does: before anything is shown."""
        self.tables.status(Status(self._default, None, state, 0, message))

    @property
    def uptime_seconds(self) -> float:
        return time.monotonic() - self._started

    def start(self) -> None:
        use_few_arenas()
        threading.Thread(target=keep_trimmed, args=(self._stopping,), name="memory", daemon=True).start()
        root = logging.getLogger("turnout")
        root.setLevel(logging.INFO)
        if self._leading is not None:
            if not self.config.bus:
                root.addHandler(self.tables.log_handler)
            self.config.state_dir.mkdir(parents=True, exist_ok=True)
        self._starter.start()

    def stop(self) -> None:
        """End everything; the next start resumes from here. Also while it is still starting."""
        self._stopping.set()
        self._lookout.stop()
        if self._starter.is_alive():
            self._starter.join()
        if self._shared is not None:
            self._shared.stop()
        if self._leading is not None:
            self._leading.stop()
        if self._shared is not None:
            self._shared.release()
        if self._keeper is not None:
            self._keeper.stop()
        if self._broker is not None and self._own_broker:
            self._broker.stop()
        logging.getLogger("turnout").removeHandler(self.tables.log_handler)

    @property
    def ready(self) -> bool:
        """Is a generation shown? While one that stood by takes over, that of the leader before still is."""
        return self._inherits or self._shows_something

    def stale(self) -> Sequence[str]:
        """Why the tables are older than they may be (`serve.stale_seconds`); nothing if they are not."""
        most_seconds = self.config.serve.stale_seconds
        return self.staleness.reasons(most_seconds) if most_seconds else ()

    @property
    def healthy(self) -> bool:
        """Does the pipeline of what is shown run?"""
        return self._conductor is not None and self._conductor.healthy

    @property
    def leads(self) -> bool:
        """Does this Turnout run the pipelines, or is it another one?"""
        return self._conductor is not None and not isinstance(self._conductor, Follower)

    @property
    def _shows_something(self) -> bool:
        return self._conductor is not None and self._conductor.live is not None

    @property
    def lingering(self) -> int:
        return self._conductor.lingering if self._conductor is not None else 0

    @property
    def moves(self) -> Moves:
        return self._conductor.moves if self._conductor is not None else Moves()

    @property
    def restarts(self) -> dict[str, int]:
        """Process -> how often it had to be started again; of the broker only where there is one of our own."""
        broker = {"broker": self._keeper.restarts} if self._keeper is not None else {}
        spark = {"spark": self._leading.spark_restarts} if self._leading is not None else {}
        return {**spark, **broker}

    @property
    def processes(self) -> dict[str, int]:
        """Name -> process id, of those that run: this one, Spark's and the embedded broker's."""
        found = {"turnout": os.getpid(), "spark": self._leading.spark_pid if self._leading is not None else None}
        with suppress(KafkaError):  # it has just ended
            if self._broker is not None and self._broker.alive:
                found["broker"] = self._broker.pid
        return {name: pid for name, pid in found.items() if pid is not None}

    def publish_control(self, value: bytes, asked: Asked | None = None) -> str:
        """Publish a control message; its id in the control table. `asked`: who is to be written down for it."""
        if self._publisher is None:
            raise KafkaError(STILL_STARTING)
        headers = [] if asked is None else [replace(asked, server=self._name).header()]
        partition, offset = self._publisher.publish(self.config.control.topic, value, headers=headers)
        return f"{partition}:{offset}"

    def publish_undo(self, asked: Asked | None = None) -> str:
        """Publish the control message that goes back to the previous desired state; its id in the control table."""
        # Until the control topic has been read nobody knows what was before, not even that there was nothing.
        if self._conductor is None or self.tables.status_row()["state"] == State.STARTING:
            raise KafkaError(STILL_STARTING)
        previous = self._conductor.previous
        if previous is None:
            raise NothingToUndo("There is nothing to undo: no other topics or join type have been shown before.")
        return self.publish_control(compose(previous, self.tables.fields), asked)

    def preview(self, value: bytes) -> Preview:
        """What this control message would come to, if it were sent now."""
        if self._conductor is None:
            raise KafkaError(STILL_STARTING)
        return self._conductor.preview(value)

    def topics(self) -> list[Activity]:
        """The topics that can be switched to: all but Kafka's own, Turnout's own and the control topic."""
        if self._data is None:
            raise KafkaError(STILL_STARTING)
        control, own = self.config.control, BusTopics(self.config.changelog.prefix)
        return [
            topic
            for topic in activities(self._data)
            if (topic.name != control.topic or control.kafka) and not own.owns(topic.name)
        ]

    def freshness(self) -> Freshness | None:
        pipeline = self._pipeline()
        return pipeline.changelog.freshness.read() if pipeline is not None else None

    def lag(self) -> dict[str, int | None]:
        """Data topic -> how many of its messages are not in the tables yet; None: unknown."""
        behind = self._behind()
        return self._lag(behind) if behind is not None else {}

    def messages_read(self) -> dict[str, int]:
        """Data topic -> how many of its messages have come into the tables since its pipeline began."""
        behind = self._behind()
        return {topic: behind.read(topic) for topic in behind.topics} if behind is not None else {}

    def look(self) -> None:
        """See whether messages wait, and for how long."""
        behind = self._behind()
        looks: dict[str, Look] = {}
        if behind is not None:
            looks = {topic: behind.look(topic, lag) for topic, lag in self._lag(behind).items()}
        self.staleness.note(looks, lambda topic: behind is None or behind.is_unread(topic))

    def _lag(self, behind: Behind) -> dict[str, int | None]:
        lag: dict[str, int | None] = dict.fromkeys(behind.topics)
        for topic in lag:
            try:
                lag[topic] = behind.lag(topic)
            except NoAnswer:
                break  # somebody waits for what we say: one time-out is enough
            except KafkaError:
                continue
        return lag

    def _pipeline(self) -> ReadPipeline | None:
        """The one that is shown."""
        live = self._conductor.live if self._conductor is not None else None
        return live.pipeline if live is not None and isinstance(live.pipeline, ReadPipeline) else None

    def _behind(self) -> Behind | None:
        pipeline = self._pipeline()
        return Behind(self._data, pipeline) if pipeline is not None and self._data is not None else None

    # -- starting

    def _start_parts(self) -> None:
        try:
            if self._leading is not None:
                java_parts(log.info)
                self._leading.warm_up()
            data = self._data = Cluster(self.config.kafka)
            control = Cluster(self.config.control.kafka) if self.config.control.kafka else data
            self._publisher = control.publisher()
            bus = Cluster(self.config.bus) if self.config.bus else Cluster({"bootstrap.servers": self._own_bus()})
            if not self._stopping.is_set():
                self._lookout.start()
                self._begin(data, bus, control)
                _settle()
        except TurnoutError as error:
            self._fail(error)

    def _fail(self, error: TurnoutError) -> None:
        if not self._stopping.is_set():
            log.error("Turnout cannot go on: %s", error)
            self.failure = error

    def _own_bus(self) -> str:
        if self._broker is None:
            self._broker = EmbeddedBroker(self.config.state_dir / "kafka", java_parts(log.info).broker)
            self._own_broker = True
            self._broker.start()
        self._keeper = Keeper(self._broker)
        self._keeper.start()
        return self._broker.bootstrap

    def _begin(self, data: Cluster, bus: Cluster, control: Cluster) -> None:
        announcer: Announcer | None = None
        if self.config.bus:
            shared = self._shared = SharedBus(self.config, self._name, self.tables, self.intake, data, bus)
            if self._leading is None:
                self._conductor = shared.follow()
                return
            announcer = shared.stand_by(_Understudy(self, self._leading, data, bus), self._stopping)
            if announcer is None:
                return
            logging.getLogger("turnout").addHandler(self.tables.log_handler)
            self._inherits = self._shows_something
        assert self._leading is not None, "who only follows has a bus to follow on"
        self._conductor = self._leading.start(data, bus, control, announcer, self._leads_for_sure)

    def _leads_for_sure(self) -> bool:
        """On a bus of its own nobody else can."""
        return self._shared is None or self._shared.leads_for_sure

    @property
    def _name(self) -> str:
        return f"{socket.gethostname()}, process {os.getpid()}"


@dataclass(frozen=True)
class _Understudy:
    """The service while it stands by."""

    service: Service
    leading: "Leading"
    data: Cluster
    bus: Cluster

    def follows(self, follower: Follower) -> None:
        self.service._conductor = follower

    def knows(self, topics: Topics) -> None:
        self.leading.rehearse(self.data, self.bus, topics)

    def waits(self, trouble: str | None) -> None:
        self.service._say(State.DEGRADED if trouble else State.STARTING, trouble or "starting")

    def deposed(self, error: TurnoutError) -> None:
        self.service._fail(error)


def _settle() -> None:
    """Python's collector of cycles looks through all that there is whenever enough is new, and stops everything for it:
    a seventh of the time at 10,000 messages a second, each of which makes a handful of objects that are soon gone. What
    is there by now stays; of what is new it waits for more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
