"""What Turnouts leave on a bus that they share, and `turnout gc`."""

import time
import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from tests.live.rig import USERS_ACCOUNTS, Rig
from tests.waiting import until
from turnout.bus.claims import Claim, Claimant, Claims
from turnout.bus.home import Home
from turnout.bus.leftovers import Leftovers, Use
from turnout.bus.manifest_topic import ManifestTopic
from turnout.bus.topics import BusTopics
from turnout.cli import app
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

HOUR_MS = 3_600_000
OURS, THEIRS, GONE, UNKNOWN = "0" * 12, "1" * 12, "2" * 12, "3" * 12


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.fixture
def bus(broker: EmbeddedBroker) -> Cluster:
    return Cluster({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topics() -> BusTopics:
    """Of a Turnout that shares the broker with those of other tests."""
    return BusTopics(f"gc-{uuid.uuid4().hex[:8]}-")


def made(bus: Cluster, topics: BusTopics, *pipelines: str) -> set[str]:
    names = [name(pipeline) for pipeline in pipelines for name in (topics.changelog, topics.rejected)]
    bus.create_topics(names)
    return set(names)


def gc(broker: EmbeddedBroker, topics: BusTopics, state_dir: Path, *options: str, more: str = "") -> Result:
    file = state_dir / "turnout.yaml"
    file.write_text(
        f"bus: {{bootstrap.servers: '{broker.bootstrap}'}}\nchangelog: {{prefix: {topics.prefix}}}\n"
        f"state_dir: {state_dir}\n{more}"
    )
    return CliRunner().invoke(app, ["gc", "-c", str(file), *options], env={"COLUMNS": "200"})


def test_what_is_claimed_lately_is_in_use_and_what_is_not_is_a_leftover(bus: Cluster, topics: BusTopics) -> None:
    claims = Claims(bus, topics)
    claims.make(Claim("a", "old.example.com", "/old", (GONE,)))
    claims.make(Claim("b", "new.example.com", "/new", (GONE,)))
    claims.make(Claim("b", "new.example.com", "/new", (THEIRS,)))
    made(bus, topics, OURS, THEIRS, GONE, UNKNOWN)
    leftovers = Leftovers(bus, topics, lambda: [OURS])
    found = {one.pipeline: one for one in leftovers.find(now_ms() - HOUR_MS)}
    uses = {pipeline: one.use for pipeline, one in found.items()}
    assert uses == {OURS: Use.OURS, THEIRS: Use.SEEN, GONE: Use.SEEN, UNKNOWN: Use.LEFTOVER}
    owner = found[GONE].owner
    assert owner is not None
    assert owner.claim.host == "old.example.com", "the other one has it no longer"
    an_hour_later = {one.pipeline: one.use for one in leftovers.find(now_ms() + HOUR_MS)}
    assert an_hour_later == {OURS: Use.OURS, THEIRS: Use.LEFTOVER, GONE: Use.LEFTOVER, UNKNOWN: Use.LEFTOVER}


def test_topics_that_nobody_has_claimed_are_in_use_while_something_is_written(bus: Cluster, topics: BusTopics) -> None:
    made(bus, topics, UNKNOWN)
    bus.publisher().publish(topics.changelog(UNKNOWN), b"{}", b"key")
    leftovers = Leftovers(bus, topics, list)
    [found] = leftovers.find(now_ms() - HOUR_MS)
    assert (found.use, found.owner) == (Use.SEEN, None)
    [found] = leftovers.find(now_ms() + HOUR_MS)
    assert found.use is Use.LEFTOVER


def test_rubbish_among_the_claims_is_passed_over(bus: Cluster, topics: BusTopics) -> None:
    claims = Claims(bus, topics)
    claims.make(Claim("a", "host", "/state", (THEIRS,)))
    bus.publisher().publish(topics.claims, b"rubbish", b"b")
    assert [seen.claim.owner for seen in claims.read()] == ["a"]


def test_gc_lists_leftovers_and_deletes_them_only_when_told_to(
    broker: EmbeddedBroker, bus: Cluster, topics: BusTopics, tmp_path: Path
) -> None:
    (tmp_path / "pipelines" / OURS).mkdir(parents=True)
    Claims(bus, topics).make(Claim("b", "new.example.com", "/new", (THEIRS,)))
    kept = made(bus, topics, OURS, THEIRS) | {topics.claims}
    leftovers = made(bus, topics, UNKNOWN)
    not_ours = {f"{topics.prefix}users", f"other-{topics.changelog(UNKNOWN)}"}
    bus.create_topics([*not_ours])

    listed = gc(broker, topics, tmp_path)
    assert listed.exit_code == 0, listed.output
    for pipeline, use in ((OURS, "in use here"), (THEIRS, "in use elsewhere"), (UNKNOWN, "leftover")):
        [line] = [line for line in listed.output.splitlines() if line.startswith(pipeline)]
        assert use in line
    assert "new.example.com:/new" in listed.output
    assert "--delete" in listed.output
    assert kept | leftovers | not_ours <= bus.topics().keys()

    deleted = gc(broker, topics, tmp_path, "--delete")
    assert deleted.exit_code == 0, deleted.output
    assert "Deleted 2 topics of 1 pipelines" in deleted.output
    until(lambda: not leftovers & bus.topics().keys(), "the leftovers are gone")
    assert kept | not_ours <= bus.topics().keys()
    assert "No leftovers" in gc(broker, topics, tmp_path).output


def test_gc_leaves_alone_what_has_its_manifest_on_the_bus(
    broker: EmbeddedBroker, bus: Cluster, topics: BusTopics, tmp_path: Path
) -> None:
    ManifestTopic(bus, topics).write(OURS, b"{}")
    made(bus, topics, OURS, UNKNOWN)
    result = gc(broker, topics, tmp_path, "--delete", more=f"spark: {{checkpoints: 'file://{tmp_path}/elsewhere'}}\n")
    assert "Deleted 2 topics of 1 pipelines" in result.output, result.output
    left = {topics.manifests, topics.changelog(OURS), topics.rejected(OURS)}
    until(lambda: {it for it in bus.topics() if it.startswith(topics.prefix)} == left, "the leftovers are gone")


def test_the_claim_of_one_whose_topics_are_gone_goes_too(bus: Cluster, topics: BusTopics) -> None:
    claims = Claims(bus, topics)
    claims.make(Claim("gone", "host", "/gone", (GONE, UNKNOWN)))
    claims.make(Claim("there", "host", "/there", (THEIRS,)))
    made(bus, topics, GONE, THEIRS)
    leftovers = Leftovers(bus, topics, lambda: [THEIRS])
    unused = [one for one in leftovers.find(now_ms() + HOUR_MS) if one.use is Use.LEFTOVER]
    leftovers.delete(unused)
    until(lambda: [seen.claim.owner for seen in claims.read()] == ["there"], "the claim is withdrawn")


def test_gc_has_nothing_to_do_on_an_embedded_bus(tmp_path: Path) -> None:
    file = tmp_path / "turnout.yaml"
    file.write_text("bus: {}\n")
    result = CliRunner().invoke(app, ["gc", "-c", str(file)])
    assert result.exit_code == 1
    assert "embedded broker" in result.output


def test_what_one_with_the_same_home_has_claimed_is_no_longer_claimed_by_it(bus: Cluster, topics: BusTopics) -> None:
    claims = Claims(bus, topics)
    Claimant(claims, Home("a", "/state"), lambda: [OURS]).claim()
    Claimant(claims, Home("a", "/state"), lambda: [THEIRS]).claim()
    assert [seen.claim.pipelines for seen in claims.read()] == [(THEIRS,)]


def test_a_pipeline_that_runs_is_claimed_and_its_topics_are_as_configured(
    broker: EmbeddedBroker, spark: SparkSession, topics: BusTopics, tmp_path: Path
) -> None:
    config = USERS_ACCOUNTS + f"changelog: {{prefix: {topics.prefix}, partitions: 3, replication: 1}}\n"
    rig = Rig(broker, spark, tmp_path, config)
    pipeline = rig.build()
    try:
        [found] = Leftovers(rig.bus, topics, list).find(now_ms() - HOUR_MS)
        assert (found.pipeline, found.use) == (pipeline.id, Use.SEEN)
        assert found.owner is not None
        assert found.owner.claim.home == str(tmp_path)
        partitions = {topic: count for topic, count in rig.bus.topics().items() if topic.startswith(topics.prefix)}
        assert partitions == {topics.changelog(pipeline.id): 3, topics.rejected(pipeline.id): 3, topics.claims: 1}
    finally:
        pipeline.retire()
        rig.builder.close(10)
