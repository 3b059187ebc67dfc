"""Everything on this machine: an embedded Kafka, two pairs of sample topics, Spark, the server and its page."""

import json
import logging
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from turnout.config import FILE_NAME, Config, SparkConfig, Start, to_yaml
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster
from turnout.properties import KafkaProperties
from turnout.samples import FLAVOURS, Row, Samples
from turnout.schema import Topics

OTHER_SUFFIX = "_b"
"""Of the topics to switch to."""

PAIR_MESSAGES_PER_SECOND = 20
"""A gentle pace: a person can follow it."""

SAMPLE_TOPIC = {
    # A demo that runs for days must not fill the disk, nor take longer and longer to catch up with a topic.
    "retention.ms": "600000",
    "segment.ms": "60000",
}

READY_SECONDS = 180.0
"""A demo may meet a slow machine that is busy with other things: the first build also waits for Spark to start."""

log = logging.getLogger(__name__)


def demo_config(config: Config, bootstrap: str, state_dir: Path, port: int) -> Config:
    """The tables and join of a config, on the demo's own Kafka and on local Spark.

    Topics are read from their beginning and one row is kept for a key: every table is full from the first moment,
    also after a switch, and rows change in place.
    """
    tables = {
        name: table.model_copy(update={"start": Start.EARLIEST, "keep": 1}) for name, table in config.tables.items()
    }
    return config.model_copy(
        update={
            "kafka": KafkaProperties({"bootstrap.servers": bootstrap}),
            "bus": KafkaProperties({}),
            "control": config.control.model_copy(update={"kafka": KafkaProperties({})}),
            "spark": SparkConfig(),
            "serve": config.serve.model_copy(update={"port": port}),
            "state_dir": state_dir,
            "switch": config.switch.model_copy(update={"ready_timeout_seconds": READY_SECONDS}),
            "tables": tables,
        }
    )


def topic_pairs(config: Config) -> tuple[Topics, Topics]:
    """The config's own topics, and those to switch to."""
    left, right = (config.tables[name].topic for name in (config.join.left, config.join.right))
    return Topics(left, right), Topics(left + OTHER_SUFFIX, right + OTHER_SUFFIX)


def clean(state_dir: Path) -> None:
    """Makes the directory new and empty."""
    # Renamed first: a broker that is just ending in it goes on in the old one.
    old = state_dir.with_name(state_dir.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    with suppress(FileNotFoundError):
        state_dir.rename(old)
    shutil.rmtree(old, ignore_errors=True)
    state_dir.mkdir(parents=True)


def create_topics(config: Config) -> None:
    """The control topic and both pairs; those that are there already stay as they are."""
    Cluster(config.control.kafka or config.kafka).create_topics([config.control.topic])
    samples = [topic for pair in topic_pairs(config) for topic in (pair.left, pair.right)]
    Cluster(config.kafka).create_topics(samples, 1, SAMPLE_TOPIC)


def prepare(config: Config) -> None:
    """The topics, and a file by which other commands find this demo."""
    create_topics(config)
    (config.state_dir / FILE_NAME).write_text(to_yaml(config.masked()), "utf-8")


class Producers:
    """One thread that sends to both pairs: first a message for each key, then at a steady pace."""

    def __init__(self, config: Config) -> None:
        self._publisher = Cluster(config.kafka).publisher()
        schema = config.join_schema()
        samples = [Samples(schema, flavour) for flavour in FLAVOURS]
        self._pairs = list(zip(topic_pairs(config), samples, strict=True))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="producers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        for topics, samples in self._pairs:
            self._send(topics.left, samples.every_left())
            self._send(topics.right, samples.every_right())
        while not self._stopping.wait(2 / PAIR_MESSAGES_PER_SECOND):
            for topics, samples in self._pairs:
                self._send(topics.left, [samples.left()])
                self._send(topics.right, [samples.right()])

    def _send(self, topic: str, rows: Sequence[Row]) -> None:
        try:
            for row in rows:
                if not self._stopping.is_set():
                    self._publisher.publish(topic, json.dumps(row).encode())
        except KafkaError as error:
            if not self._stopping.is_set():
                log.warning("A sample was not sent: %s", error)
