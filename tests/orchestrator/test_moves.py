from collections import Counter

from tests.orchestrator.fakes import World
from turnout.orchestrator.moves import Build, Outcome


def live() -> World:
    world = World(linger_seconds=8)
    world.start()
    world.succeed()
    return world


def seconds(world: World) -> list[float]:
    """The switches that took so long, or a little less."""
    buckets, before, found = world.orchestrator.moves.switch_seconds.read().buckets, 0, list[float]()
    for bound, count in buckets:
        found += [bound] * (count - before)
        before = count
    return found


def test_a_start_is_no_switch() -> None:
    world = World()
    world.start('{"leftTopic": "left_b"}', "nonsense")
    world.succeed()
    assert not world.orchestrator.moves.outcomes
    assert seconds(world) == []
    assert world.orchestrator.moves.builds == Counter({Build.READY: 1})


def test_a_switch_takes_from_its_message_to_the_swap() -> None:
    world = live()
    world.send('{"leftTopic": "left_b"}')
    world.now += 1.2
    world.succeed()
    assert world.orchestrator.moves.outcomes == Counter({Outcome.APPLIED: 1})
    assert seconds(world) == [1.5]
    assert world.orchestrator.lingering == 1
    world.pass_time(9)
    assert world.orchestrator.lingering == 0


def test_messages_that_change_nothing_or_are_rejected_are_counted() -> None:
    world = live()
    world.send('{"leftTopic": "left"}', "nonsense", '{"leftTopic": "nowhere"}')
    assert world.orchestrator.moves.outcomes == Counter({Outcome.NO_CHANGE: 1, Outcome.REJECTED: 2})


def test_a_message_that_another_overtakes_is_superseded_and_its_build_given_up() -> None:
    world = live()
    world.send('{"leftTopic": "left_b"}')
    world.send('{"rightTopic": "right_b"}')
    world.send('{"leftTopic": "left", "rightTopic": "right"}')
    moves = world.orchestrator.moves
    assert moves.outcomes == Counter({Outcome.SUPERSEDED: 2, Outcome.NO_CHANGE: 1})
    assert moves.builds == Counter({Build.READY: 1, Build.GIVEN_UP: 2})


def test_a_build_that_fails_fails_the_switch() -> None:
    world = live()
    world.send('{"leftTopic": "left_b"}')
    world.fail("no slots")
    moves = world.orchestrator.moves
    assert moves.outcomes == Counter({Outcome.FAILED: 1})
    assert moves.builds == Counter({Build.READY: 1, Build.FAILED: 1})
    assert seconds(world) == []


def test_a_build_that_takes_too_long_has_failed() -> None:
    world = live()
    world.send('{"leftTopic": "left_b"}')
    world.pass_time(61)
    moves = world.orchestrator.moves
    assert moves.outcomes == Counter({Outcome.FAILED: 1})
    assert moves.builds == Counter({Build.READY: 1, Build.FAILED: 1})


def test_a_pipeline_that_dies_is_not_healthy_until_it_is_resumed() -> None:
    world = live()
    assert world.orchestrator.healthy
    world.die(world.pipeline, "killed")
    assert not world.orchestrator.healthy
    world.pass_time(1)
    world.succeed()
    assert world.orchestrator.healthy
    assert not world.orchestrator.moves.outcomes, "nobody asked for it"
