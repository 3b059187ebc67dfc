"""One Kafka cluster as Turnout needs it: topics, positions, an assigned reader, a publisher.

Readers are assigned, never subscribed: no consumer group is needed, and none that died can hold up a restart.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from turnout.errors import KafkaError, TopicMissing
from turnout.kafka.security import for_librdkafka

REQUEST_SECONDS = 10.0
RETRY_SECONDS = 0.02

ClientConfig = dict[str, str | int | float | bool]
Offsets = Mapping[int, int]
"""Partition -> offset."""


@dataclass(frozen=True)
class Record:
    """A record as it came, with its position."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Cluster:
    """A cluster and the login to it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        self._client: ClientConfig = {**for_librdkafka(properties), "log_level": "2"}
        self._admin = AdminClient(self._client)

    @property
    def bootstrap(self) -> str:
        return self.properties["bootstrap.servers"]

    def topics(self) -> dict[str, int]:
        """Every topic that can be seen, with its number of partitions."""
        metadata = self._metadata(None)
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that are not there."""
        return [name for name in names if self._partitions(name) is None]

    def partitions(self, topic: str) -> list[int]:
        partitions = self._partitions(topic)
        if partitions is None:
            raise TopicMissing(f"topic {topic!r} does not exist on {self.bootstrap}: create it, or name another")
        return partitions

    def _partitions(self, topic: str) -> list[int] | None:
        found = self._metadata(topic).topics[topic]
        if found.error is None:
            return sorted(found.partitions)
        if found.error.code() == BrokerError.UNKNOWN_TOPIC_OR_PART:
            return None
        raise KafkaError(f"topic {topic!r} on {self.bootstrap}: {found.error.str()}")

    def _metadata(self, topic: str | None):  # type: ignore[no-untyped-def]  # confluent_kafka is not typed
        try:
            if topic is None:
                return self._admin.list_topics(timeout=REQUEST_SECONDS)
            return self._admin.list_topics(topic, timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise KafkaError(
                f"Kafka at {self.bootstrap} does not answer ({_text(error)}): "
                "check that it runs and that `bootstrap.servers` names it"
            ) from None

    def end_offsets(self, topic: str) -> Offsets:
        return self._offsets(topic, OffsetSpec.latest())

    def start_offsets(self, topic: str) -> Offsets:
        return self._offsets(topic, OffsetSpec.earliest())

    def _offsets(self, topic: str, spec: OffsetSpec) -> Offsets:
        asked = {TopicPartition(topic, partition): spec for partition in self.partitions(topic)}
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            try:
                answers = self._admin.list_offsets(asked, request_timeout=REQUEST_SECONDS)
                return {at.partition: answer.result().offset for at, answer in answers.items()}
            except KafkaException as error:
                # A topic that was created a moment ago has no leader yet, as far as the client knows.
                if not _passing(error) or time.monotonic() > deadline:
                    raise KafkaError(f"offsets of topic {topic!r} on {self.bootstrap}: {_text(error)}") from None
                time.sleep(RETRY_SECONDS)
                self._metadata(topic)

    def create_topics(self, names: Sequence[str], partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create topics; one that is there already is left as it is."""
        new = [NewTopic(name, partitions, config=dict(config or {})) for name in names]
        for name, done in self._admin.create_topics(new, operation_timeout=REQUEST_SECONDS).items():
            try:
                done.result()
            except KafkaException as error:
                if error.args[0].code() != BrokerError.TOPIC_ALREADY_EXISTS:
                    raise KafkaError(f"cannot create topic {name!r} on {self.bootstrap}: {_text(error)}") from None

    def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics; one that is gone already is no error."""
        for name, done in self._admin.delete_topics(list(names), operation_timeout=REQUEST_SECONDS).items():
            try:
                done.result()
            except KafkaException as error:
                if error.args[0].code() != BrokerError.UNKNOWN_TOPIC_OR_PART:
                    raise KafkaError(f"cannot delete topic {name!r} on {self.bootstrap}: {_text(error)}") from None

    def reader(self, topics: Sequence[str]) -> "Reader":
        """A reader of all partitions of `topics`, from their beginning."""
        at = [TopicPartition(topic, partition, 0) for topic in topics for partition in self.partitions(topic)]
        return Reader(self._client, at)

    def publisher(self) -> "Publisher":
        return Publisher(self._client)


class Reader:
    """Reads assigned partitions from their beginning, in batches, never committing anything."""

    BATCH = 20_000

    def __init__(self, client: ClientConfig, at: Sequence[TopicPartition]) -> None:
        self._consumer = Consumer(
            {
                **client,
                "group.id": "turnout",  # asked for by the client, used by nobody: nothing is committed
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.error.backoff.ms": 20,  # the default, 500, is how long a quiet topic's first record may wait
                "fetch.message.max.bytes": 16 * 1024 * 1024,
                "receive.message.max.bytes": 512 * 1024 * 1024,  # one changelog record may be 100 MiB
            }
        )
        self._consumer.assign(list(at))
        self._positions = {(part.topic, part.partition): 0 for part in at}

    def poll(self, seconds: float) -> list[Record]:
        """What has come: at once when there is something, else after `seconds` an empty list."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        # consume() waits for a full batch until its time-out; with none it takes what is there.
        messages = [first, *self._consumer.consume(self.BATCH, 0)]
        return [record for message in messages if (record := self._record(message)) is not None]

    def _record(self, message: Message) -> Record | None:
        error = message.error()
        if error is not None:
            if error.retriable() or error.code() in (BrokerError._TRANSPORT, BrokerError._ALL_BROKERS_DOWN):
                return None  # librdkafka goes on by itself
            raise KafkaError(f"reading {message.topic()}/{message.partition()}: {error.str()}")
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        self._positions[topic, partition] = offset + 1
        return Record(topic, partition, offset, message.timestamp()[1], message.key(), message.value())

    def reached(self, topic: str, ends: Offsets) -> bool:
        """Has everything before `ends` been read?"""
        return all(self._positions.get((topic, partition), 0) >= end for partition, end in ends.items())

    def close(self) -> None:
        self._consumer.close()


class Publisher:
    """Publishes single records and waits until the broker has them."""

    def __init__(self, client: ClientConfig) -> None:
        self._producer = Producer({**client, "linger.ms": 0, "delivery.timeout.ms": int(REQUEST_SECONDS * 1000)})

    def publish(self, topic: str, value: bytes) -> tuple[int, int]:
        """Where the record went: partition and offset."""
        delivered: list[tuple[BrokerError | None, Message]] = []
        self._producer.produce(topic, value, on_delivery=lambda error, message: delivered.append((error, message)))
        self._producer.flush(REQUEST_SECONDS)
        if not delivered:
            raise KafkaError(f"cannot publish to topic {topic!r}: no answer in {REQUEST_SECONDS:.0f} s")
        error, message = delivered[0]
        if error is not None:
            raise KafkaError(f"cannot publish to topic {topic!r}: {error.str()}")
        return message.partition() or 0, message.offset() or 0


def _passing(error: KafkaException) -> bool:
    cause = error.args[0]
    return isinstance(cause, BrokerError) and (
        cause.retriable() or cause.code() in (BrokerError.NOT_LEADER_FOR_PARTITION, BrokerError.LEADER_NOT_AVAILABLE)
    )


def _text(error: KafkaException) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, BrokerError) else str(cause)
