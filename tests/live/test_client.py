import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.live.rig import Sender
from tests.waiting import in_time, until
from turnout.errors import KafkaError, TopicMissing
from turnout.java import JavaParts
from turnout.kafka import link
from turnout.kafka.client import Cluster, Offsets, Reader, Record
from turnout.kafka.embedded import EmbeddedBroker

NOBODY = "127.0.0.1:1"
"""An address where nothing answers."""


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Cluster:
    return Cluster({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def sender(broker: EmbeddedBroker) -> Sender:
    return Sender(broker.bootstrap)


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of three partitions."""
    name = fresh()
    cluster.create_topics([name], 3)
    return name


def fresh() -> str:
    """The name of a topic that is not there."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def reading(cluster: Cluster, topic: str) -> Iterator[Reader]:
    reader = cluster.reader([topic])
    yield reader
    reader.close()


def read(reader: Reader, topic: str, ends: Offsets) -> list[Record]:
    """All records up to these offsets."""
    records: list[Record] = []

    def reached() -> bool:
        records.extend(reader.poll(0.1))
        return reader.reached(topic, ends)

    until(reached, f"{topic} is read up to {ends}")
    return records


# -- topics


def test_topics_that_are_not_there_are_found_missing(cluster: Cluster, topic: str) -> None:
    absent = fresh()
    assert cluster.missing([topic, absent]) == [absent]
    assert cluster.missing([topic]) == []
    assert cluster.missing([]) == []


def test_all_topics_are_listed_with_their_partitions(cluster: Cluster, topic: str) -> None:
    assert cluster.topics()[topic] == 3
    assert cluster.partitions(topic) == (0, 1, 2)


def test_a_missing_topic_is_an_error_that_names_it_and_the_address(cluster: Cluster) -> None:
    absent = fresh()
    for ask in (cluster.partitions, cluster.end_offsets, cluster.start_offsets, lambda name: cluster.reader([name])):
        with pytest.raises(TopicMissing) as error:
            ask(absent)
        assert str(error.value) == f"topic '{absent}' does not exist on {cluster.bootstrap}: create it, or name another"


def test_a_name_that_kafka_does_not_take_is_an_error(cluster: Cluster) -> None:
    with pytest.raises(KafkaError, match=r"topic 'a b' on .*: .*[Ii]nvalid"):
        cluster.missing(["a b"])
    with pytest.raises(KafkaError, match=r"cannot create topic 'a b' on .*: .*invalid"):
        cluster.create_topics(["a b"])


def test_a_topic_may_be_created_twice_and_stays_as_it_is(cluster: Cluster, topic: str, sender: Sender) -> None:
    sender.send(topic, b"x", 1)
    cluster.create_topics([topic, other := fresh()], 5)
    assert cluster.topics()[topic] == 3
    assert cluster.topics()[other] == 5
    assert cluster.end_offsets(topic) == {0: 0, 1: 1, 2: 0}


def test_a_topic_may_be_deleted_twice(cluster: Cluster, topic: str) -> None:
    cluster.delete_topics([topic])
    cluster.delete_topics([topic, fresh()])
    until(lambda: cluster.missing([topic]) == [topic], "the topic is gone")


def test_a_new_topic_has_offsets_at_once(cluster: Cluster) -> None:
    for _ in range(5):
        cluster.create_topics([name := fresh()], 3)
        assert cluster.end_offsets(name) == cluster.start_offsets(name) == {0: 0, 1: 0, 2: 0}


def test_a_client_that_has_dropped_all_brokers_is_replaced(
    cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As librdkafka does now and then with brokers that were frozen: it then never finds one again."""
    monkeypatch.setattr(link, "ANEW_SECONDS", 0.0)
    lost = cluster._link.admin = AdminClient({"bootstrap.servers": NOBODY, "log_level": 0})
    with pytest.raises(link.NoAnswer):
        cluster.describe([topic], 0.5)
    until(lambda: has_described(cluster, topic), "another client answers")
    assert cluster._link.admin is not lost
    replaced = cluster._link.admin
    assert has_described(cluster, topic)
    assert cluster._link.admin is replaced, "one that works is kept"


def has_described(cluster: Cluster, topic: str) -> bool:
    with suppress(link.NoAnswer):
        return cluster.describe([topic])[topic] is not None
    return False


def test_asking_for_a_topic_does_not_create_it(parts: JavaParts, tmp_path: Path) -> None:
    """As most brokers do by default when they are asked by a client that is less careful."""
    willing = EmbeddedBroker(tmp_path, parts.broker, properties={"auto.create.topics.enable": "true"})
    with willing as broker:
        cluster = Cluster({"bootstrap.servers": broker.bootstrap})
        assert cluster.missing(["absent"]) == ["absent"]
        for ask in (cluster.partitions, cluster.end_offsets, lambda name: cluster.reader([name])):
            with pytest.raises(TopicMissing):
                ask("absent")
        assert cluster.missing(["absent"]) == ["absent"]
        assert cluster.topics() == {}


# -- reading


def test_a_reader_reads_all_partitions_of_all_topics_from_the_beginning(
    cluster: Cluster, topic: str, sender: Sender
) -> None:
    cluster.create_topics([other := fresh()])
    for number in range(6):
        sender.send(topic, f"{number}".encode(), partition=number % 3, timestamp_ms=1_000 + number, key=b"k")
    sender.send(other, None)
    reader = cluster.reader([topic, other])
    records = read(reader, topic, cluster.end_offsets(topic)) + read(reader, other, {0: 1})
    reader.close()
    assert sorted(records, key=lambda record: (record.topic == other, record.timestamp_ms))[:6] == [
        Record(topic, number % 3, number // 3, 1_000 + number, b"k", f"{number}".encode()) for number in range(6)
    ]
    assert [(record.key, record.value) for record in records if record.topic == other] == [(None, None)]


def test_a_reader_has_reached_the_end_of_empty_partitions(reading: Reader, topic: str) -> None:
    assert reading.reached(topic, {0: 0, 1: 0, 2: 0})
    assert not reading.reached(topic, {0: 1})


def test_poll_returns_at_once_when_there_is_something(reading: Reader, topic: str, sender: Sender) -> None:
    sender.send(topic, b"1")
    read(reading, topic, {0: 1})
    for number in range(5):
        sender.send(topic, f"{number}".encode())
        records: list[Record] = []
        with in_time(5, "it returns"):
            while not records:
                records = reading.poll(30)
        assert [record.value for record in records] == [f"{number}".encode()]


def test_poll_returns_nothing_after_its_time(reading: Reader, topic: str) -> None:
    with in_time(5, "it returns"):
        began = time.monotonic()
        while time.monotonic() - began < 0.2:
            assert reading.poll(0.05) == []


def test_many_records_come_in_few_batches(reading: Reader, topic: str, broker: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(5_000):
        producer.produce(topic, str(number).encode(), partition=number % 3)
    producer.flush(10)
    polls: list[int] = []
    while sum(polls) < 5_000:
        polls.append(len(reading.poll(10)))
    assert sum(polls) == 5_000
    assert len(polls) < 1_000


def test_a_large_record_is_read(cluster: Cluster, broker: EmbeddedBroker) -> None:
    cluster.create_topics([name := fresh()], config={"max.message.bytes": "30000000"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 30_000_000, "log_level": 0})
    producer.produce(name, b"x" * 25_000_000)
    assert producer.flush(30) == 0
    reader = cluster.reader([name])
    (record,) = read(reader, name, {0: 1})
    reader.close()
    assert record.value == b"x" * 25_000_000


def test_a_topic_written_in_transactions_is_read_to_its_end(cluster: Cluster, broker: EmbeddedBroker) -> None:
    """Its last offset is the mark of a commit, which is no record."""
    cluster.create_topics([name := fresh()])
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, b"1")
    producer.commit_transaction(30)
    until(lambda: cluster.end_offsets(name) == {0: 2}, "the commit is marked")
    reader = cluster.reader([name])
    assert [record.value for record in read(reader, name, {0: 2})] == [b"1"]
    reader.close()


# -- publishing


def test_a_publisher_says_where_the_record_went(cluster: Cluster, topic: str, reading: Reader) -> None:
    publisher = cluster.publisher()
    places = [publisher.publish(topic, f"{number}".encode()) for number in range(5)]
    records = read(reading, topic, cluster.end_offsets(topic))
    found = {(record.partition, record.offset): record.value for record in records}
    assert found == {place: f"{number}".encode() for number, place in enumerate(places)}


def test_what_cannot_be_published_is_an_error_that_says_why(cluster: Cluster, topic: str) -> None:
    with pytest.raises(KafkaError, match=rf"cannot publish to topic '{topic}' on .*: .*size too large"):
        cluster.publisher().publish(topic, b"x" * 5_000_000)


def test_publishing_to_a_missing_topic_says_that_it_is_missing(cluster: Cluster) -> None:
    absent = fresh()
    with pytest.raises(TopicMissing, match=f"topic '{absent}' does not exist on {cluster.bootstrap}: create it"):
        cluster.publisher().publish(absent, b"x")


# -- nobody there


@pytest.mark.parametrize(
    "ask",
    [
        lambda cluster: cluster.topics(),
        lambda cluster: cluster.missing(["a", "b", "c"]),
        lambda cluster: cluster.end_offsets("a"),
        lambda cluster: cluster.reader(["a"]),
        lambda cluster: cluster.create_topics(["a"]),
        lambda cluster: cluster.delete_topics(["a"]),
        lambda cluster: cluster.publisher().publish("a", b"x"),
    ],
    ids=["topics", "missing", "offsets", "read", "create", "delete", "publish"],
)
def test_a_broker_that_does_not_answer_is_an_error_that_names_it_soon(
    ask: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.kafka.client.REQUEST_SECONDS", 0.5)
    with in_time(10, "it says so"), pytest.raises(KafkaError, match=NOBODY):
        ask(Cluster({"bootstrap.servers": NOBODY}))  # type: ignore[operator]


def test_a_broker_that_does_not_answer_comes_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.kafka.client.REQUEST_SECONDS", 0.5)
    with pytest.raises(KafkaError, match=r"check that it runs, that `bootstrap.servers` names it, and the login"):
        Cluster({"bootstrap.servers": NOBODY}).missing(["a"])
