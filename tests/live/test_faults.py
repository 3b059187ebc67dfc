"""What can go wrong with a build, and with a pipeline that is live: the tables go on, and come right by themselves."""

import json
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from tests.live.rig import Rig, Sender
from tests.live.running import CONFIG, RECOVERY_SECONDS, Running, Viewer, fill, first_generation
from tests.waiting import until
from turnout.java import JavaParts
from turnout.kafka.embedded import EmbeddedBroker
from turnout.orchestrator.states import State
from turnout.pipeline.manifest_files import ManifestFiles
from turnout.pipeline.pipeline import KafkaOptions


@pytest.fixture
def rig(broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> Rig:
    rig = Rig(broker, spark, tmp_path, CONFIG)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    return rig


@pytest.fixture
def running(rig: Rig) -> Iterator[Running]:
    with first_generation(rig) as running:
        yield running


@pytest.fixture
def other(rig: Rig) -> dict[str, str]:
    """A control message that switches to other topics, with fifty rows."""
    tag = uuid.uuid4().hex[:8]
    topics = (f"users-b-{tag}", f"accounts-b-{tag}")
    rig.cluster.create_topics(topics)
    fill(rig, *topics, "second")
    return dict(zip(("usersTopic", "accountsTopic"), topics, strict=True))


class Undisturbed:
    """The old generation: nothing may be left of a failed switch, and no row may be missed meanwhile."""

    def __init__(self, running: Running) -> None:
        self._running, self._rig = running, running.rig
        self._pipelines, self._topics = self._directories(), self._bus_topics()
        self._queries, self._threads = self._active(), self._own_threads()
        self._viewer = Viewer(self._rig, "final_ui", "name")

    def check(self, reason: str) -> None:
        rig = self._rig
        rig.sender.send_row(rig.topics.left, {"userId": "next", "name": "first"})
        until(lambda: rig.table("final_ui").total() == 51, "the next row of the old generation")
        assert all(names == {"first"} for names in self._viewer.seen)
        assert self._viewer.swaps == []
        self._running.status(state="live", mentioning=reason)
        assert any(reason in text for text in rig.rows("orchestrator_logs")["msg"])
        until(lambda: not self._directories() - self._pipelines, "its files are gone")
        until(lambda: not self._bus_topics() - self._topics, "its topics are gone")
        until(lambda: not self._active() - self._queries, "its query is gone")
        until(lambda: not self._own_threads() - self._threads, f"its threads are gone: {self._own_threads()}")

    def _directories(self) -> set[str]:
        return {path.name for path in (self._rig.config.state_dir / "pipelines").iterdir()}

    def _bus_topics(self) -> set[str]:
        return {topic for topic in self._rig.bus.topics() if topic.startswith("turnout-")}

    def _active(self) -> set[str]:
        return {query.id for query in self._rig.builder.session().streams.active}

    def _own_threads(self) -> set[str]:
        """Without those of Py4J, which keeps one for each connection that it may use again."""
        return {thread.name for thread in threading.enumerate() if not thread.name.startswith("Thread-")}


def test_a_topic_that_is_deleted_while_the_switch_is_built(
    rig: Rig, running: Running, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = Undisturbed(running)
    prepare = rig.builder.prepare

    def and_delete(*arguments: object) -> object:
        prepared = prepare(*arguments)  # type: ignore[arg-type]
        rig.cluster.delete_topics([other["usersTopic"]])
        return prepared

    monkeypatch.setattr(rig.builder, "prepare", and_delete)
    outcome = running.control(**other)
    assert outcome.startswith("rejected: ")
    assert other["usersTopic"] in outcome
    undisturbed.check(other["usersTopic"])


def test_a_build_that_is_never_ready(
    rig: Rig, running: Running, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = Undisturbed(running)
    impatient = rig.config.switch.model_copy(update={"ready_timeout_seconds": 3})
    monkeypatch.setattr(running.orchestrator, "_settings", impatient)
    # A message that Kafka has and Spark never gets to.
    monkeypatch.setattr(rig.builder, "last_messages", lambda *_: {("nowhere", 0): 1})
    reason = "not ready in 3 s (switch.ready_timeout_seconds)"
    assert running.control(**other) == f"rejected: {reason}"
    undisturbed.check(reason)


def test_a_query_that_spark_refuses(
    rig: Rig, running: Running, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = Undisturbed(running)
    kafka = rig.builder._options()
    refused = KafkaOptions({**kafka.data, "auto.offset.reset": "none"}, kafka.bus)
    monkeypatch.setattr(rig.builder, "_options", lambda: refused)
    outcome = running.control(**other)
    assert "auto.offset.reset" in outcome
    undisturbed.check("auto.offset.reset")


def test_a_query_that_dies_at_once(
    rig: Rig, running: Running, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = Undisturbed(running)
    kafka = rig.builder._options()
    nonsense = {**kafka.data, "key.deserializer.encoding": "UTF-8", "fetch.max.bytes": "-1"}
    monkeypatch.setattr(rig.builder, "_options", lambda: KafkaOptions(nonsense, kafka.bus))
    outcome = running.control(**other)
    assert outcome.startswith("rejected: ")
    assert "fetch.max.bytes" in outcome
    undisturbed.check("fetch.max.bytes")


def test_a_state_directory_that_cannot_be_written(
    rig: Rig, running: Running, other: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    undisturbed = Undisturbed(running)
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setattr(rig.builder._manifests, "_store", ManifestFiles(tmp_path / "file"))
    outcome = running.control(**other)
    assert outcome.startswith("rejected: the state directory cannot be written: ")
    monkeypatch.undo()
    undisturbed.check("the state directory cannot be written")


def test_a_query_that_fails_while_live_goes_on_where_it_was(rig: Rig, running: Running) -> None:
    viewer = Viewer(rig, "final_ui", "userId")
    (query,) = [query for query in rig.builder.session().streams.active if query.name.startswith(running.live.id)]
    query.stop()
    rig.sender.send_row(rig.topics.left, {"userId": "meanwhile", "name": "first"})
    until(lambda: State.DEGRADED in running.states, "it says that it is degraded")
    until(lambda: rig.table("final_ui").total() == 51, "it catches up", RECOVERY_SECONDS)
    assert all(len(names) >= 50 for names in viewer.seen), "what there was went on being served"
    until(lambda: rig.tables.status_row()["state"] == "live", "it says so, a moment after it has shown them")
    assert any("ended by itself" in text for text in rig.rows("orchestrator_logs")["msg"])


def test_a_topic_that_is_deleted_and_created_anew_while_live(rig: Rig, running: Running) -> None:
    rig.cluster.delete_topics([rig.topics.left])
    running.status(state="degraded", mentioning=f"topic '{rig.topics.left}' was deleted")
    assert rig.table("final_ui").total() == 50, "what there was goes on being served"
    until(lambda: not rig.cluster.missing([rig.topics.right]), "the other one is there")
    rig.cluster.create_topics([rig.topics.left])
    rig.sender.send_row(rig.topics.left, {"userId": "u0", "name": "second"})
    until(lambda: rig.rows("final_ui").rows() == [("u0", "second", 1.0)], "the new topic", RECOVERY_SECONDS)
    rig.sender.send_row(rig.topics.left, {"userId": "u1", "name": "second"})
    until(lambda: rig.table("final_ui").total() == 2, "the next row")
    until(lambda: len(list((rig.config.state_dir / "pipelines").iterdir())) == 1, "nothing is left of the old one")


def test_new_partitions_are_read_from_their_beginning(rig: Rig, running: Running) -> None:
    admin = AdminClient({"bootstrap.servers": rig.cluster.bootstrap})
    for done in admin.create_partitions([NewPartitions(rig.topics.left, 3)]).values():
        done.result()
    until(lambda: len(rig.cluster.partitions(rig.topics.left)) == 3, "the partitions are there")
    sender = Sender(rig.cluster.bootstrap)  # one that does not know the topic as it was
    for partition in (1, 2):
        sender.send(rig.topics.left, json.dumps({"userId": f"p{partition}", "name": "first"}).encode(), partition)
    until(lambda: rig.table("final_ui").total() == 52, "the rows of the new partitions", RECOVERY_SECONDS)
    until(lambda: rig.tables.status_row()["state"] == "live", "it says so, a moment after it has shown them")


@pytest.fixture
def own_broker(parts: JavaParts, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "kafka", parts.broker) as broker:
        yield broker


@pytest.fixture
def apart(own_broker: EmbeddedBroker, broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> Iterator[Running]:
    """With the users' Kafka on a broker of its own."""
    rig = Rig(own_broker, spark, tmp_path, CONFIG, bus=broker)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    with first_generation(rig) as running:
        yield running


def still_works(running: Running) -> None:
    """Rows and control messages come through again, and nothing was lost or came twice."""
    rig = running.rig
    until(lambda: rig.tables.status_row()["state"] == "live", "it recovers", 2 * RECOVERY_SECONDS)
    rig.sender.send_row(rig.topics.left, {"userId": "after", "name": "first"})
    until(lambda: rig.table("final_ui").total() == 51, "the next row", RECOVERY_SECONDS)
    assert running.control(joinType="inner") == "applied"
    assert rig.rows("final_ui").rows() == [("u0", "first", 1.0)]


def test_a_broker_that_is_killed_and_started_again(apart: Running, own_broker: EmbeddedBroker) -> None:
    rig = apart.rig
    os.kill(own_broker.pid, signal.SIGKILL)
    apart.status(state="degraded", mentioning=f"Kafka at {rig.cluster.bootstrap} does not answer")
    assert rig.table("final_ui").total() == 50
    own_broker.start()
    still_works(apart)


def test_a_broker_that_is_frozen_for_a_minute(apart: Running, own_broker: EmbeddedBroker) -> None:
    rig, thawed = apart.rig, threading.Event()
    os.kill(own_broker.pid, signal.SIGSTOP)
    try:
        until(lambda: rig.tables.status_row()["state"] == "degraded", "it notices", RECOVERY_SECONDS)
        assert not thawed.wait(45), "with what it took to notice, a minute: longer than any client's patience"
        assert rig.table("final_ui").total() == 50
    finally:
        os.kill(own_broker.pid, signal.SIGCONT)
    still_works(apart)
