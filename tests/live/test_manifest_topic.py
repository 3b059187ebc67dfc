"""Manifests on the bus."""

import uuid

import pytest

from turnout.bus.manifest_topic import ManifestTopic
from turnout.bus.topics import BusTopics
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker
from turnout.pipeline.manifest import Manifests, Shown
from turnout.schema import ColumnType, JoinSchema, JoinType, TableSchema, Topics

A, B = "a" * 12, "b" * 12
SCHEMA = JoinSchema(
    TableSchema("users", {"id": ColumnType.LONG}, keep=1),
    TableSchema("accounts", {"id": ColumnType.LONG}, keep=1),
    "id",
)


@pytest.fixture
def bus(broker: EmbeddedBroker) -> Cluster:
    return Cluster({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topics() -> BusTopics:
    return BusTopics(f"manifests-{uuid.uuid4().hex[:8]}-")


def test_before_the_first_one_there_is_none_and_no_topic(bus: Cluster, topics: BusTopics) -> None:
    store = ManifestTopic(bus, topics)
    assert (store.ids(), store.read(A)) == ([], None)
    store.delete(A)
    assert bus.missing([topics.manifests]) == [topics.manifests]


def test_who_takes_over_finds_what_was_written_last(bus: Cluster, topics: BusTopics) -> None:
    store = ManifestTopic(bus, topics)
    store.write(B, b"1")
    store.write(A, b"2")
    store.write(B, b"3")
    for one in (store, ManifestTopic(bus, topics)):
        assert (one.ids(), one.read(A), one.read(B)) == ([A, B], b"2", b"3")
    store.delete(A)
    store.delete(A)
    for one in (store, ManifestTopic(bus, topics)):
        assert (one.ids(), one.read(A)) == ([B], None)


def test_what_is_no_pipelines_is_passed_over(bus: Cluster, topics: BusTopics) -> None:
    store = ManifestTopic(bus, topics)
    store.write(A, b"rubbish")
    for key in (b"", b"\xff", b"notes", A.upper().encode()):
        bus.publisher().publish(topics.manifests, b"{}", key)
    store = ManifestTopic(bus, topics)
    assert store.ids() == [A]
    [found] = Manifests(store, topics.prefix).all()
    assert (found.id, found.shown, found.changelog_topic) == (A, None, topics.changelog(A)), "it is swept away"


def test_a_pipeline_that_was_shown_is_found_by_another_turnout(bus: Cluster, topics: BusTopics) -> None:
    manifests = Manifests(ManifestTopic(bus, topics), topics.prefix)
    starts = {"users": {0: 5, 1: 2**53 + 1}, "accounts": {0: 0}}
    first = manifests.new(Topics("users", "accounts"), starts, {"users": "1", "accounts": "2"}, SCHEMA)
    second = manifests.new(Topics("users", "accounts"), starts, {"users": "1", "accounts": "2"}, SCHEMA)
    manifests.mark_shown(first, Shown(7, JoinType.ANTI))
    another = Manifests(ManifestTopic(bus, topics), topics.prefix)
    assert {it.id: it.shown for it in another.all()} == {first.id: Shown(7, JoinType.ANTI), second.id: None}
    [shown] = another.shown(first.fingerprint)
    assert shown.starts == {"users": {"0": 5, "1": 2**53 + 1}, "accounts": {"0": 0}}
