import logging

import pytest

from tests.orchestrator.fakes import DEFAULT, FakeBuilder, World
from turnout.orchestrator import orchestrator
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import History, Stop
from turnout.orchestrator.parts import CONTROL, Remembered, Trouble
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics

TO_B = '{"leftTopic": "left_b", "rightTopic": "right_b"}'
B = Topics("left_b", "right_b")


@pytest.fixture
def live() -> World:
    """A world whose first generation is live."""
    world = World(linger_seconds=8, max_linger_generations=2, ready_timeout_seconds=60)
    world.start()
    world.succeed()
    return world


def test_the_first_generation_is_built_from_the_configuration_and_goes_live() -> None:
    world = World()
    world.start()
    assert world.build.topics == DEFAULT.topics
    world.build.catch_up()
    world.deliver()
    pipeline = world.succeed()
    states = [status.state for status in world.public.statuses]
    assert states == [State.STARTING, State.BUILDING, State.CATCHING_UP, State.SWITCHING, State.LIVE]
    assert pipeline.promoted
    assert world.public.shown == [(1, pipeline.id, JoinType.LEFT)]
    assert world.status.generation == 1
    assert world.status.last_applied_ms == int(world.now * 1000)


def test_the_history_is_folded_into_one_desired_state_that_is_applied_once() -> None:
    world = World()
    world.start('{"leftTopic": "left_b"}', "rubbish", '{"joinType": "inner"}')
    assert world.build.topics == Topics("left_b", "right")
    pipeline = world.succeed()
    assert world.public.shown == [(1, pipeline.id, JoinType.INNER)]
    assert len(world.builder.builds) == 1
    assert world.public.outcomes["0:1"] == "superseded"
    assert str(world.public.outcomes["0:2"]).startswith("rejected: not JSON")
    assert world.public.outcomes["0:3"] == "applied"


def test_a_folded_message_with_a_missing_topic_is_rejected_and_the_ones_before_it_count() -> None:
    world = World()
    world.start(TO_B, '{"leftTopic": "gone"}', '{"joinType": "semi"}')
    assert world.build.topics == B
    world.succeed()
    assert world.public.shown[-1][2] is JoinType.SEMI
    assert world.public.outcomes["0:2"] == "rejected: topic 'gone' does not exist: create it first, or name another"


def test_what_an_earlier_run_left_is_swept_before_the_first_build() -> None:
    world = World()
    world.start(TO_B)
    assert world.builder.swept == [{B}]


def test_a_switch_builds_swaps_lingers_and_retires(live: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    old = live.pipeline
    (id_,) = live.send(TO_B)
    assert live.public.outcomes[id_] is None, "under way"
    assert live.status.state is State.BUILDING
    assert live.status.desired == DEFAULT, "the status tells what is shown, not what is coming"
    pipeline = live.succeed()
    assert live.public.shown[-1] == (2, pipeline.id, JoinType.LEFT)
    assert live.public.outcomes[id_] == "applied"
    assert live.status.desired == Desired(B, JoinType.LEFT)
    live.pass_time(7.9)
    assert not old.retired
    live.pass_time(0.2)
    assert old.retired
    said = " | ".join(record.getMessage() for record in caplog.records)
    steps = ["Received", "Resolved", "Changed", "live → building", "Ready", "Swapped", "Lingering"]
    assert [step for step in steps if step in said] == steps
    assert [said.index(step) for step in steps] == sorted(said.index(step) for step in steps)


def test_a_join_type_alone_is_shown_from_the_running_pipeline(live: World) -> None:
    builds = len(live.builder.builds)
    (id_,) = live.send('{"joinType": " FULL "}')
    assert len(live.builder.builds) == builds
    assert live.public.shown[-1] == (2, "pipeline-1", JoinType.FULL)
    assert live.public.outcomes[id_] == "applied"
    live.pass_time(100)
    assert not live.pipeline.retired


def test_going_back_to_a_lingering_pipeline_reuses_it(live: World) -> None:
    live.send(TO_B)
    live.succeed()
    builds = len(live.builder.builds)
    live.send('{"leftTopic": "left", "rightTopic": "right"}')
    assert len(live.builder.builds) == builds
    assert live.public.shown[-1] == (3, "pipeline-1", JoinType.LEFT)
    live.pass_time(8.1)
    assert live.status.state is State.LIVE


def test_no_more_generations_linger_than_allowed(live: World) -> None:
    live.builder.topics |= {"c", "d", "e"}
    first = live.pipeline
    for topic in ("c", "d", "e"):
        live.send(f'{{"leftTopic": "{topic}"}}')
        live.succeed()
    live.pass_time(0)
    assert first.retired


def test_nothing_to_change_refreshes_last_applied(live: World) -> None:
    before = live.status.last_applied_ms
    live.now += 5
    (id_,) = live.send('{"joinType": "natural", "leftTopic": "  "}')
    assert live.public.outcomes[id_] == "no change"
    assert before is not None
    assert live.status.last_applied_ms == before + 5000
    assert len(live.public.shown) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("rubbish", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"joinType": "cross"}', "left, inner, right, full, semi, anti"),
        ('{"leftTopic": 5}', "leftTopic must be a string"),
        ('{"leftTopic": "right"}', "cannot be joined with itself"),
        ('{"leftTopic": "no/slash"}', "not a topic name"),
        ('{"leftTopic": "gone"}', "does not exist"),
    ],
)
def test_a_message_that_cannot_be_used_changes_nothing_and_says_why(
    live: World, value: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    (id_,) = live.send(value)
    assert reason in str(live.public.outcomes[id_])
    assert str(live.public.outcomes[id_]).startswith("rejected: ")
    assert reason in live.status.message
    assert live.status.state is State.LIVE
    assert [record.levelname for record in caplog.records if reason in record.getMessage()] == ["ERROR"]
    assert len(live.builder.builds) == len(live.public.shown) == 1


def test_unknown_fields_are_named_in_the_log_and_ignored(live: World, caplog: pytest.LogCaptureFixture) -> None:
    (id_,) = live.send('{"joinType": "inner", "colour": "red"}')
    assert live.public.outcomes[id_] == "applied"
    assert "colour" in caplog.text


def test_the_newest_message_wins_and_those_in_between_are_superseded(live: World) -> None:
    live.builder.topics |= {"c"}
    (first,) = live.send(TO_B)
    abandoned = live.build
    second, third = live.send('{"leftTopic": "c"}', '{"joinType": "inner"}')
    assert abandoned.cancelled
    assert live.build.topics == Topics("c", "right_b"), "a message builds upon those before it"
    live.succeed()
    assert live.public.outcomes == {first: "superseded", second: "superseded", third: "applied"}
    assert live.public.shown[-1][2] is JoinType.INNER


def test_a_join_type_that_comes_while_building_does_not_start_over(live: World) -> None:
    live.send(TO_B)
    building = live.build
    live.send('{"joinType": "anti"}')
    assert live.build is building
    assert not building.cancelled
    live.succeed()
    assert live.public.shown[-1][2] is JoinType.ANTI


def test_going_back_while_building_gives_the_build_up(live: World) -> None:
    live.send(TO_B)
    (back,) = live.send('{"leftTopic": "left", "rightTopic": "right"}')
    assert live.build.cancelled
    assert live.public.outcomes[back] == "no change"
    assert live.status.state is State.LIVE


def test_a_storm_of_messages_leads_to_one_build_and_asks_for_each_topic_once(live: World) -> None:
    live.builder.asked.clear()
    storm = [TO_B, '{"leftTopic": "left", "rightTopic": "right"}', "rubbish"] * 300 + [TO_B]
    ids = live.send(*storm)
    assert len(live.builder.builds) == 2
    assert len(live.builder.asked) == len(set(live.builder.asked))
    live.succeed()
    assert live.public.outcomes[ids[-1]] == "applied"
    assert None not in live.public.outcomes.values(), "every message has its outcome"


def test_a_failed_build_rejects_its_message_and_the_old_generation_goes_on(live: World) -> None:
    (id_,) = live.send(TO_B)
    live.fail("the query died")
    assert live.public.outcomes[id_] == "rejected: the query died"
    assert live.status.state is State.LIVE
    assert "the query died" in live.status.message
    assert live.status.desired == DEFAULT
    live.pass_time(1000)
    assert len(live.builder.builds) == 2, "it is not tried again by itself"
    live.send(TO_B)
    assert len(live.builder.builds) == 3, "but may be asked for again"


def test_a_build_that_is_not_ready_in_time_is_given_up(live: World) -> None:
    (id_,) = live.send(TO_B)
    live.pass_time(59)
    assert not live.build.cancelled
    live.pass_time(2)
    assert live.build.cancelled
    assert live.public.outcomes[id_] == "rejected: not ready in 60 s (switch.ready_timeout_seconds)"
    assert live.status.state is State.LIVE


def test_a_report_of_a_build_that_was_given_up_changes_nothing(live: World) -> None:
    live.send(TO_B)
    late = live.build
    live.pass_time(61)
    late.catch_up()
    live.deliver()
    assert live.status.state is State.LIVE


def test_without_a_generation_a_failed_build_is_tried_again_with_growing_pauses() -> None:
    world = World()
    world.start()
    for pause in (1, 2, 4, 8, 16, 30, 30):
        world.fail("topic 'left' does not exist")
        assert world.status.state is State.DEGRADED
        builds = len(world.builder.builds)
        world.pass_time(pause - 0.1)
        assert len(world.builder.builds) == builds
        world.pass_time(0.2)
        assert len(world.builder.builds) == builds + 1
    world.succeed()
    assert world.status.state is State.LIVE


def test_a_live_pipeline_that_dies_is_built_again_and_its_rows_go_on_showing(live: World) -> None:
    dead = live.pipeline
    live.die(dead, "executor lost")
    assert live.status.state is State.DEGRADED
    assert "executor lost" in live.status.message
    assert dead.stopped
    assert not dead.retired, "what it needs to go on is kept"
    live.pass_time(1.1)
    assert live.build.topics == DEFAULT.topics
    live.succeed()
    assert (live.status.state, live.status.generation) == (State.LIVE, 2)
    assert not dead.retired, "the new one goes on from its checkpoint"


def test_stopping_keeps_what_the_live_pipeline_needs_and_retires_the_rest(live: World) -> None:
    old = live.pipeline
    live.send(TO_B)
    pipeline = live.succeed()
    live.send('{"leftTopic": "left"}')
    live.orchestrator.step([Stop()])
    assert live.build.cancelled
    assert old.retired
    assert pipeline.stopped
    assert not pipeline.retired
    assert live.status.state is State.STOPPED


def restarted(world: World, *history: str) -> World:
    """Another process on the same disk, and what it finds on the control topic."""
    world.builder.disk.delete_doomed()
    again = World(FakeBuilder(world.builder.disk))
    again.start(*history)
    return again


def test_what_an_earlier_run_showed_is_shown_again_until_the_desired_state_is_ready(live: World) -> None:
    world = restarted(live, TO_B)
    assert world.build.topics == DEFAULT.topics
    assert world.build.resumed
    restored = world.succeed()
    assert world.public.shown == [(2, restored.id, JoinType.LEFT)]
    assert world.public.outcomes["0:1"] is None, "the desired state is under way"
    assert world.build.topics == B
    assert State.LIVE not in [status.state for status in world.public.statuses], "which live would deny"
    world.succeed()
    assert world.public.outcomes["0:1"] == "applied"
    assert world.status.desired == Desired(B, JoinType.LEFT)
    world.pass_time(8.1)
    assert restored.retired


def test_what_an_earlier_run_showed_comes_first_too_if_another_state_is_desired_meanwhile(live: World) -> None:
    world = restarted(live)
    (id_,) = world.send(TO_B)
    assert not world.build.cancelled
    world.succeed()
    assert world.status.desired == DEFAULT
    assert world.build.topics == B
    world.succeed()
    assert world.public.outcomes[id_] == "applied"


def test_if_what_an_earlier_run_showed_cannot_be_shown_the_desired_state_has_to_do(live: World) -> None:
    world = restarted(live, TO_B)
    world.fail("the checkpoint is damaged")
    assert world.build.topics == B
    world.succeed()
    assert world.status.state is State.LIVE
    assert world.public.outcomes["0:1"] == "applied"
    assert world.builder.swept[-1] == {B}, "nobody needs the earlier one any more"


def test_if_neither_can_be_shown_both_are_tried_again_by_turns(live: World) -> None:
    world = restarted(live, TO_B)
    for pause in (1, 2, 4):
        world.fail("the checkpoint is damaged")
        world.fail("no leader")
        assert world.status.state is State.DEGRADED
        assert "no leader" in world.status.message
        world.pass_time(pause - 0.1)
        assert world.build.over
        world.pass_time(0.2)
        assert world.build.topics == DEFAULT.topics
    world.succeed()
    assert world.status.desired == DEFAULT
    world.fail("no leader")
    assert world.public.outcomes["0:1"] == "rejected: no leader"
    assert world.status.state is State.LIVE


def test_generation_numbers_go_on_after_a_restart_and_none_is_used_twice(live: World) -> None:
    live.send('{"joinType": "inner"}')
    world = restarted(live, '{"joinType": "inner"}')
    world.succeed()
    assert world.status.generation == 3
    world.public.broken = True
    world.send('{"joinType": "full"}')
    assert world.status.generation == 3
    world.public.broken = False
    world.send('{"joinType": "anti"}')
    assert world.status.generation == 5, "the fourth is written down, although it was never shown"


def test_trouble_degrades_what_is_live_until_it_is_over(live: World) -> None:
    live.orchestrator.step([Trouble(live.pipeline.id, "the broker does not answer")])
    assert (live.status.state, live.status.message) == (State.DEGRADED, "the broker does not answer")
    live.orchestrator.step([Trouble(CONTROL, "nor for control"), Trouble("another", "who cares")])
    assert live.status.message == "the broker does not answer", "that is the worse one"
    live.orchestrator.step([Trouble(live.pipeline.id, None)])
    assert (live.status.state, live.status.message) == (State.DEGRADED, "nor for control")
    live.orchestrator.step([Trouble(CONTROL, None)])
    assert live.status.state is State.LIVE
    assert live.status.generation == 1


def test_trouble_that_began_before_a_switch_is_told_after_it(live: World) -> None:
    live.send(TO_B)
    live.orchestrator.step([Trouble(CONTROL, "the broker does not answer")])
    said = [live.status.state]
    live.succeed()
    assert [*said, live.status.state] == [State.BUILDING, State.DEGRADED]


def test_trouble_with_the_control_topic_is_told_before_anything_came_from_it() -> None:
    world = World()
    world.orchestrator.step([Trouble(CONTROL, "the broker does not answer")])
    assert (world.status.state, world.status.message) == (State.DEGRADED, "the broker does not answer")
    assert not world.builder.builds
    world.orchestrator.step([Trouble(CONTROL, None)])
    world.start()
    world.succeed()
    assert world.status.state is State.LIVE


def test_the_trouble_of_a_pipeline_ends_with_it(live: World) -> None:
    live.orchestrator.step([Trouble(live.pipeline.id, "the broker does not answer")])
    live.die(live.pipeline, "executor lost")
    live.pass_time(1.1)
    assert live.build.resumed, "it has the same id"
    live.succeed()
    assert live.status.state is State.LIVE


def test_a_dead_pipeline_is_not_said_to_be_live_when_trouble_is_over(live: World) -> None:
    live.die(live.pipeline, "executor lost")
    said = len(live.public.statuses)
    live.orchestrator.step([live.message(TO_B), Trouble(CONTROL, None)])
    assert State.LIVE not in [status.state for status in live.public.statuses[said:]]


def test_a_dead_pipeline_is_retired_when_switched_away_from(live: World) -> None:
    dead = live.pipeline
    live.send(TO_B)
    live.die(dead, "executor lost")
    assert live.status.state is State.BUILDING, "the build goes on"
    live.succeed()
    assert dead.retired
    live.send('{"leftTopic": "left", "rightTopic": "right"}')
    assert live.build.topics == DEFAULT.topics, "there is nothing to go back to"


def test_a_lingering_pipeline_that_dies_is_retired(live: World) -> None:
    old = live.pipeline
    live.send(TO_B)
    live.succeed()
    live.die(old, "executor lost")
    assert old.retired
    assert live.status.state is State.LIVE
    live.die(old, "executor lost")  # a second part of it has noticed


def test_a_pipeline_that_cannot_be_promoted_is_not_shown_and_the_old_one_goes_on(live: World) -> None:
    old = live.pipeline
    (id_,) = live.send(TO_B)
    live.builder.disk.full = True
    new = live.succeed()
    assert str(live.public.outcomes[id_]).startswith("rejected: the disk is full")
    assert new.retired
    assert len(live.public.shown) == 1
    assert live.pipeline is old
    assert old.runs
    assert live.status.state is State.LIVE


@pytest.mark.parametrize("fault", ["disk", "tables"])
def test_a_lingering_pipeline_that_cannot_be_shown_again_leaves_nothing_behind(live: World, fault: str) -> None:
    """Also one that went on from a checkpoint: it has been shown since, and would be retired anyway."""
    live.die(live.pipeline, "executor lost")
    live.pass_time(1)
    resumed = live.succeed()
    assert resumed.resumed
    live.send(TO_B)
    live.succeed()
    live.builder.disk.full, live.public.broken = fault == "disk", fault == "tables"
    (id_,) = live.send('{"leftTopic": "left", "rightTopic": "right"}')
    assert str(live.public.outcomes[id_]).startswith("rejected: ")
    assert resumed.retired
    assert live.status.state is State.LIVE


@pytest.mark.parametrize("fault", ["disk", "tables"])
def test_a_join_type_that_cannot_be_shown_leaves_the_pipeline_alone(live: World, fault: str) -> None:
    live.builder.disk.full, live.public.broken = fault == "disk", fault == "tables"
    (id_,) = live.send('{"joinType": "full"}')
    assert str(live.public.outcomes[id_]).startswith("rejected: ")
    assert live.pipeline.runs
    assert (live.status.state, live.status.desired) == (State.LIVE, DEFAULT)
    live.builder.disk.full = live.public.broken = False
    live.send('{"joinType": "full"}')
    assert live.status.desired.join is JoinType.FULL


def test_a_build_that_is_ready_just_after_another_state_was_desired_is_not_shown(live: World) -> None:
    live.builder.topics.add("c")
    live.send(TO_B)
    outdated = live.build
    late = outdated.succeed()
    live.orchestrator.step([live.message('{"leftTopic": "c"}'), *live.inbox])
    assert len(live.public.shown) == 1
    assert late.retired
    assert live.build.topics == Topics("c", "right_b")


def test_a_build_that_fails_just_after_another_state_was_desired_rejects_nothing(live: World) -> None:
    live.builder.topics.add("c")
    live.send(TO_B)
    live.build.fail("the query died")
    newer = live.message('{"leftTopic": "c"}')
    live.orchestrator.step([newer, *live.inbox])
    assert live.public.outcomes[newer.id] is None
    live.inbox.clear()
    live.succeed()
    assert live.public.outcomes[newer.id] == "applied"


def test_a_build_whose_time_is_up_when_another_state_is_desired_rejects_nothing(live: World) -> None:
    live.builder.topics.add("c")
    live.send(TO_B)
    live.now += 61
    (id_,) = live.send('{"leftTopic": "c"}')
    assert live.public.outcomes[id_] is None
    assert live.build.topics == Topics("c", "right_b")


def test_an_unexpected_failure_does_not_end_the_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(orchestrator, "FIRST_RETRY_SECONDS", 0)
    world = World()
    failures = [ZeroDivisionError("a defect")]
    recall = world.builder.remembered

    def remembered() -> Remembered | None:
        if failures:
            raise failures.pop()
        return recall()

    world.builder.remembered = remembered  # type: ignore[method-assign]
    del world.orchestrator.post  # the fake one: its inbox is not read by the thread
    world.orchestrator.post(History([]))
    world.orchestrator.post(History([]))
    world.orchestrator.start()
    world.orchestrator.stop()
    assert world.status.state is State.STOPPED
    assert "a defect" in caplog.text


def test_the_time_that_spark_takes_to_start_is_not_held_against_a_build() -> None:
    world = World(ready_timeout_seconds=60)
    world.start()
    world.build.waits_for_spark = True
    world.pass_time(59)
    world.pass_time(59)
    world.pass_time(10)
    assert not world.build.cancelled
    world.build.spark_started()
    world.pass_time(59)
    assert not world.build.cancelled
    world.pass_time(2)
    assert world.build.cancelled
    assert "not ready in 60 s" in world.status.message


def test_what_has_failed_is_tried_again_as_soon_as_a_trouble_is_over(live: World) -> None:
    live.orchestrator.step([Trouble(CONTROL, "the broker does not answer")])
    live.die(live.pipeline, "the broker does not answer")
    for _ in range(6):
        live.pass_time(31)
        live.fail("the broker does not answer")
    builds = len(live.builder.builds)
    live.pass_time(1)
    assert len(live.builder.builds) == builds, "it waits for half a minute by now"
    live.orchestrator.step([Trouble(CONTROL, None)])
    assert len(live.builder.builds) == builds + 1
