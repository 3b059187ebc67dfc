import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient, NewTopic

from tests.processes import is_running, until_gone
from tests.waiting import until
from turnout.errors import KafkaError
from turnout.java import JavaParts
from turnout.kafka.broker_config import LARGEST_RECORD_BYTES
from turnout.kafka.embedded import EmbeddedBroker

QUIET = {"log_level": 0}
"""librdkafka would write to the terminal about each broker that these tests stop."""

OWNER = """
import sys
from pathlib import Path
from turnout.kafka.embedded import EmbeddedBroker
broker = EmbeddedBroker(Path(sys.argv[1]), [Path(jar) for jar in sys.argv[2:]])
broker.start()
print(broker.pid, broker.bootstrap, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def own_broker(parts: JavaParts, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that a test may stop and break; not started yet."""
    broker = EmbeddedBroker(tmp_path / "kafka", parts.broker)
    yield broker
    broker.stop()


def create(bootstrap: str, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(10)


def produce(bootstrap: str, topic: str, *values: bytes, key: bytes | None = None) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": LARGEST_RECORD_BYTES, **QUIET})
    for value in values:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0, "not all messages were taken"


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    """All that is in the topic now, from its beginning."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.partition.eof": True, **QUIET})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[bytes | None] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, "the broker did not answer"
            if error := message.error():
                assert error.code() == ClientError._PARTITION_EOF, error
                return found
            found.append(message.value())
    finally:
        consumer.close()


def cluster_id(bootstrap: str) -> str | None:
    cluster: str | None = AdminClient({"bootstrap.servers": bootstrap, **QUIET}).list_topics(timeout=10).cluster_id
    return cluster


def test_messages_go_in_and_come_out(broker: EmbeddedBroker) -> None:
    create(broker.bootstrap, "in-and-out")
    produce(broker.bootstrap, "in-and-out", b"one", b"two")
    assert values(broker.bootstrap, "in-and-out") == [b"one", b"two"]


def test_a_record_of_almost_the_largest_size_goes_through(broker: EmbeddedBroker) -> None:
    create(broker.bootstrap, "large")
    large = os.urandom(LARGEST_RECORD_BYTES - 1024)
    produce(broker.bootstrap, "large", large)
    assert values(broker.bootstrap, "large") == [large]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    admin.delete_topics(["large"])["large"].result(10)


def test_a_missing_topic_stays_missing(broker: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    admin.list_topics("never-made", timeout=10)
    assert "never-made" not in admin.list_topics(timeout=10).topics


def test_only_this_machine_can_connect(broker: EmbeddedBroker) -> None:
    port = int(broker.bootstrap.split(":")[1])
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex(("127.0.0.2", port)) != 0


def test_a_restart_keeps_topics_data_identity_and_port(own_broker: EmbeddedBroker) -> None:
    own_broker.start()
    before = own_broker.bootstrap
    create(before, "kept")
    produce(before, "kept", b"value")
    identity = cluster_id(before)
    own_broker.stop()
    assert not own_broker.alive

    own_broker.start()
    assert own_broker.bootstrap == before, "clients know it"
    assert values(own_broker.bootstrap, "kept") == [b"value"]
    assert cluster_id(own_broker.bootstrap) == identity


def test_a_broker_that_was_killed_is_seen_to_be_dead_and_starts_again_with_its_data(own_broker: EmbeddedBroker) -> None:
    own_broker.start()
    create(own_broker.bootstrap, "survives")
    produce(own_broker.bootstrap, "survives", b"value")
    os.kill(own_broker.pid, signal.SIGKILL)
    until(lambda: not own_broker.alive, "the broker is dead")

    own_broker.start()
    assert values(own_broker.bootstrap, "survives") == [b"value"]


def test_no_broker_outlives_a_killed_owner_and_the_next_owner_can_start_at_once(
    own_broker: EmbeddedBroker, parts: JavaParts, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "kafka"), *map(str, parts.broker)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, bootstrap = owner.stdout.readline().split()
        create(bootstrap, "handed-over")
        produce(bootstrap, "handed-over", b"value")
        owner.kill()
    own_broker.start()
    assert not is_running(int(pid))
    assert values(own_broker.bootstrap, "handed-over") == [b"value"]


def test_a_stopped_broker_leaves_no_process(own_broker: EmbeddedBroker) -> None:
    own_broker.start()
    pid = own_broker.pid
    own_broker.stop()
    until_gone(pid, seconds=0.1)
    with pytest.raises(KafkaError, match="is not started"):
        _ = own_broker.bootstrap


def test_a_directory_in_use_is_said_to_be_so(
    own_broker: EmbeddedBroker, parts: JavaParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.kafka.embedded.STALE_SECONDS", 0.1)
    own_broker.start()
    with pytest.raises(KafkaError, match=rf"Another Kafka broker is using {tmp_path}.*choose another `state_dir`"):
        EmbeddedBroker(tmp_path / "kafka", parts.broker).start()
    assert own_broker.alive


def test_a_broker_that_cannot_start_shows_why(parts: JavaParts, tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, parts.broker, properties={"num.io.threads": "many"})
    with pytest.raises(KafkaError, match=r"could not be prepared(?s:.*)Invalid value many for configuration num.io"):
        broker.start()
    with EmbeddedBroker(tmp_path, parts.broker):
        pass
    with pytest.raises(
        KafkaError, match=r"The end of .*broker\.log:(?s:.*)Invalid value many for configuration num.io"
    ):
        broker.start()
    assert not broker.alive


def test_a_given_port_is_used_and_one_that_is_taken_is_named(parts: JavaParts, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        broker = EmbeddedBroker(tmp_path, parts.broker, port=port)
        with pytest.raises(KafkaError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            broker.start()
    with broker:
        assert broker.bootstrap == f"127.0.0.1:{port}"


def test_a_small_compacted_topic_is_compacted(parts: JavaParts, tmp_path: Path) -> None:
    soon = {"log.cleaner.max.compaction.lag.ms": "200", "log.cleaner.backoff.ms": "50"}
    with EmbeddedBroker(tmp_path, parts.broker, properties=soon) as broker:
        create(broker.bootstrap, "compacted", **{"cleanup.policy": "compact"})
        produce(broker.bootstrap, "compacted", *(b"%d" % n for n in range(100)), key=b"key")

        def compacted() -> bool:
            # The segment being written is closed by the next write after its time.
            produce(broker.bootstrap, "compacted", b"last", key=b"other")
            return b"0" not in values(broker.bootstrap, "compacted")

        until(compacted, "the old values are gone", seconds=30)
        assert b"99" in values(broker.bootstrap, "compacted")
