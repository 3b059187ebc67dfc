"""What is asked of systems that cannot do all joins."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import workload
from bench.peers.peer import EVERY_PAIR, LATEST, Join
from bench.scenarios.backlog import Case, the_same_as
from bench.systems import System, plain_spark, turnout
from bench.workload import Workload

MUCH, LITTLE = Workload(messages=1_000, keys=10, hot=True), Workload(messages=100, keys=10, hot=True)
CASES = {
    "latest": Case(MUCH),
    "newest": Case(MUCH, join=Join(100)),
    "pairs": Case(LITTLE, join=Join(100, inner=True)),
    "partitions": Case(MUCH, partitions=4),
}


@pytest.mark.parametrize("name", CASES)
def test_who_knows_all_joins_is_asked_for_all(name: str) -> None:
    assert the_same_as(turnout(), name, CASES) is None


@pytest.mark.parametrize(
    ("name", "same"), [("latest", None), ("newest", "latest"), ("pairs", None), ("partitions", None)]
)
def test_who_knows_one_join_is_not_asked_twice_for_the_same(name: str, same: str | None) -> None:
    assert the_same_as(plain_spark(()), name, CASES) == same


def test_rows_are_compared_with_those_of_the_join_that_a_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload, "HOME", tmp_path)
    systems: list[tuple[System, Join]] = [(turnout(), LATEST), (plain_spark(()), EVERY_PAIR)]
    for system, join in systems:
        assert MUCH.oracle(system.shows(LATEST)) == MUCH.oracle(join)
    assert MUCH.oracle(LATEST) != MUCH.oracle(EVERY_PAIR)


@given(st.none() | st.integers(1, 1_000), st.booleans())
def test_a_process_is_told_the_join_that_was_meant(keep: int | None, inner: bool) -> None:
    join = Join(keep, inner)
    assert Join.told(*join.arguments) == join
