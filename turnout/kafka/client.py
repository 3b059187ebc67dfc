"""One Kafka cluster as Turnout needs it: topics, positions, an assigned reader, a publisher.

Readers are assigned, never subscribed: no consumer group is needed, and none that died can hold up a restart.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import NewTopic, OffsetSpec

from turnout.errors import ConfigError, KafkaError, NotAllowed, TopicMissing
from turnout.kafka.credentials import Credentials
from turnout.kafka.link import AnyClient, Link, NoAnswer, Settings
from turnout.kafka.reasons import Reasons, is_passing, text_of
from turnout.kafka.renewal import Renewal
from turnout.kafka.topic_state import TopicState
from turnout.properties import KafkaProperties

REQUEST_SECONDS = 10.0
RETRY_SECONDS = 0.02
# How long the publisher believes that a topic may have been created a moment ago, and not be known everywhere yet.
NEW_TOPIC_SECONDS = 2.0
DEFAULT_LARGEST_BYTES = 1_000_000
"""Of a record that is published, unless the client's properties say something else: what brokers take by default."""

BROKERS_DEFAULT = 0
"""Copies of a topic's records: as many as the brokers are configured for."""

# The client goes on by itself; and whoever assigns partitions needs no group, however much the client asks for it.
_PASSED_OVER = (
    BrokerError._TRANSPORT,
    BrokerError._ALL_BROKERS_DOWN,
    BrokerError.GROUP_AUTHORIZATION_FAILED,
)

Offsets = Mapping[int, int]
"""Partition -> offset."""


class Record(NamedTuple):
    """A record as it came, with its position. There are thousands a second: a tuple is made in a third of the time."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True)
class Place:
    """Where something was found in a partition; both are negative if nothing was."""

    offset: int
    timestamp_ms: int


Found = Mapping[tuple[str, int], Place]
"""By topic and partition."""


class Cluster:
    """A cluster and the login to it, which may change while it is used: see turnout.kafka.renewal."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties if isinstance(properties, KafkaProperties) else KafkaProperties(properties)
        self._renewal = Renewal(self.properties)

    @property
    def _link(self) -> Link:
        return self._renewal.link

    @property
    def credentials(self) -> Credentials:
        """Those that are used now. They are others, not equal ones, once the login has changed."""
        return self._link.credentials

    @property
    def login_trouble(self) -> str | None:
        """Why a login that has changed is not used; the one before goes on."""
        return self._renewal.trouble

    @property
    def bootstrap(self) -> str:
        return self._link.bootstrap

    def topics(self) -> dict[str, int]:
        """Every topic that can be seen, with its number of partitions."""
        link = self._link
        try:
            metadata = link.admin.list_topics(timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise link.explained(error, "the list of topics") from None
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that are not there."""
        return [name for name, state in self.describe(names).items() if state is None]

    def partitions(self, topic: str, seconds: float | None = None) -> tuple[int, ...]:
        return self.states([topic], seconds)[topic].partitions

    def states(self, topics: Sequence[str], seconds: float | None = None) -> dict[str, TopicState]:
        """What these topics are now; one that is not there is an error."""
        found: dict[str, TopicState] = {}
        for topic, state in self.describe(topics, seconds).items():
            if state is None:
                raise _missing(topic, self.bootstrap)
            found[topic] = state
        return found

    def describe(self, topics: Sequence[str], seconds: float | None = None) -> dict[str, TopicState | None]:
        """Topic -> what it is now, None if it is not there."""
        self._renewal.look(topics)
        try:
            return self._link.describe(topics, REQUEST_SECONDS if seconds is None else seconds)
        except NoAnswer:
            if self.login_trouble is None:
                raise
            raise NoAnswer(f"{self.login_trouble}; nor does the one before") from None

    def end_offsets(self, topic: str, seconds: float | None = None) -> Offsets:
        """`seconds` are for each of the two questions that it takes."""
        return self._offsets(topic, OffsetSpec.latest(), REQUEST_SECONDS if seconds is None else seconds)

    def start_offsets(self, topic: str) -> Offsets:
        return self._offsets(topic, OffsetSpec.earliest(), REQUEST_SECONDS)

    def _offsets(self, topic: str, spec: OffsetSpec, seconds: float) -> Offsets:
        asked = {TopicPartition(topic, partition): spec for partition in self.partitions(topic, seconds)}
        link = self._link
        deadline = time.monotonic() + seconds
        while True:
            try:
                answers = link.admin.list_offsets(asked, isolation_level=_isolation(link), request_timeout=seconds)
                return {at.partition: answer.result().offset for at, answer in answers.items()}
            except KafkaException as error:
                # A topic that was created a moment ago has no leader yet, as far as the client knows.
                if not is_passing(error) or time.monotonic() > deadline:
                    raise link.explained(error, f"offsets of topic {topic!r}") from None
                time.sleep(RETRY_SECONDS)

    def find(self, partitions: Sequence[tuple[str, int]], spec: OffsetSpec) -> Found:
        """What is asked for, in as many partitions as possible: one that cannot be asked about is left out."""
        asked = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        if not asked:
            return {}
        link = self._link
        answers = link.admin.list_offsets(asked, isolation_level=_isolation(link), request_timeout=REQUEST_SECONDS)
        found: dict[tuple[str, int], Place] = {}
        for at, answer in answers.items():
            with suppress(KafkaException):
                place = answer.result()
                found[at.topic, at.partition] = Place(place.offset, place.timestamp)
        return found

    def newest(self, partitions: Sequence[tuple[str, int]]) -> Found:
        """The record with the latest time of each."""
        return self.find(partitions, OffsetSpec.max_timestamp())

    def last_messages(self, topic: str, starts: Offsets, ends: Offsets) -> Offsets:
        """The offset of each partition's last message from its start on and before its end; none where there is none.

        It need not be the one before the end: compaction and transactions leave offsets without a message."""
        spans = {part: (starts.get(part, 0), end) for part, end in ends.items() if end > starts.get(part, 0)}
        if not spans:
            return {}
        reader = Reader(self._link, [TopicPartition(topic, part, end - 1) for part, (_, end) in spans.items()])
        try:
            return reader.last_before(topic, spans)
        finally:
            reader.close()

    def create_topics(
        self,
        names: Sequence[str],
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        replication: int = BROKERS_DEFAULT,
    ) -> None:
        """Create topics, and wait until they can be used; one that is there already is left as it is."""
        self._renewal.look(names)
        link = self._link
        copies = -1 if replication == BROKERS_DEFAULT else replication  # as Kafka has it
        new = [NewTopic(name, partitions, copies, config=dict(config or {})) for name in names]
        for name, done in link.admin.create_topics(new, **_within(REQUEST_SECONDS)).items():
            try:
                done.result()
            except KafkaException as error:
                if error.args[0].code() != BrokerError.TOPIC_ALREADY_EXISTS:
                    raise link.explained(error, f"cannot create topic {name!r}") from None
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
        link = self._link
        for name, done in link.admin.delete_topics(list(names), **_within(REQUEST_SECONDS)).items():
            try:
                done.result()
            except KafkaException as error:
                if error.args[0].code() != BrokerError.UNKNOWN_TOPIC_OR_PART:
                    raise link.explained(error, f"cannot delete topic {name!r}") from None

    def reader(self, topics: Sequence[str]) -> "Reader":
        """A reader of all partitions of `topics`, from their beginning."""
        at = [TopicPartition(topic, partition, 0) for topic in topics for partition in self.partitions(topic)]
        return Reader(self._link, at)

    def publisher(self, largest_bytes: int | None = None) -> "Publisher":
        """`largest_bytes` of a record; None: as the client's properties have it."""
        return Publisher(self, {} if largest_bytes is None else {"message.max.bytes": largest_bytes})


class Reader:
    """Reads assigned partitions from their beginning, in batches, never committing anything."""

    BATCH = 20_000

    def __init__(self, link: Link, at: Sequence[TopicPartition]) -> None:
        self._reasons = Reasons()
        self._consumer = _made(
            link,
            Consumer,
            self._reasons,
            {
                "group.id": "turnout",  # asked for by the client, used by nobody: nothing is committed
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,  # the end of a partition may be a mark that is no record
                "fetch.error.backoff.ms": 20,  # the default, 500, is how long a quiet topic's first record may wait
                "fetch.message.max.bytes": 16 * 1024 * 1024,
                "receive.message.max.bytes": 512 * 1024 * 1024,  # one changelog record may be 90 MiB
            },
        )
        self._consumer.assign(list(at))
        self._positions = {(part.topic, part.partition): 0 for part in at}

    @property
    def trouble(self) -> str | None:
        """Why nothing comes, as far as the client has said; None once something has come."""
        return self._reasons.reason

    def poll(self, seconds: float) -> list[Record]:
        """What has come, at once when there is something; nothing after `seconds`, or at the end of a partition."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        # consume() waits for a full batch until its time-out; with none it takes what is there.
        messages = [first, *self._consumer.consume(self.BATCH, 0)]
        records = [record for message in messages if (record := self._record(message)) is not None]
        if records:
            self._reasons.forget()
        return records

    def _record(self, message: Message) -> Record | None:
        if (error := message.error()) is not None:
            self._take_error(message, error)
            return None
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        self._positions[topic, partition] = offset + 1
        headers: Any = message.headers() or ()  # what is read comes as pairs, whatever its type says
        return Record(topic, partition, offset, message.timestamp()[1], message.key(), message.value(), headers)

    def _take_error(self, message: Message, error: BrokerError) -> None:
        if error.code() == BrokerError._PARTITION_EOF:
            self._positions[message.topic() or "", message.partition() or 0] = message.offset() or 0
        elif error.retriable() or error.code() in _PASSED_OVER:
            pass
        elif message.topic() is None and not error.fatal():  # of a connection: the client makes another
            self._reasons.note(error)
        else:
            raise KafkaError(f"reading {message.topic()}/{message.partition()}: {error.str()}")

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
                why = f": {self.trouble}" if self.trouble else ""
                raise KafkaError(
                    f"the last messages of topic {topic!r} could not be read in {REQUEST_SECONDS:g} s{why}"
                )
        return found

    def _seek(self, topic: str, partition: int, offset: int) -> None:
        self._positions[topic, partition] = 0
        self._consumer.seek(TopicPartition(topic, partition, offset))

    def close(self) -> None:
        self._consumer.close()


class Publisher:
    """Publishes single records and waits until the broker has them. Thread-safe."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self._cluster, self._settings = cluster, settings
        self._connection: _Connection | None = None
        self._lock = threading.Lock()

    def publish(
        self, topic: str, value: bytes | None, key: bytes | None = None, *, headers: Sequence[tuple[str, bytes]] = ()
    ) -> tuple[int, int]:
        """Where the record went: partition and offset."""
        [at] = self._connected().publish(topic, [(key, value)], headers)
        return at

    def publish_all(self, topic: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Keys and values, in this order. If it fails, some of them may have come."""
        self._connected().publish(topic, records)

    def _connected(self) -> "_Connection":
        """With the login as it is now."""
        with self._lock:
            link = self._cluster._link
            if self._connection is None or self._connection.link is not link:
                self._connection = _Connection(link, self._settings)
            return self._connection


class _Connection:
    """A publisher with one login."""

    def __init__(self, link: Link, settings: Settings) -> None:
        self.link, self._reasons = link, Reasons()
        self._producer = _made(
            link,
            Producer,
            self._reasons,
            {
                **settings,
                "linger.ms": 0,
                "max.in.flight.requests.per.connection": 1,  # what is sent again comes before what is sent after it
                "delivery.timeout.ms": int(REQUEST_SECONDS * 1000),
                "topic.metadata.propagation.max.ms": int(NEW_TOPIC_SECONDS * 1000),
            },
        )

    def publish(
        self,
        topic: str,
        records: Sequence[tuple[bytes | None, bytes | None]],
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> list[tuple[int, int]]:
        delivered: list[tuple[BrokerError | None, Message]] = []
        try:
            for key, value in records:
                self._producer.produce(
                    topic, value, key, headers=list(headers), on_delivery=lambda *answer: delivered.append(answer)
                )
        except (KafkaException, BufferError) as error:
            raise self._refused(topic, text_of(error)) from None
        # Longer than a delivery may take: what was not delivered by then never will be.
        self._producer.flush(REQUEST_SECONDS + 1)
        if len(delivered) < len(records):
            raise self._refused(topic, self._reasons.reason or f"no answer in {REQUEST_SECONDS:g} s")
        for failure, _ in delivered:
            if failure is not None:
                raise self._failed(topic, failure)
        self._reasons.forget()
        return [(message.partition() or 0, message.offset() or 0) for _, message in delivered]

    def _failed(self, topic: str, failure: BrokerError) -> KafkaError:
        match failure.code():
            case BrokerError.UNKNOWN_TOPIC_OR_PART:
                return _missing(topic, self.link.bootstrap)
            case BrokerError.TOPIC_AUTHORIZATION_FAILED:
                return NotAllowed(
                    f"this login may not write to topic {topic!r} on {self.link.bootstrap}: "
                    "ask for the right to WRITE to it, or publish the message yourself"
                )
            case BrokerError._MSG_TIMED_OUT:
                return self._refused(topic, self._reasons.reason or failure.str())
            case _:
                return self._refused(topic, failure.str())

    def _refused(self, topic: str, why: str) -> KafkaError:
        return KafkaError(f"cannot publish to topic {topic!r} on {self.link.bootstrap}: {why}")


def _made(link: Link, kind: Callable[[dict[str, Any]], AnyClient], reasons: Reasons, settings: Settings) -> AnyClient:
    """A client for a login that has worked before: that it does not any more is no mistake in the configuration."""
    try:
        return link.make(kind, reasons, settings)
    except ConfigError as error:
        raise KafkaError(str(error)) from None


def _isolation(link: Link) -> IsolationLevel:
    return IsolationLevel.READ_COMMITTED if link.reads_committed else IsolationLevel.READ_UNCOMMITTED


def _within(seconds: float) -> dict[str, float]:
    """For the brokers to agree on a change, and for their answer: the client waits a minute for each by itself."""
    return {"operation_timeout": seconds, "request_timeout": seconds}


def _missing(topic: str, bootstrap: str) -> TopicMissing:
    return TopicMissing(f"topic {topic!r} does not exist on {bootstrap}: create it, or name another")
