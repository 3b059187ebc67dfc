"""The users' Kafka: a broker that can be killed and frozen, with topics that come and go; and what it really holds."""

import os
import random
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.waiting import until
from turnout.java import java_parts
from turnout.kafka.embedded import EmbeddedBroker

REQUEST_SECONDS = 20.0
BELOW_EPHEMERAL = range(20_000, 32_000)
"""A client that tries to reach a dead broker on an ephemeral port may be given that very port for its own end, and
then talks to itself; or somebody else is given it, and the broker cannot come back."""

# Old timestamps are part of the game, and the default retention would delete what has them.
KEPT_FOR_EVER = {"retention.ms": "-1"}


class Condition(StrEnum):
    UP = "up"
    DOWN = "down"
    FROZEN = "frozen"


@dataclass(frozen=True)
class Sent:
    """A record that is about to be sent; a timestamp of 0 leaves it to the producer's clock."""

    topic: str
    value: bytes | None
    partition: int = 0
    timestamp_ms: int = 0


@dataclass(frozen=True)
class Held:
    """A record that the broker has."""

    partition: int
    offset: int
    timestamp_ms: int
    value: bytes | None


@dataclass(frozen=True)
class _Read:
    """What was read of a topic, and how one can tell that there is no more to read."""

    mark: tuple[str, tuple[tuple[int, int], ...]]
    records: list[Held]


class UsersKafka:
    """By the client library alone, not as Turnout sees Kafka: so an error would have to be made twice."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._broker = EmbeddedBroker(directory, java_parts(print).broker, port=self.port)
        self._client: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.bootstrap,
            "reconnect.backoff.max.ms": 300,
            "log_level": 0,
        }
        self._admin = AdminClient(self._client)
        self._read: dict[str, _Read] = {}
        self.condition = Condition.DOWN

    # -- the broker

    def start(self) -> None:
        self._broker.start()
        self.condition = Condition.UP

    def kill(self) -> None:
        os.kill(self._broker.pid, signal.SIGKILL)
        until(lambda: not self._broker.alive, "the users' broker is gone")
        self.condition = Condition.DOWN

    def freeze(self) -> None:
        os.kill(self._broker.pid, signal.SIGSTOP)
        self.condition = Condition.FROZEN

    def thaw(self) -> None:
        os.kill(self._broker.pid, signal.SIGCONT)
        self.condition = Condition.UP

    def heal(self) -> None:
        if self.condition is Condition.FROZEN:
            self.thaw()
        elif self.condition is Condition.DOWN:
            self.start()

    def stop(self) -> None:
        if self.condition is Condition.FROZEN:
            self.thaw()
        self._broker.stop()

    # -- topics

    def create(self, topic: str, partitions: int) -> None:
        def created() -> bool:
            answers = self._admin.create_topics(
                [NewTopic(topic, partitions, config=KEPT_FOR_EVER)], request_timeout=REQUEST_SECONDS
            )
            try:
                answers[topic].result()
            except KafkaException as error:
                return bool(error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
            return True

        until(created, f"topic {topic} is created", REQUEST_SECONDS)
        until(lambda: len(self.partitions(topic)) == partitions, f"topic {topic} is known", REQUEST_SECONDS)

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic], request_timeout=REQUEST_SECONDS)[topic].result()
        until(lambda: not self.partitions(topic), f"topic {topic} is gone", REQUEST_SECONDS)

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)], request_timeout=REQUEST_SECONDS)[topic].result()
        until(lambda: len(self.partitions(topic)) == total, f"topic {topic} has {total} partitions", REQUEST_SECONDS)

    def partitions(self, topic: str) -> tuple[int, ...]:
        """None at all if there is no such topic."""
        return self._described(topic)[1]

    def _described(self, topic: str) -> tuple[str, tuple[int, ...]]:
        answers = self._admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_SECONDS)
        try:
            found = answers[topic].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return "", ()
            raise
        return str(found.topic_id), tuple(part.id for part in found.partitions)

    # -- records

    def send(self, records: Sequence[Sent]) -> None:
        """Some may be lost, or sent twice, if the broker dies: what it really holds is read back."""
        producer = Producer({**self._client, "linger.ms": 5, "message.timeout.ms": int(REQUEST_SECONDS * 1000)})
        for record in records:
            producer.produce(record.topic, record.value, partition=record.partition, timestamp=record.timestamp_ms)
        producer.flush(REQUEST_SECONDS + 5)

    def held(self, topic: str) -> list[Held]:
        """All records of a topic, as they are now."""
        id_, partitions = self._described(topic)
        consumer = Consumer({**self._client, "group.id": "torture", "enable.auto.commit": False})
        try:
            ends = {part: _end(consumer, topic, part) for part in partitions}
            mark = (id_, tuple(sorted(ends.items())))
            known = self._read.get(topic)
            if known is None or known.mark != mark:
                known = self._read[topic] = _Read(mark, _read(consumer, topic, ends))
            return known.records
        finally:
            consumer.close()


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    ends = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=REQUEST_SECONDS)
    return int(ends[1])


def _read(consumer: Consumer, topic: str, ends: Mapping[int, int]) -> list[Held]:
    left = {part for part, end in ends.items() if end > 0}
    records: list[Held] = []
    consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in left])

    def all_read() -> bool:
        for message in consumer.consume(1000, 0.2):
            part, offset = message.partition() or 0, message.offset() or 0
            if message.error() is None:
                records.append(Held(part, offset, message.timestamp()[1], message.value()))
                if offset + 1 >= ends[part]:
                    left.discard(part)
        return not left

    until(all_read, f"topic {topic} is read back", REQUEST_SECONDS)
    return sorted(records, key=lambda record: (record.partition, record.offset))


def free_port() -> int:
    """One that stays ours while nobody listens on it."""
    while True:
        port = random.SystemRandom().choice(BELOW_EPHEMERAL)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
