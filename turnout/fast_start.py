"""Makes the class archives of Kafka and Spark, by a trial run of each: `python -m turnout.fast_start`."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from pyspark.sql import SparkSession

from turnout.config import Config, built_in
from turnout.errors import TurnoutError
from turnout.java import JavaParts, find_java, java_parts
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker, broker_archive
from turnout.pipeline.builder import PipelineBuilder
from turnout.pipeline.session import EXTRA_OPTIONS, JVM_OPTIONS, spark_archive, start_session
from turnout.schema import Topics

DUMP_SECONDS = 120.0
"""Writing an archive at the end of a trial run takes Kafka about three and Spark about eight."""

ROW_SECONDS = 60.0
POLL_SECONDS = 0.1


def make_archives(parts: JavaParts, progress: Callable[[str], None]) -> None:
    """Those that are not there."""
    java = find_java()
    broker, spark = broker_archive(java, parts.broker), spark_archive(java, parts.spark)
    if not broker.file.exists():
        progress("Preparing a fast start for Kafka (once) …")
        broker.make(partial(_try_kafka, parts))
    if not spark.file.exists():
        progress("Preparing a fast start for Spark (once) …")
        spark.make(partial(_try_spark, parts))


def _try_kafka(parts: JavaParts, jvm_flags: Sequence[str]) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="turnout-") as folder,
        EmbeddedBroker(Path(folder), parts.broker, jvm_flags=jvm_flags) as broker,
    ):
        # Not by stop(), which would not wait for the archive to be written.
        os.kill(broker.pid, signal.SIGTERM)
        _until(lambda: not broker.alive, DUMP_SECONDS, "Kafka ends")


def _try_spark(parts: JavaParts, jvm_flags: Sequence[str]) -> None:
    """A pipeline from its first query to its end: its classes are those that a start needs."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnout-")))
        broker = stack.enter_context(EmbeddedBroker(folder / "kafka", parts.broker))
        config = built_in({"kafka.bootstrap.servers": broker.bootstrap, "state_dir": folder / "state"})
        kafka = Cluster({"bootstrap.servers": broker.bootstrap})
        options = {EXTRA_OPTIONS: " ".join([JVM_OPTIONS, *jvm_flags])}
        session = start_session("local", options, parts.spark, folder / "spark.log")
        stack.callback(_end, session)
        _run_pipeline(config, session, kafka)


def _run_pipeline(config: Config, session: SparkSession, kafka: Cluster) -> None:
    """Both of its queries: the one that catches up, and the one that runs in real time."""
    topics = Topics(*(config.tables[table].topic for table in (config.join.left, config.join.right)))
    kafka.create_topics([topics.left, topics.right])
    builder = PipelineBuilder(config, lambda: session, kafka, kafka, lambda _: None)
    running = builder.prepare(builder.planner.plan(topics), lambda _: None, lambda _, __: None)
    changelog = running.manifest.changelog_topic

    publisher = kafka.publisher()

    def send() -> None:
        for topic in (topics.left, topics.right):
            publisher.publish(topic, orjson.dumps({config.join_schema().key: "trial"}))

    def written() -> int:
        return sum(kafka.end_offsets(changelog).values())

    send()
    running.query.catch_up(lambda: False)
    caught_up = written()
    running.query.go_live()
    send()
    _until(lambda: written() > caught_up, ROW_SECONDS, "Spark works in real time")
    running.query.stop()


def _end(session: SparkSession) -> None:
    """Spark's process ends when it can hear no more, and writes the archive then."""
    gateway: Any = session.sparkContext._gateway
    process = gateway.proc
    session.stop()
    process.stdin.close()
    _until(lambda: process.poll() is not None, DUMP_SECONDS, "Spark's process ends")


def _until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TurnoutError(f"After {seconds:.0f} s it is still not the case that {what}.")
        time.sleep(POLL_SECONDS)


def main() -> int:
    def say(text: str) -> None:
        print(text, flush=True)

    try:
        make_archives(java_parts(say), say)
    except (TurnoutError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
