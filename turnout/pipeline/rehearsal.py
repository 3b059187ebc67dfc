"""A pipeline that runs for a moment and is shown to nobody: from then on Spark's process is warm.

In a cold one the first query takes four to seven seconds to get going, which whoever stands by has time for, and who
takes over has not.
"""

import logging
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from pyspark.sql import SparkSession

from turnout.config import Config
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Offsets
from turnout.kafka.security import for_java
from turnout.pipeline.manifest import Manifest
from turnout.pipeline.pipeline import KafkaOptions, Pipeline
from turnout.pipeline.plan import Plan
from turnout.schema import Topics

MESSAGES = 100
"""Of each partition, at most: enough for everything on their way to be used once."""

LONGEST_SECONDS = 30.0
POLL_SECONDS = 0.1

log = logging.getLogger(__name__)


class Rehearsal:
    def __init__(self, config: Config, spark: Callable[[], SparkSession], data: Cluster, bus: Cluster) -> None:
        self._spark, self._data, self._bus = spark, data, bus
        self._schema, self._trigger, self._changelog = config.join_schema(), config.spark.trigger, config.changelog

    def run(self, topics: Topics, given_up: Callable[[], bool]) -> None:
        """It is for speed only: what goes wrong will be said when it matters."""
        try:
            self._run(topics, given_up)
        except Exception as error:  # noqa: BLE001 - of a Spark that is being stopped anything may come
            if not given_up():
                log.info("Spark could not be warmed up: %s", error)

    def _run(self, topics: Topics, given_up: Callable[[], bool]) -> None:
        spark, plan = self._spark(), self._plan(topics)
        if given_up():
            return
        # Not in the state directory, which several that stand by may share.
        with tempfile.TemporaryDirectory(prefix="turnout-rehearsal-", ignore_cleanup_errors=True) as home:
            self._play(spark, plan, f"{home}/checkpoint", given_up)

    def _play(self, spark: SparkSession, plan: Plan, checkpoint: str, given_up: Callable[[], bool]) -> None:
        began, manifest = time.monotonic(), plan.manifest
        own_topics = [manifest.changelog_topic, manifest.rejected_topic]
        kafka = KafkaOptions(for_java(self._data.credentials.properties), for_java(self._bus.credentials.properties))
        pipeline = Pipeline(spark, plan, checkpoint, self._schema, kafka, self._trigger)
        try:
            self._bus.create_topics(own_topics, 1, replication=self._changelog.replication)
            pipeline.catch_up(given_up)
            if given_up():
                return
            pipeline.go_live()
            pipeline.wait_until_it_runs(given_up)
            self._wait_for_rows(plan, given_up)
            log.info("Spark is warm, after %.1f s", time.monotonic() - began)
        finally:
            pipeline.stop()
            with suppress(KafkaError):  # `turnout gc` finds them
                self._bus.delete_topics(own_topics)

    def _plan(self, topics: Topics) -> Plan:
        names = (topics.left, topics.right)
        starts = {topic: self._last(topic) for topic in names}
        texts = {topic: {str(partition): offset for partition, offset in at.items()} for topic, at in starts.items()}
        manifest = Manifest(uuid.uuid4().hex[:12], topics, texts, {}, "", prefix=self._changelog.prefix)
        return Plan(manifest, False, self._data.states(names), starts, True)

    def _last(self, topic: str) -> Offsets:
        first = self._data.start_offsets(topic)
        return {part: max(first.get(part, 0), end - MESSAGES) for part, end in self._data.end_offsets(topic).items()}

    def _wait_for_rows(self, plan: Plan, given_up: Callable[[], bool]) -> None:
        """Until the first ones have come out, if there are messages at all."""
        ends = {topic: self._data.end_offsets(topic) for topic in plan.positions}
        if not any(
            end > plan.positions[topic].get(part, end) for topic, at in ends.items() for part, end in at.items()
        ):
            return
        deadline = time.monotonic() + LONGEST_SECONDS
        own_topics = (plan.manifest.changelog_topic, plan.manifest.rejected_topic)
        while not given_up() and time.monotonic() < deadline:
            if any(end for topic in own_topics for end in self._bus.end_offsets(topic).values()):
                return
            time.sleep(POLL_SECONDS)
