"""One Kafka cluster as Turnout needs it: topics, positions, an assigned reader, a publisher.

Readers are assigned, never subscribed: no consumer group is needed, and none that died can hold up a restart.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from turnout.errors import KafkaError, TopicMissing
from turnout.kafka.security import for_librdkafka

REQUEST_SECONDS = 10.0
RETRY_SECONDS = 0.02
# How long the publisher believes that a topic may have been created a moment ago, and not be known everywhere yet.
NEW_TOPIC_SECONDS = 2.0
_UNREACHABLE = (BrokerError._TIMED_OUT, BrokerError._TRANSPORT, BrokerError._ALL_BROKERS_DOWN)
# What the client says over and over while no broker answers; the reason is in what it says besides.
_NO_REASON = (BrokerError._ALL_BROKERS_DOWN, BrokerError._TIMED_OUT)

# The client goes on by itself; and whoever assigns partitions needs no group, however much the client asks for it.
_PASSED_OVER = (
    BrokerError._TRANSPORT,
    BrokerError._ALL_BROKERS_DOWN,
    BrokerError.GROUP_AUTHORIZATION_FAILED,
)

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


@dataclass(frozen=True)
class TopicState:
    """A topic as it is now. Its id tells it from one of the same name that was deleted."""

    id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where something was found in a partition; both are negative if nothing was."""

    offset: int
    timestamp_ms: int


Found = Mapping[tuple[str, int], Place]
"""By topic and partition."""


class Cluster:
    """A cluster and the login to it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        # As Spark's connector has it, unless the configuration says otherwise to both.
        isolation = {"isolation.level": "read_uncommitted"}
        self._client: ClientConfig = {**isolation, **for_librdkafka(properties), "log_level": "2"}
        self._reason: str | None = None  # why no broker answers, as far as the client has said
        heard: dict[str, Any] = {"error_cb": self._note_error}
        self._admin = AdminClient(heard | self._client)

    @property
    def bootstrap(self) -> str:
        return self.properties["bootstrap.servers"]

    def topics(self) -> dict[str, int]:
        """Every topic that can be seen, with its number of partitions."""
        try:
            metadata = self._admin.list_topics(timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise self._silent(error) from None
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that are not there."""
        return [name for name, state in self.describe(names).items() if state is None]

    def partitions(self, topic: str) -> tuple[int, ...]:
        return self.states([topic])[topic].partitions

    def states(self, topics: Sequence[str]) -> dict[str, TopicState]:
        """What these topics are now; one that is not there is an error."""
        found: dict[str, TopicState] = {}
        for topic, state in self.describe(topics).items():
            if state is None:
                raise _missing(topic, self.bootstrap)
            found[topic] = state
        return found

    def describe(self, topics: Sequence[str], seconds: float | None = None) -> dict[str, TopicState | None]:
        """Topic -> what it is now, None if it is not there."""
        # Described, not looked up in the metadata: most brokers create a topic that the latter asks for.
        seconds = REQUEST_SECONDS if seconds is None else seconds
        answers = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=seconds)
        found: dict[str, TopicState | None] = {}
        for topic, answer in answers.items():
            try:
                state = answer.result()
                found[topic] = TopicState(str(state.topic_id), tuple(sorted(part.id for part in state.partitions)))
            except KafkaException as error:
                match error.args[0].code():
                    case BrokerError.UNKNOWN_TOPIC_OR_PART:
                        found[topic] = None
                    case code if code in _UNREACHABLE:
                        raise self._silent(error) from None
                    case _:
                        raise KafkaError(f"topic {topic!r} on {self.bootstrap}: {_text(error)}") from None
        self._reason = None
        return found

    def _silent(self, error: KafkaException) -> KafkaError:
        self._admin.poll(0)  # hear what the client has to say
        return KafkaError(
            f"Kafka at {self.bootstrap} does not answer ({self._reason or _text(error)}): "
            "check that it runs, that `bootstrap.servers` names it, and the login"
        )

    def _note_error(self, error: BrokerError) -> None:
        if error.code() not in _NO_REASON:
            self._reason = error.str()

    def end_offsets(self, topic: str) -> Offsets:
        return self._offsets(topic, OffsetSpec.latest())

    def start_offsets(self, topic: str) -> Offsets:
        return self._offsets(topic, OffsetSpec.earliest())

    def _offsets(self, topic: str, spec: OffsetSpec) -> Offsets:
        asked = {TopicPartition(topic, partition): spec for partition in self.partitions(topic)}
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            try:
                answers = self._admin.list_offsets(
                    asked, isolation_level=self._isolation, request_timeout=REQUEST_SECONDS
                )
                return {at.partition: answer.result().offset for at, answer in answers.items()}
            except KafkaException as error:
                # A topic that was created a moment ago has no leader yet, as far as the client knows.
                if not _passing(error) or time.monotonic() > deadline:
                    raise KafkaError(f"offsets of topic {topic!r} on {self.bootstrap}: {_text(error)}") from None
                time.sleep(RETRY_SECONDS)

    def find(self, partitions: Sequence[tuple[str, int]], spec: OffsetSpec) -> Found:
        """What is asked for, in as many partitions as possible: one that cannot be asked about is left out."""
        asked = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        if not asked:
            return {}
        answers = self._admin.list_offsets(asked, isolation_level=self._isolation, request_timeout=REQUEST_SECONDS)
        found: dict[tuple[str, int], Place] = {}
        for at, answer in answers.items():
            with suppress(KafkaException):
                place = answer.result()
                found[at.topic, at.partition] = Place(place.offset, place.timestamp)
        return found

    @property
    def _isolation(self) -> IsolationLevel:
        committed = self._client["isolation.level"] == "read_committed"
        return IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def last_messages(self, topic: str, starts: Offsets, ends: Offsets) -> Offsets:
        """The offset of each partition's last message from its start on and before its end; none where there is none.

        It need not be the one before the end: compaction and transactions leave offsets without a message."""
        spans = {part: (starts.get(part, 0), end) for part, end in ends.items() if end > starts.get(part, 0)}
        if not spans:
            return {}
        reader = Reader(self._client, [TopicPartition(topic, part, end - 1) for part, (_, end) in spans.items()])
        try:
            return reader.last_before(topic, spans)
        finally:
            reader.close()

    def create_topics(self, names: Sequence[str], partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create topics, and wait until they can be used; one that is there already is left as it is."""
        new = [NewTopic(name, partitions, config=dict(config or {})) for name in names]
        for name, done in self._admin.create_topics(new, **_within(REQUEST_SECONDS)).items():
            try:
                done.result()
            except KafkaException as error:
                if error.args[0].code() != BrokerError.TOPIC_ALREADY_EXISTS:
                    raise KafkaError(f"cannot create topic {name!r} on {self.bootstrap}: {_text(error)}") from None
        deadline = time.monotonic() + REQUEST_SECONDS
        while missing := self.missing(names):  # the controller has them, the broker that was asked not yet
            if time.monotonic() > deadline:
                raise KafkaError(
                    f"topic {missing[0]!r} was created on {self.bootstrap}, but is not known there after"
                    f" {REQUEST_SECONDS:g} s: see the brokers' logs"
                )
            time.sleep(RETRY_SECONDS)

    def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics; one that is gone already is no error."""
        for name, done in self._admin.delete_topics(list(names), **_within(REQUEST_SECONDS)).items():
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
        return Publisher(self._client, self.bootstrap)


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
                "enable.partition.eof": True,  # the end of a partition may be a mark that is no record
                "fetch.error.backoff.ms": 20,  # the default, 500, is how long a quiet topic's first record may wait
                "fetch.message.max.bytes": 16 * 1024 * 1024,
                "receive.message.max.bytes": 512 * 1024 * 1024,  # one changelog record may be 90 MiB
            }
        )
        self._consumer.assign(list(at))
        self._positions = {(part.topic, part.partition): 0 for part in at}

    def poll(self, seconds: float) -> list[Record]:
        """What has come, at once when there is something; nothing after `seconds`, or at the end of a partition."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        # consume() waits for a full batch until its time-out; with none it takes what is there.
        messages = [first, *self._consumer.consume(self.BATCH, 0)]
        return [record for message in messages if (record := self._record(message)) is not None]

    def _record(self, message: Message) -> Record | None:
        error = message.error()
        if error is not None:
            if error.code() == BrokerError._PARTITION_EOF:
                self._positions[message.topic() or "", message.partition() or 0] = message.offset() or 0
                return None
            if error.retriable() or error.code() in _PASSED_OVER:
                return None
            raise KafkaError(f"reading {message.topic()}/{message.partition()}: {error.str()}")
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        self._positions[topic, partition] = offset + 1
        return Record(topic, partition, offset, message.timestamp()[1], message.key(), message.value())

    def reached(self, topic: str, ends: Offsets) -> bool:
        """Has everything before `ends` been read?"""
        return all(self._positions.get((topic, partition), 0) >= end for partition, end in ends.items())

    def last_before(self, topic: str, spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Partition -> its last offset that holds a message, within a span. It must be assigned at the spans' ends."""
        found: dict[int, int] = {}
        looking = dict.fromkeys(spans, 1)  # how far before the end
        deadline = time.monotonic() + REQUEST_SECONDS
        while looking:
            for record in self.poll(RETRY_SECONDS):
                if record.offset < spans[record.partition][1]:
                    found[record.partition] = record.offset
            for part in [part for part in looking if self._positions[topic, part] >= spans[part][1]]:
                start, end = spans[part]
                back = looking.pop(part)
                if part not in found and end - back > start:  # nothing there: look twice as far back
                    looking[part] = 2 * back
                    self._seek(topic, part, max(start, end - 2 * back))
            if time.monotonic() > deadline:
                raise KafkaError(f"the last messages of topic {topic!r} could not be read in {REQUEST_SECONDS:g} s")
        return found

    def _seek(self, topic: str, partition: int, offset: int) -> None:
        self._positions[topic, partition] = 0
        self._consumer.seek(TopicPartition(topic, partition, offset))

    def close(self) -> None:
        self._consumer.close()


class Publisher:
    """Publishes single records and waits until the broker has them."""

    def __init__(self, client: ClientConfig, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer(
            {
                **client,
                "linger.ms": 0,
                "delivery.timeout.ms": int(REQUEST_SECONDS * 1000),
                "topic.metadata.propagation.max.ms": int(NEW_TOPIC_SECONDS * 1000),
            }
        )

    def publish(self, topic: str, value: bytes) -> tuple[int, int]:
        """Where the record went: partition and offset."""
        delivered: list[tuple[BrokerError | None, Message]] = []
        try:
            self._producer.produce(topic, value, on_delivery=lambda *answer: delivered.append(answer))
        except (KafkaException, BufferError) as error:
            raise self._refused(topic, _text(error)) from None
        # Longer than a delivery may take: what was not delivered by then never will be.
        self._producer.flush(REQUEST_SECONDS + 1)
        if not delivered:
            raise self._refused(topic, f"no answer in {REQUEST_SECONDS:g} s")
        failure, message = delivered[0]
        if failure is None:
            return message.partition() or 0, message.offset() or 0
        if failure.code() == BrokerError.UNKNOWN_TOPIC_OR_PART:
            raise _missing(topic, self._bootstrap)
        raise self._refused(topic, failure.str())

    def _refused(self, topic: str, why: str) -> KafkaError:
        return KafkaError(f"cannot publish to topic {topic!r} on {self._bootstrap}: {why}")


def _within(seconds: float) -> dict[str, float]:
    """For the brokers to agree on a change, and for their answer: the client waits a minute for each by itself."""
    return {"operation_timeout": seconds, "request_timeout": seconds}


def _missing(topic: str, bootstrap: str) -> TopicMissing:
    return TopicMissing(f"topic {topic!r} does not exist on {bootstrap}: create it, or name another")


def _passing(error: KafkaException) -> bool:
    cause = error.args[0]
    return isinstance(cause, BrokerError) and (
        cause.retriable() or cause.code() in (BrokerError.NOT_LEADER_FOR_PARTITION, BrokerError.LEADER_NOT_AVAILABLE)
    )


def _text(error: Exception) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, BrokerError) else str(cause)
