"""What whoever leads runs: Spark, the pipelines, the orchestrator, and the reader of the control topic."""

import logging
import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from turnout.bus.announcer import Announcer
from turnout.bus.bulletin import Showing, Undo
from turnout.changelog.intake import Intake
from turnout.config import Config
from turnout.control.asked import write_down
from turnout.control.listener import ControlListener
from turnout.control.message import ControlMessage
from turnout.errors import TurnoutError
from turnout.java import java_parts
from turnout.kafka.client import Cluster
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import History, Orchestrator
from turnout.orchestrator.parts import CONTROL, Pipeline, Public, Status, Trouble
from turnout.pipeline.builder import PipelineBuilder
from turnout.pipeline.rehearsal import Rehearsal
from turnout.pipeline.running import RunningPipeline
from turnout.pipeline.session import is_local, start_session
from turnout.pipeline.spark_host import SparkHost
from turnout.schema import Topics
from turnout.tables.public import PublicTables

REHEARSAL_SECONDS = 2.0
"""For a rehearsal to end, with all that it made, while Spark is still there; five are promised for everything."""

log = logging.getLogger(__name__)


class Leading:
    def __init__(
        self,
        config: Config,
        default: Desired,
        tables: PublicTables,
        intake: Intake,
        on_failure: Callable[[TurnoutError], None],
        name: str,
    ) -> None:
        """`name` is what this server calls itself."""
        self._name = name
        self._config, self._default, self._tables, self._intake = config, default, tables, intake
        self._on_failure = on_failure
        self._spark = SparkHost(self._start_session)
        self._rehearsing: threading.Thread | None = None
        self._on_stage = threading.Event()  # it leads, or ends: nothing is rehearsed any more
        self._announcer: Announcer | None = None
        self._orchestrator: Orchestrator | None = None
        self._listener: ControlListener | None = None

    @property
    def spark_restarts(self) -> int:
        return self._spark.restarts

    @property
    def spark_pid(self) -> int | None:
        return self._spark.pid

    def warm_up(self) -> None:
        """Spark takes longest to start, so it begins at once."""
        threading.Thread(target=self._warm_up, name="start spark", daemon=True).start()

    def rehearse(self, data: Cluster, bus: Cluster, topics: Topics) -> None:
        """Get ready to take over. Not on a cluster, where it would take task slots that the leader may need."""
        if is_local(self._config.spark.master):
            rehearsal = Rehearsal(self._config, self._spark.session, data, bus)
            self._rehearsing = threading.Thread(
                target=rehearsal.run, args=(topics, self._on_stage.is_set), name="rehearsal", daemon=True
            )
            self._rehearsing.start()

    def start(
        self,
        data: Cluster,
        bus: Cluster,
        control: Cluster,
        announcer: Announcer | None,
        is_sure: Callable[[], bool],
    ) -> Orchestrator:
        """`announcer` tells other servers what is shown. `is_sure`: can nobody else lead by now?"""
        self._on_stage.set()
        self._announcer = announcer
        builder = PipelineBuilder(
            self._config, self._spark.session, data, bus, self._tables.rejected, self._intake, is_sure
        )
        orchestrator = self._orchestrator = Orchestrator(
            self._default,
            self._tables.fields,
            self._config.switch,
            builder,
            self._public(announcer),
            time.monotonic,
            lambda: int(time.time() * 1000),
        )
        orchestrator.start()
        self._listener = ControlListener(
            control,
            self._config.control.topic,
            lambda messages: orchestrator.post(History(messages)),
            self._heard,
            lambda trouble: orchestrator.post(Trouble(CONTROL, trouble)),
        )
        self._listener.start()
        return orchestrator

    def _heard(self, message: ControlMessage) -> None:
        if message.asked is not None and message.asked.server != self._name:
            write_down(message.asked, message.value)
        assert self._orchestrator is not None
        self._orchestrator.post(message)

    def stop(self) -> None:
        self._on_stage.set()
        if self._listener is not None:
            self._listener.stop()
        if self._orchestrator is not None:
            self._orchestrator.stop()
        if self._announcer is not None:
            self._announcer.stop()
        if self._rehearsing is not None:
            self._rehearsing.join(REHEARSAL_SECONDS)
        self._spark.stop()

    def _public(self, announcer: Announcer | None) -> Public:
        if announcer is None:
            return self._tables
        for table in self._tables.about_turnout:
            announcer.follow(self._tables.registry, table)
        announcer.start()
        return Announced(self._tables, announcer, lambda: self._orchestrator)

    def _start_session(self) -> SparkSession:
        spark, jars = self._config.spark, java_parts(log.info).spark
        return start_session(spark.master, spark.conf, jars, self._config.state_dir / "spark.log")

    def _warm_up(self) -> None:
        """What does not work the first time never will."""
        try:
            self._spark.session()
        except TurnoutError as error:
            self._on_failure(error)


class Announced:
    """The public tables, and other servers are told what they show."""

    def __init__(
        self, tables: PublicTables, announcer: Announcer, orchestrator: Callable[[], Orchestrator | None]
    ) -> None:
        self._tables, self._announcer, self._orchestrator = tables, announcer, orchestrator
        self._undo: Desired | None = None

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        self._tell_undo()  # before: whoever hears of the outcome may undo at once
        self._tables.outcome(message, outcome)

    def status(self, status: Status) -> None:
        self._tell_undo()
        self._tables.status(status)

    def show(self, generation: int, pipeline: Pipeline, desired: Desired) -> None:
        self._tables.show(generation, pipeline, desired)
        assert isinstance(pipeline, RunningPipeline)
        manifest = pipeline.manifest
        self._announcer.tell(
            Showing(generation, desired, manifest.id, manifest.prefix, manifest.starts, manifest.fingerprint)
        )

    def _tell_undo(self) -> None:
        orchestrator = self._orchestrator()
        previous = orchestrator.previous if orchestrator is not None else None
        if previous != self._undo:
            self._undo = previous
            self._announcer.tell(Undo(previous))
