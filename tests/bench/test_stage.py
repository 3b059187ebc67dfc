"""Whose turn it is; and a remote client that fails does not take its system's figures with it, and is named."""

from typing import Any, cast

import pytest

from bench.machine import Machine
from bench.results import Results
from bench.seen import Seen
from bench.stage import Stage, until_it_fails
from bench.systems import Program, System, without_variants
from turnout.errors import TurnoutError


def _system(name: str, program: str = "", *, slow: bool = False) -> System:
    return System(name, Program("bench.peers", environment=program or name), slow=slow)


def _stage(systems: list[System], rounds: int) -> Stage:
    nothing = cast(Any, None)
    machine = Machine(cores=2, turnout="", python="3", java=17, spark="", kafka="4", polars="")
    results = Results("backlog", "How fast?", machine, 0.0, quick=True)
    return Stage(nothing, nothing, nothing, systems, rounds, list[str]().append, results)


def test_turns_alternate_and_who_is_slow_has_one_in_the_first_round_only() -> None:
    stage = _stage([_system("a"), _system("b", slow=True), _system("c")], rounds=3)
    assert [system.name for system in stage.turns()] == ["a", "b", "c", "c", "a", "a", "c"]
    assert stage.results.rounds == 3


def test_rounds_that_are_added_go_on_where_the_others_ended() -> None:
    stage = _stage([_system("a"), _system("b", slow=True), _system("c")], rounds=2)
    stage.results.rounds = 1
    assert [system.name for system in stage.turns()] == ["c", "a", "a", "c"]


def test_variants_of_a_program_are_left_out_and_other_programs_are_not() -> None:
    systems = [_system("a"), _system("a-10ms", "a"), _system("b"), _system("a-1ms", "a")]
    assert [system.name for system in without_variants(systems)] == ["a", "b"]


def test_what_a_client_has_seen_is_handed_on() -> None:
    seen, failures = Seen({1: 2}), list[str]()
    assert until_it_fails(lambda _left, _right: seen, failures.append)(1, 1) is seen
    assert not failures


def test_a_client_that_fails_is_named_once_and_not_asked_again() -> None:
    asked, failures = [], list[str]()

    def ended(last_left: int, last_right: int) -> Seen:
        asked.append((last_left, last_right))
        raise TurnoutError("the process has ended")

    client = until_it_fails(ended, failures.append)
    assert client(1, 2) is None
    assert client(3, 4) is None
    assert asked == [(1, 2)]
    assert failures == ["remote client: the process has ended"]


def test_a_mistake_of_the_benchmark_itself_is_not_taken_for_the_clients() -> None:
    def mistaken(_left: int, _right: int) -> Seen:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        until_it_fails(mistaken, list[str]().append)(1, 1)
