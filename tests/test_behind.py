from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from turnout.behind import Behind, ReadPipeline
from turnout.changelog.progress import Progress
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Offsets, Record
from turnout.schema import Topics
from turnout.staleness import Look


class FakeCluster:
    """Topics whose partitions end somewhere; those offsets hold a message that `messages` names."""

    messages: tuple[tuple[int, int], ...] = ()
    silent = False

    def end_offsets(self, _topic: str, _seconds: float) -> Offsets:
        if self.silent:
            raise KafkaError("no answer")
        return {0: 20, 1: 5}

    def last_messages(self, _topic: str, starts: Offsets, ends: Offsets) -> Offsets:
        return {part: at for part, at in self.messages if starts[part] <= at < ends[part]}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def behind(cluster: FakeCluster, seen: Mapping[int, int], committed: Offsets | None = None) -> Behind:
    """Of a pipeline that began at 10 and at 0, and has seen so much."""
    progress = Progress()
    worked_on = {("users", partition): offset for partition, offset in seen.items()}
    progress.note([Record("bus", 0, 0, 0, None, None)], lambda _: worked_on)
    pipeline: Any = SimpleNamespace(
        topics=Topics("users", "accounts"),
        starts={"users": {"0": 10, "1": 0}, "accounts": {}},
        changelog=SimpleNamespace(progress=progress),
        committed=lambda: {"users": committed or {}},
    )
    return Behind(cast(Cluster, cluster), cast(ReadPipeline, pipeline))


def test_what_is_not_seen_is_behind(cluster: FakeCluster) -> None:
    assert behind(cluster, {}).lag("users") == 15
    assert behind(cluster, {0: 14}).lag("users") == 10
    assert behind(cluster, {0: 19, 1: 4}).lag("users") == 0
    assert behind(cluster, {0: 25, 1: 4}).lag("users") == 0, "more has come since"


def test_what_is_seen_has_been_read(cluster: FakeCluster) -> None:
    assert behind(cluster, {}).read("users") == 0
    assert behind(cluster, {0: 14, 1: 0}).read("users") == 6
    assert behind(cluster, {0: 14}).read("accounts") == 0


def test_a_look_has_the_topics_own_positions(cluster: FakeCluster) -> None:
    assert behind(cluster, {0: 14}).look("users", 3) == Look(3, {0: 14})
    assert behind(cluster, {0: 14}).look("accounts", None) == Look(None, {})


def test_offsets_without_a_message_are_not_unread(cluster: FakeCluster) -> None:
    cluster.messages = ((0, 18),)
    assert behind(cluster, {0: 17, 1: 4}).is_unread("users")
    assert not behind(cluster, {0: 18, 1: 4}).is_unread("users"), "the last one is the end of a transaction"


def test_what_is_committed_is_not_unread(cluster: FakeCluster) -> None:
    cluster.messages = ((0, 18),)
    assert not behind(cluster, {0: 12, 1: 4}, {0: 20}).is_unread("users")
    assert behind(cluster, {0: 12, 1: 4}, {0: 15}).is_unread("users")


def test_where_nobody_can_tell_there_may_be_one(cluster: FakeCluster) -> None:
    cluster.silent = True
    assert behind(cluster, {0: 19, 1: 4}).is_unread("users")
