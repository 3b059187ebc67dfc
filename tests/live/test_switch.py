"""A switch from end to end: a control message on a real topic, real pipelines, and a viewer that stays open."""

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, FIRST_SECONDS, RECOVERY_SECONDS, Running, Viewer, fill
from tests.waiting import until
from turnout.kafka.embedded import EmbeddedBroker


@pytest.fixture
def settings() -> str:
    return CONFIG


@pytest.fixture
def rig(broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path, settings: str) -> Rig:
    return Rig(broker, spark, tmp_path, settings)


@pytest.fixture
def running(rig: Rig) -> Iterator[Running]:
    running = Running(rig)
    yield running
    running.stop()


def test_a_viewer_stays_open_through_switches_and_never_sees_a_mix_or_nothing(rig: Rig, running: Running) -> None:
    other = (f"users-b-{uuid.uuid4().hex}", f"accounts-b-{uuid.uuid4().hex}")
    rig.cluster.create_topics(list(other))
    fill(rig, rig.topics.left, rig.topics.right, "first")
    fill(rig, *other, "second")
    until(lambda: rig.table("final_ui").total() == 50, "the first generation", FIRST_SECONDS)
    viewer = Viewer(rig, "final_ui", "name")

    assert running.control(usersTopic=other[0], accountsTopic=other[1], joinType="inner") == "applied"
    assert rig.rows("final_ui").rows() == [("u0", "second", 1.0)]
    assert running.control(joinType="anti") == "applied"
    assert rig.table("final_ui").total() == 49
    assert running.control(usersTopic=rig.topics.left, accountsTopic=rig.topics.right, joinType="left") == "applied"
    assert rig.table("final_ui").total() == 50

    assert all(len(names) == 1 for names in viewer.seen), "one generation at a time, and never an empty table"
    assert [next(iter(names)) for names in viewer.seen if names][-1] == "first"
    assert viewer.swaps == [2, 3, 4]
    assert viewer.rows.sort("_row").equals(rig.tables.registry.snapshot("final_ui").rows.sort("_row"))
    status = running.status(state="live")
    assert (status["state"], status["generation"], status["joinType"]) == ("live", 4, "left")


def test_what_cannot_be_applied_is_rejected_and_the_live_generation_goes_on(rig: Rig, running: Running) -> None:
    fill(rig, rig.topics.left, rig.topics.right, "first")
    until(lambda: rig.table("final_ui").total() == 50, "the first generation", FIRST_SECONDS)
    assert running.control(usersTopic="no-such-topic").startswith("rejected: topic 'no-such-topic' does not exist")
    running.status(state="live", mentioning="does not exist")
    assert running.control(joinType="left") == "no change"
    rig.sender.send(rig.config.control.topic, b"\x00 rubbish")
    rig.sender.send(rig.topics.left, b"rubbish")
    rig.sender.send(rig.topics.right, b"rubbish")
    until(lambda: rig.table("rejected_ui").total() == 2, "the rejected records")
    rig.sender.send_row(rig.topics.left, {"userId": "u99", "name": "still alive"})
    until(lambda: rig.table("final_ui").total() == 51, "the next row")


# Longer than any machine takes for three undos.
@pytest.mark.parametrize("settings", [CONFIG.replace("linger_seconds: 2", "linger_seconds: 120")], ids=["long linger"])
def test_an_undo_goes_back_to_the_lingering_pipeline_without_a_build(
    rig: Rig, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    other = (f"users-b-{uuid.uuid4().hex}", f"accounts-b-{uuid.uuid4().hex}")
    rig.cluster.create_topics(list(other))
    fill(rig, rig.topics.left, rig.topics.right, "first")
    fill(rig, *other, "second")
    until(lambda: rig.table("final_ui").total() == 50, "the first generation", FIRST_SECONDS)
    pipelines = rig.config.state_dir / "pipelines"
    (first,) = pipelines.iterdir()

    assert running.control(usersTopic=other[0], accountsTopic=other[1], joinType="inner") == "applied"
    (second,) = set(pipelines.iterdir()) - {first}
    caplog.set_level(logging.INFO, "turnout")
    caplog.clear()
    for rows, name in ((50, "first"), (1, "second"), (50, "first")):
        assert running.undo() == "applied"
        assert rig.table("final_ui").total() == rows
        assert set(rig.rows("final_ui")["name"]) == {name}
    assert caplog.text.count("Going back to lingering pipeline") == 3
    assert "Building" not in caplog.text
    assert set(pipelines.iterdir()) == {first, second}
    rig.sender.send_row(rig.topics.left, {"userId": "u99", "name": "first"})
    until(lambda: rig.table("final_ui").total() == 51, "the pipeline that was gone back to goes on")


def test_a_restart_folds_the_control_topic_and_resumes_the_same_pipeline(rig: Rig) -> None:
    fill(rig, rig.topics.left, rig.topics.right, "first")
    running = Running(rig)
    assert running.control(joinType="inner") == "applied"
    until(lambda: rig.table("final_ui").total() == 1, "the inner join")
    pipelines = list((rig.config.state_dir / "pipelines").iterdir())
    running.stop()
    rig.sender.send_row(rig.topics.right, {"userId": "u1", "balance": 2.0})
    running = Running(rig)
    try:
        until(lambda: rig.table("final_ui").total() == 2, "what came meanwhile", RECOVERY_SECONDS)
        assert list((rig.config.state_dir / "pipelines").iterdir()) == pipelines
    finally:
        running.stop()
