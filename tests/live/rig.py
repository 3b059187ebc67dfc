"""A pipeline, its changelog and the public tables on the shared broker and Spark session."""

import json
import queue
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from tests.oracle import Table
from turnout.config import Config, load
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import BuildEvent, CatchingUp, Failed, Ready, SparkStarted
from turnout.pipeline.builder import PipelineBuilder
from turnout.pipeline.running import RunningPipeline
from turnout.schema import JoinType, Topics
from turnout.tables.public import PublicTables

SEND_SECONDS = 30
BUILD_SECONDS = 180


class Sender:
    """Sends to Kafka as any producer would, and says where each message went."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 0,
                "message.max.bytes": 2_000_000,
                "log_level": 0,  # some tests stop the broker
            }
        )

    def send(
        self, topic: str, value: bytes | None, partition: int = 0, timestamp_ms: int = 0, key: bytes | None = None
    ) -> Message:
        delivered: list[Message] = []

        def note(error: object, message: Message) -> None:
            assert error is None, error
            delivered.append(message)

        # A timestamp of 0 leaves it to the producer's clock.
        self._producer.produce(topic, value, key, partition=partition, on_delivery=note, timestamp=timestamp_ms)
        self._producer.flush(SEND_SECONDS)
        return delivered[0]

    def send_all(self, topic: str, values: Sequence[bytes]) -> None:
        """All at once."""
        for value in values:
            self._producer.produce(topic, value)
        assert self._producer.flush(SEND_SECONDS) == 0

    def send_row(self, topic: str, row: Mapping[str, object]) -> Message:
        return self.send(topic, json.dumps(row).encode())


class Rig:
    def __init__(
        self,
        broker: EmbeddedBroker,
        spark: SparkSession,
        state_dir: Path,
        config: str,
        partitions: int = 1,
        bus: EmbeddedBroker | None = None,
        login: Mapping[str, str] | None = None,
        bus_login: Mapping[str, str] | None = None,
    ) -> None:
        """Where no `bus` is given, the broker with the data is it too. `login` is how Turnout reaches the data."""
        tag = uuid.uuid4().hex[:8]
        file = state_dir / "turnout.yaml"
        file.write_text(config.replace("TAG", tag))
        kafka = {"bootstrap.servers": broker.bootstrap, **(login or {})}
        bus_kafka = {"bootstrap.servers": (bus or broker).bootstrap, **(bus_login or {})}
        overrides = {f"kafka.{name}": value for name, value in kafka.items()}
        overrides |= {f"bus.{name}": value for name, value in bus_kafka.items()}
        self.config: Config = load(file, env={}, overrides={**overrides, "state_dir": str(state_dir)})
        self.cluster, self.bus = Cluster(self.config.kafka), Cluster(self.config.bus)
        join, tables = self.config.join, self.config.tables
        self.topics = Topics(tables[join.left].topic, tables[join.right].topic)
        self.admin = Cluster({"bootstrap.servers": broker.bootstrap})
        self.admin.create_topics([self.topics.left, self.topics.right], partitions)
        self.admin.create_topics([self.config.control.topic])
        self.tables = PublicTables(self.config)
        self.builder = PipelineBuilder(self.config, lambda: spark, self.cluster, self.bus, self.tables.rejected)
        self.sender = Sender(broker.bootstrap)
        self._generation = 0

    def build(self, topics: Topics | None = None) -> RunningPipeline:
        events: queue.SimpleQueue[BuildEvent] = queue.SimpleQueue()
        self.builder.build(1, topics or self.topics, events.put)
        while True:
            match event := events.get(timeout=BUILD_SECONDS):
                case SparkStarted() | CatchingUp():
                    continue
                case Ready():
                    assert isinstance(event.pipeline, RunningPipeline)
                    return event.pipeline
                case Failed():
                    raise AssertionError(event.reason)
                case _:
                    raise AssertionError(event)

    def show(self, pipeline: RunningPipeline, join: JoinType) -> None:
        self._generation += 1
        self.tables.show(self._generation, pipeline, Desired(pipeline.topics, join))

    def rows(self, name: str) -> pl.DataFrame:
        return self.tables.registry.snapshot(name).rows.drop("_row")

    def table(self, name: str) -> Table:
        return Counter(self.rows(name).rows())


USERS_ACCOUNTS = """
tables:
  users:    {topic: users-TAG,    columns: {userId: string, name: string, email: string, age: long}, keep: 3}
  accounts: {topic: accounts-TAG, columns: {userId: string, accountType: string, balance: double},   keep: 2}
join: {left: users, right: accounts, on: userId}
"""

ORDERS_PAYMENTS = """
tables:
  orders:   {topic: orders-TAG,   columns: {orderId: long, item: string, paid: boolean}, keep: 1}
  payments: {topic: payments-TAG, columns: {orderId: long, item: string, amount: double}, keep: 2, start: earliest}
join: {left: orders, right: payments, on: orderId, match: all}
"""
