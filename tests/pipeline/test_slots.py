from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import BuildFailed
from turnout.pipeline.slots import EXECUTORS_SECONDS, Need, Slots, shuffle_partitions, wait_for_slots

NEED = Need({"users": 2, "accounts": 3}, shuffle=1)
counts = st.integers(1, 50)


@given(counts, counts, st.integers(0, 300))
def test_there_is_a_task_to_group_by_key_and_no_more_than_the_widest_topic_has_partitions(
    left: int, right: int, total: int
) -> None:
    tasks = shuffle_partitions({"users": left, "accounts": right}, Slots(total, 0))
    assert 1 <= tasks <= max(left, right)
    if tasks > 1:
        assert 2 * (left + right + tasks) <= total, "old and new pipeline fit beside each other"


@given(counts, counts, st.integers(0, 300), st.integers(0, 300))
def test_where_there_was_room_for_one_task_to_group_by_key_there_is_for_those_that_are_chosen(
    left: int, right: int, total: int, taken: int
) -> None:
    sources, slots = {"users": left, "accounts": right}, Slots(total, taken)
    chosen = Need(sources, shuffle_partitions(sources, slots))
    assert chosen.slots <= max(slots.free, Need(sources, shuffle=1).slots)


def test_beside_a_wide_pipeline_a_narrow_one_takes_what_is_free() -> None:
    three_and_three = {"users": 3, "accounts": 3}
    assert shuffle_partitions(three_and_three, Slots(24, taken=17)) == 1
    assert shuffle_partitions(three_and_three, Slots(24, taken=16)) == 2
    assert shuffle_partitions(three_and_three, Slots(24, taken=0)) == 3


@pytest.mark.parametrize(("total", "tasks"), [(2, 1), (12, 1), (14, 2), (16, 3), (100, 3)])
def test_as_many_as_the_cluster_has_room_for(total: int, tasks: int) -> None:
    assert shuffle_partitions({"users": 2, "accounts": 3}, Slots(total, 0)) == tasks


def waiting(*found: Slots) -> tuple[list[float], Iterator[Slots]]:
    return [], iter(found)


def test_executors_that_register_late_are_waited_for() -> None:
    waits, found = waiting(Slots(2, 0), Slots(4, 0), Slots(6, 0))
    wait_for_slots(NEED, lambda: next(found), lambda: False, waits.append)
    assert len(waits) == 2


def test_slots_that_another_pipeline_gives_back_are_waited_for() -> None:
    waits, found = waiting(Slots(8, 6), Slots(8, 0))
    wait_for_slots(NEED, lambda: next(found), lambda: False, waits.append)
    assert len(waits) == 1


def test_too_few_are_explained_with_what_to_do() -> None:
    waits: list[float] = []
    with pytest.raises(BuildFailed) as raised:
        wait_for_slots(NEED, lambda: Slots(8, 6), lambda: False, waits.append)
    text = str(raised.value)
    assert "6 task slots at once (2 for topic 'users', 3 for topic 'accounts', 1 to group by key)" in text
    assert "Spark has 8, of which other pipelines take 6" in text
    assert "spark.trigger: microbatch" in text
    assert "Give it more cores" in text
    assert sum(waits) == EXECUTORS_SECONDS


def test_in_local_mode_it_is_told_how_many_slots_are_enough() -> None:
    need = Need({"users": 40, "accounts": 40}, shuffle=1)
    with pytest.raises(BuildFailed) as raised:
        wait_for_slots(need, lambda: Slots(128, 81), lambda: False, lambda _: None, local=True)
    text = str(raised.value)
    assert "Spark has 128, of which other pipelines take 81" in text
    assert "Set `spark.master: local[256]`" in text
    assert "local[*]" not in text, "it has 128, and they are not enough"


@pytest.mark.parametrize(("needed", "taken", "told"), [(7, 0, 8), (8, 0, 8), (81, 0, 128), (81, 81, 256)])
def test_the_slots_that_are_told_are_enough(needed: int, taken: int, told: int) -> None:
    with pytest.raises(BuildFailed, match=rf"local\[{told}\]"):
        wait_for_slots(
            Need({"users": needed - 1}, shuffle=1), lambda: Slots(1, taken), lambda: False, lambda _: None, local=True
        )


def test_a_build_that_is_given_up_waits_no_longer() -> None:
    waits: list[float] = []
    wait_for_slots(NEED, lambda: Slots(0, 0), lambda: len(waits) > 1, waits.append)
    assert len(waits) == 2
