import pytest

from tests.orchestrator.fakes import DEFAULT, World
from turnout.errors import ControlRejected
from turnout.orchestrator.preview import Work


@pytest.fixture
def world() -> World:
    """The default, live."""
    world = World()
    world.start()
    world.succeed()
    return world


def work(world: World, message: str) -> Work:
    return world.orchestrator.preview(message.encode()).work


def test_other_topics_need_a_pipeline_and_another_join_does_not(world: World) -> None:
    assert work(world, '{"leftTopic": "left_b"}') is Work.BUILD
    assert work(world, '{"joinType": "inner"}') is Work.VIEW
    assert work(world, '{"leftTopic": "left", "joinType": " LEFT "}') is Work.NONE


def test_topics_that_linger_are_there_at_once(world: World) -> None:
    world.send('{"leftTopic": "left_b"}')
    world.succeed()
    preview = world.orchestrator.preview(b'{"leftTopic": "left", "joinType": "inner", "hurry": 1}')
    assert (preview.work, preview.desired.topics, preview.ignored) == (Work.RETURN, DEFAULT.topics, ("hurry",))


def test_before_anything_is_live_all_has_to_be_built() -> None:
    world = World()
    world.start()
    assert work(world, "{}") is Work.BUILD


@pytest.mark.parametrize(
    ("message", "reason"),
    [("rubbish", "not JSON"), ('{"leftTopic": "gone"}', "'gone' does not exist"), ('{"joinType": "x"}', "join type")],
)
def test_what_would_be_rejected_is_told_with_the_reason(world: World, message: str, reason: str) -> None:
    with pytest.raises(ControlRejected, match=reason):
        world.orchestrator.preview(message.encode())


def test_a_preview_changes_nothing(world: World) -> None:
    before = world.status
    world.orchestrator.preview(b'{"leftTopic": "left_b"}')
    assert world.status == before
    assert world.orchestrator.previous is None
