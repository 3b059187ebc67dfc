"""Where an undo leads, and what becomes of it: its message is the one that the service publishes."""

from tests.orchestrator.fakes import DEFAULT, FIELDS, World
from turnout.control.message import compose
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics

TO_B = '{"leftTopic": "left_b", "rightTopic": "right_b"}'
TO_C = '{"leftTopic": "left", "rightTopic": "right_b"}'
B = Desired(Topics("left_b", "right_b"), JoinType.LEFT)
C = Desired(Topics("left", "right_b"), JoinType.LEFT)


def started(*history: str) -> World:
    world = World()
    world.start(*history)
    world.succeed()
    return world


def switched(world: World, value: str) -> World:
    world.send(value)
    world.succeed()
    return world


def undo(world: World) -> str | None:
    """Send what an undo publishes; its outcome."""
    previous = world.orchestrator.previous
    assert previous is not None
    (id_,) = world.send(compose(previous, FIELDS).decode())
    return world.public.outcomes[id_]


def shown(world: World) -> Desired:
    assert world.orchestrator.live is not None
    return world.orchestrator.live.desired


def test_at_first_there_is_nothing_to_undo() -> None:
    world = World()
    assert world.orchestrator.previous is None
    world.start()
    assert world.orchestrator.previous is None
    world.succeed()
    world.send('{"joinType": "left"}')
    assert world.orchestrator.previous is None, "no change is nothing to go back from"


def test_a_switch_is_undone_by_its_lingering_pipeline_and_an_undo_by_another() -> None:
    world = switched(started(), TO_B)
    builds = len(world.builder.builds)
    for state in (DEFAULT, B, DEFAULT):
        assert undo(world) == "applied"
        assert shown(world) == state
    assert len(world.builder.builds) == builds


def test_the_join_type_is_undone_too() -> None:
    world = started()
    world.send('{"joinType": "inner"}')
    assert undo(world) == "applied"
    assert shown(world) == DEFAULT
    assert world.orchestrator.previous == Desired(DEFAULT.topics, JoinType.INNER)


def test_an_undo_while_building_gives_the_build_up() -> None:
    world = switched(started(), TO_B)
    world.send(TO_C)
    assert world.orchestrator.previous == B
    assert undo(world) == "no change"
    assert world.build.cancelled
    assert shown(world) == B
    assert world.orchestrator.previous == DEFAULT, "what was never shown is nothing to go back to"


def test_an_undo_that_has_to_build_is_undone_before_it_is_ready() -> None:
    world = switched(started(), TO_B)
    world.pass_time(1000)
    assert undo(world) is None, "under way"
    assert world.orchestrator.previous == B
    assert undo(world) == "no change"
    assert world.build.cancelled


def test_after_a_build_that_failed_an_undo_leads_to_what_was_shown_before() -> None:
    world = switched(started(), TO_B)
    world.send(TO_C)
    world.fail("the query died")
    assert world.orchestrator.previous == DEFAULT


def test_an_undo_that_fails_can_be_tried_again() -> None:
    world = switched(started(), TO_B)
    world.pass_time(1000)
    undo(world)
    world.fail("the query died")
    assert shown(world) == B
    assert world.orchestrator.previous == DEFAULT


def test_states_that_were_passed_over_do_not_count() -> None:
    world = started()
    world.send(TO_B, TO_C)
    world.succeed()
    assert shown(world) == C
    assert world.orchestrator.previous == DEFAULT


def test_a_restart_knows_the_previous_state_from_the_control_topic() -> None:
    assert started(TO_B).orchestrator.previous == DEFAULT
    world = started(TO_B, "rubbish", TO_C, '{"leftTopic": "gone"}', '{"joinType": "left"}')
    assert shown(world) == C
    assert world.orchestrator.previous == B
    assert started(TO_B, compose(DEFAULT, FIELDS).decode()).orchestrator.previous == B, "back and forth goes on"


def test_after_a_restart_an_undo_does_not_lead_to_a_topic_that_is_missing() -> None:
    world = started(TO_B, '{"leftTopic": "gone"}', TO_C)
    assert shown(world) == C
    assert world.orchestrator.previous == B
    assert undo(world) is None, "under way"


def test_a_restart_into_a_state_that_cannot_be_built_can_be_undone() -> None:
    world = World()
    world.start(TO_B, TO_C)
    world.fail("no leader")
    undo(world)
    world.succeed()
    assert shown(world) == B


def test_a_new_outcome_is_told_when_the_new_previous_state_is_known() -> None:
    """Whoever sends an undo as soon as a switch is said to be applied goes back from that switch."""
    world = started()
    seen: list[Desired | None] = []
    note = world.public.outcome

    def outcome(*arguments: object) -> None:
        note(*arguments)  # type: ignore[arg-type]
        if arguments[1] is not None:
            seen.append(world.orchestrator.previous)

    world.public.outcome = outcome  # type: ignore[method-assign,assignment]
    switched(world, TO_B)
    world.send(TO_C)
    world.fail("the query died")
    undo(world)
    assert seen == [DEFAULT, DEFAULT, B]
