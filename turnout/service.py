"""All parts of Turnout in one process, put together and taken apart in the right order."""

import gc
import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from turnout.behind import Behind
from turnout.changelog.freshness import Freshness
from turnout.changelog.intake import Intake
from turnout.config import Config
from turnout.control.listener import ControlListener
from turnout.control.message import compose
from turnout.errors import KafkaError, NothingToUndo, TurnoutError
from turnout.java import java_parts
from turnout.kafka.activity import Activity, activities
from turnout.kafka.client import Cluster, Publisher
from turnout.kafka.embedded import EmbeddedBroker
from turnout.kafka.keeper import Keeper
from turnout.kafka.link import NoAnswer
from turnout.lookout import Lookout
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.moves import Moves
from turnout.orchestrator.orchestrator import History, Orchestrator
from turnout.orchestrator.parts import CONTROL, Status, Trouble
from turnout.orchestrator.preview import Preview
from turnout.orchestrator.states import State
from turnout.pipeline.builder import PipelineBuilder
from turnout.pipeline.manifest import is_own_topic
from turnout.pipeline.running import RunningPipeline
from turnout.pipeline.session import start_session
from turnout.pipeline.spark_host import SparkHost
from turnout.schema import Topics
from turnout.staleness import Look, Staleness
from turnout.tables.public import PublicTables, control_fields

NEW_OBJECTS = 50_000
"""Until the collector of cycles looks through them; 700 (2,000 in newer Pythons) is the default."""
STILL_STARTING = "Turnout is still starting and not yet connected to Kafka: try again in a few seconds"

log = logging.getLogger(__name__)


class Service:
    """The public tables exist as soon as this does; everything else starts in the background."""

    def __init__(self, config: Config, bus: EmbeddedBroker | None = None) -> None:
        """`bus` is a broker that runs already, for whoever has one."""
        self.config = config
        self.tables = PublicTables(config)
        join, tables = config.join, config.tables
        self._default = Desired(Topics(tables[join.left].topic, tables[join.right].topic), join.type)
        self.tables.status(Status(self._default, None, State.STARTING, 0, "starting"))
        self._broker = bus
        self._own_broker = False
        self._keeper: Keeper | None = None
        self._started = time.monotonic()
        self._spark = SparkHost(self._start_session)
        self._orchestrator: Orchestrator | None = None
        self._listener: ControlListener | None = None
        self._data: Cluster | None = None
        self._publisher: Publisher | None = None
        self.intake = Intake()
        self.staleness = Staleness(time.monotonic)
        self._lookout = Lookout(self.look)
        self.failure: TurnoutError | None = None
        """What keeps it from starting: it will not try again."""
        self._stopping = threading.Event()
        self._starter = threading.Thread(target=self._start_parts, name="start", daemon=True)

    @property
    def uptime_seconds(self) -> float:
        return time.monotonic() - self._started

    def start(self) -> None:
        root = logging.getLogger("turnout")
        root.setLevel(logging.INFO)
        root.addHandler(self.tables.log_handler)
        self.config.state_dir.mkdir(parents=True, exist_ok=True)
        self._starter.start()

    def stop(self) -> None:
        """End everything; the next start resumes from here. Also while it is still starting."""
        self._stopping.set()
        self._lookout.stop()
        if self._starter.is_alive():
            self._starter.join()
        if self._listener is not None:
            self._listener.stop()
        if self._orchestrator is not None:
            self._orchestrator.stop()
        self._spark.stop()
        if self._keeper is not None:
            self._keeper.stop()
        if self._broker is not None and self._own_broker:
            self._broker.stop()
        logging.getLogger("turnout").removeHandler(self.tables.log_handler)

    @property
    def ready(self) -> bool:
        return self._orchestrator is not None and self._orchestrator.live is not None

    def stale(self) -> Sequence[str]:
        """Why the tables are older than they may be (`serve.stale_seconds`); nothing if they are not."""
        most_seconds = self.config.serve.stale_seconds
        return self.staleness.reasons(most_seconds) if most_seconds else ()

    @property
    def healthy(self) -> bool:
        """Does the pipeline of what is shown run?"""
        return self._orchestrator is not None and self._orchestrator.healthy

    @property
    def lingering(self) -> int:
        return self._orchestrator.lingering if self._orchestrator is not None else 0

    @property
    def moves(self) -> Moves:
        return self._orchestrator.moves if self._orchestrator is not None else Moves()

    @property
    def restarts(self) -> dict[str, int]:
        """Process -> how often it had to be started again; of the broker only where there is one of our own."""
        broker = {"broker": self._keeper.restarts} if self._keeper is not None else {}
        return {"spark": self._spark.restarts, **broker}

    @property
    def processes(self) -> dict[str, int]:
        """Name -> process id, of those that run: this one, Spark's and the embedded broker's."""
        found = {"turnout": os.getpid(), "spark": self._spark.pid}
        with suppress(KafkaError):  # it has just ended
            if self._broker is not None and self._broker.alive:
                found["broker"] = self._broker.pid
        return {name: pid for name, pid in found.items() if pid is not None}

    def publish_control(self, value: bytes) -> str:
        """Publish a control message; its id in the control table."""
        if self._publisher is None:
            raise KafkaError(STILL_STARTING)
        partition, offset = self._publisher.publish(self.config.control.topic, value)
        return f"{partition}:{offset}"

    def publish_undo(self) -> str:
        """Publish the control message that goes back to the previous desired state; its id in the control table."""
        # Until the control topic has been read nobody knows what was before, not even that there was nothing.
        if self._orchestrator is None or self.tables.status_row()["state"] == State.STARTING:
            raise KafkaError(STILL_STARTING)
        previous = self._orchestrator.previous
        if previous is None:
            raise NothingToUndo("There is nothing to undo: no other topics or join type have been shown before.")
        return self.publish_control(compose(previous, self.tables.fields))

    def preview(self, value: bytes) -> Preview:
        """What this control message would come to, if it were sent now."""
        if self._orchestrator is None:
            raise KafkaError(STILL_STARTING)
        return self._orchestrator.preview(value)

    def topics(self) -> list[Activity]:
        """The topics that can be switched to: all but Kafka's own, Turnout's own and the control topic."""
        if self._data is None:
            raise KafkaError(STILL_STARTING)
        control = self.config.control
        return [
            topic
            for topic in activities(self._data)
            if (topic.name != control.topic or control.kafka) and not is_own_topic(topic.name)
        ]

    def freshness(self) -> Freshness | None:
        live = self._live_pipeline()
        return live.changelog.freshness.read() if live is not None else None

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

    def _live_pipeline(self) -> RunningPipeline | None:
        live = self._orchestrator.live if self._orchestrator else None
        return live.pipeline if live is not None and isinstance(live.pipeline, RunningPipeline) else None

    def _behind(self) -> Behind | None:
        live = self._live_pipeline()
        return Behind(self._data, live) if live is not None and self._data is not None else None

    def _start_parts(self) -> None:
        try:
            jars = java_parts(log.info)
            threading.Thread(target=self._warm_up, name="start spark", daemon=True).start()
            self._data = Cluster(self.config.kafka)
            control = Cluster(self.config.control.kafka) if self.config.control.kafka else self._data
            self._publisher = control.publisher()
            bus = (
                Cluster(self.config.bus)
                if self.config.bus
                else Cluster({"bootstrap.servers": self._own_bus(jars.broker)})
            )
            if not self._stopping.is_set():
                self._start_control(self._data, bus, control)
                self._lookout.start()
                _settle()
        except TurnoutError as error:
            self._fail(error)

    def _fail(self, error: TurnoutError) -> None:
        if not self._stopping.is_set():
            log.error("Turnout cannot start: %s", error)
            self.failure = error

    def _own_bus(self, jars: tuple[Path, ...]) -> str:
        if self._broker is None:
            self._broker = EmbeddedBroker(self.config.state_dir / "kafka", jars)
            self._own_broker = True
            self._broker.start()
        self._keeper = Keeper(self._broker)
        self._keeper.start()
        return self._broker.bootstrap

    def _start_session(self) -> SparkSession:
        spark = self.config.spark
        return start_session(spark.master, spark.conf, java_parts(log.info).spark, self.config.state_dir / "spark.log")

    def _warm_up(self) -> None:
        """Spark takes longest to start, so it begins at once. What does not work the first time never will."""
        try:
            self._spark.session()
        except TurnoutError as error:
            self._fail(error)

    def _start_control(self, data: Cluster, bus: Cluster, control: Cluster) -> None:
        builder = PipelineBuilder(self.config, self._spark.session, data, bus, self.tables.rejected, self.intake)
        orchestrator = self._orchestrator = Orchestrator(
            self._default,
            control_fields(self.config),
            self.config.switch,
            builder,
            self.tables,
            time.monotonic,
            lambda: int(time.time() * 1000),
        )
        orchestrator.start()
        self._listener = ControlListener(
            control,
            self.config.control.topic,
            lambda messages: orchestrator.post(History(messages)),
            orchestrator.post,
            lambda trouble: orchestrator.post(Trouble(CONTROL, trouble)),
        )
        self._listener.start()


def _settle() -> None:
    """Python's collector of cycles looks through all that there is whenever enough is new, and stops everything for it:
    a seventh of the time at 10,000 messages a second, each of which makes a handful of objects that are soon gone. What
    is there by now stays; of what is new it waits for more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
