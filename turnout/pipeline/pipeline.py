"""One Structured Streaming query over one set of topics: catches up in micro-batches, then runs in real time."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from turnout.config import Trigger
from turnout.errors import BuildFailed
from turnout.kafka.broker_config import LARGEST_RECORD_BYTES
from turnout.pipeline.cogroup import changelog
from turnout.pipeline.plan import Plan
from turnout.pipeline.session import SHUFFLE_PARTITIONS
from turnout.schema import JoinSchema

# Real-time mode commits at the end of each batch, and rows wait about a second there: seldom is better. A restart
# reads again what came since the last commit.
REALTIME_BATCH = "5 minutes"
CATCH_UP_BATCH = 500_000  # records of a topic in a micro-batch of catching up: larger ones are no faster
CATCH_UP_FETCH_BYTES = 16 * 1024 * 1024  # of all partitions together, while catching up: each is read by its own task
MIN_FETCH_BYTES, MAX_POLL_RECORDS = 1024 * 1024, 20_000
_IN_BULK = {"kafka.linger.ms": "20", "kafka.batch.size": "262144"}
# So little that a row waits no longer than it takes anyway; at thousands of messages a second it spares the broker a
# third of its time, because records then come to it, and go to the reader, by the dozen.
_SOON = {"kafka.linger.ms": "2"}
POLL_SECONDS = 0.02
REASON_CHARS = 400


@dataclass(frozen=True)
class KafkaOptions:
    """Java's client properties for the users' Kafka and for the bus."""

    data: Mapping[str, str]
    bus: Mapping[str, str]


class Pipeline:
    """The query of one manifest. Not thread-safe: whoever builds it owns it until it is ready."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        checkpoint: str,
        schema: JoinSchema,
        kafka: KafkaOptions,
        trigger: Trigger,
    ) -> None:
        self._spark, self._plan, self._manifest, self._checkpoint = spark, plan, plan.manifest, checkpoint
        self._schema, self._kafka, self._trigger = schema, kafka, trigger
        self._query: StreamingQuery | None = None
        self._stopping = threading.Event()

    def catch_up(self, cancelled: Callable[[], bool]) -> None:
        """Process all that the topics hold now, in micro-batches, or until cancelled."""
        query = self._query = self._start({"availableNow": True}, self._in_bulk(), _IN_BULK)
        while not self._ended(query):
            if cancelled():
                query.stop()
                return

    def go_live(self) -> None:
        """Start the endless query."""
        trigger = {"realTime": REALTIME_BATCH} if self._trigger is Trigger.REALTIME else {"processingTime": "0 seconds"}
        self._query = self._start(trigger, {}, _SOON)

    def wait_until_it_runs(self, cancelled: Callable[[], bool]) -> None:
        """Wait until all tasks of the endless query run, or until cancelled."""
        query = self._query
        assert query is not None, "this comes after go_live()"
        while not self._runs(query) and not cancelled():
            if self._ended(query):
                raise BuildFailed(f"{self._name}: the query ended by itself")

    def watch(self, on_failure: Callable[[Exception], None]) -> None:
        """Call `on_failure` if the query ends although nobody stopped it."""
        query = self._query
        assert query is not None, "watch() comes after go_live()"
        threading.Thread(
            target=self._watch, args=(query, on_failure), name=f"watch {self._manifest.id}", daemon=True
        ).start()

    def expect_end(self) -> None:
        """That the query ends is no failure any more."""
        self._stopping.set()

    def stop(self) -> None:
        self.expect_end()
        if self._query is not None:
            try:
                self._query.stop()
            except (PySparkException, Py4JError, OSError) as error:
                raise BuildFailed(f"{self._name}: Spark does not stop it: {_reason(error)}") from None

    @property
    def _name(self) -> str:
        return f"pipeline {self._manifest.id} on {self._manifest.topics}"

    def _in_bulk(self) -> dict[str, str]:
        """Read much at once."""
        partitions = sum(len(topic.partitions) for topic in self._plan.topics.values())
        return {
            "maxOffsetsPerTrigger": str(CATCH_UP_BATCH),
            "kafka.max.partition.fetch.bytes": str(max(MIN_FETCH_BYTES, CATCH_UP_FETCH_BYTES // partitions)),
            "kafka.max.poll.records": str(MAX_POLL_RECORDS),
        }

    def _start(
        self, trigger: Mapping[str, object], source_options: Mapping[str, str], sink_options: Mapping[str, str]
    ) -> StreamingQuery:
        sink = {
            **_prefixed(self._kafka.bus),
            **sink_options,
            "kafka.max.request.size": str(LARGEST_RECORD_BYTES),
            "kafka.buffer.memory": str(LARGEST_RECORD_BYTES),
            "checkpointLocation": self._checkpoint,
        }
        try:
            writer = self._changes(source_options).writeStream.format("kafka").outputMode("update").options(**sink)
            query = writer.trigger(**trigger).queryName(self._query_name(trigger)).start()  # type: ignore[call-overload]
            return cast(StreamingQuery, query)
        except (PySparkException, Py4JError, OSError) as error:
            raise BuildFailed(f"{self._name}: Spark refuses the query: {_reason(error)}") from None

    def _query_name(self, trigger: Mapping[str, object]) -> str:
        return f"{self._manifest.id} {'catching up' if 'availableNow' in trigger else 'live'}"

    def _changes(self, source_options: Mapping[str, str]) -> DataFrame:
        spark = self._session()
        views = {side: f"turnout_{self._manifest.id}_{side}" for side in ("left", "right")}
        topics = self._manifest.topics
        for view, topic in zip(views.values(), (topics.left, topics.right), strict=True):
            self._read(spark, topic, source_options).createOrReplaceTempView(view)
        try:
            manifest = self._manifest
            query = changelog(
                **views,
                schema=self._schema,
                changelog_topic=manifest.changelog_topic,
                rejected_topic=manifest.rejected_topic,
            )
            return spark.sql(query)
        finally:
            for view in views.values():
                spark.catalog.dropTempView(view)

    def _session(self) -> SparkSession:
        """With as many tasks to group by key as this pipeline has."""
        if self._manifest.shuffle == 1:
            return self._spark
        session = self._spark.newSession()  # settings of its own, in the same process
        session.conf.set(SHUFFLE_PARTITIONS, self._manifest.shuffle)
        return session

    def _read(self, spark: SparkSession, topic: str, options: Mapping[str, str]) -> DataFrame:
        kafka = {
            **options,
            **_prefixed(self._kafka.data),
            "subscribe": topic,
            "startingOffsets": json.dumps({topic: self._plan.starts(topic)}),
            "failOnDataLoss": str(not self._plan.data_lost).lower(),
        }
        return spark.readStream.format("kafka").options(**kafka).load()

    def _ended(self, query: StreamingQuery) -> bool:
        """Wait a moment; True once the query has ended well, an error once it has failed."""
        try:
            return bool(query.awaitTermination(POLL_SECONDS))  # type: ignore[arg-type]  # it takes fractions too
        except (PySparkException, Py4JError, OSError) as error:
            raise BuildFailed(f"{self._name}: {_reason(error)}") from None

    def _runs(self, query: StreamingQuery) -> bool:
        """Real-time mode reports progress only at the end of a batch: ask for its tasks instead."""
        if self._trigger is Trigger.MICROBATCH:
            return bool(query.isActive)
        tracker = self._spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return bool(stages) and all(stage is not None and stage.numActiveTasks == stage.numTasks for stage in stages)

    def _watch(self, query: StreamingQuery, on_failure: Callable[[Exception], None]) -> None:
        reason = "the query ended by itself"
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - also what Py4J raises when Spark's process is gone
            reason = _reason(error)
        if not self._stopping.is_set():
            on_failure(BuildFailed(f"{self._name}: {reason}"))


def _prefixed(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in properties.items()}


# What Spark puts in front of the reason, which people then no longer see.
_PREAMBLE = re.compile(
    r"^(\[STREAM_FAILED\] Query \[.*?\] terminated with exception: )?"
    r"(Job aborted due to stage failure: .*?most recent failure: Lost task [^:]*: )?"
)
# And behind it.
_EPILOGUE = re.compile(r"\s*Driver stacktrace:.*$")


def _reason(error: BaseException) -> str:
    """The first lines of what Spark says: the stack trace stands in Spark's log."""
    lines = takewhile(lambda line: not line.startswith("at "), map(str.strip, str(error).splitlines()[:3]))
    text = _EPILOGUE.sub("", _PREAMBLE.sub("", " ".join(lines)))
    return text if len(text) <= REASON_CHARS else text[:REASON_CHARS] + "…"
