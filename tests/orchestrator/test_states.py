import itertools

import pytest

from turnout.orchestrator.states import MOVES, Lifecycle, State


def test_it_starts_at_starting() -> None:
    assert Lifecycle().state is State.STARTING


def test_an_illegal_move_names_both_states_and_what_is_allowed() -> None:
    lifecycle = Lifecycle()
    with pytest.raises(RuntimeError, match="from starting to switching; it may move to: building, degraded, stopped"):
        lifecycle.move(State.SWITCHING)
    assert lifecycle.state is State.STARTING


def test_every_state_can_be_stopped_and_none_can_be_left_after_that() -> None:
    assert all(State.STOPPED in allowed for state, allowed in MOVES.items() if state is not State.STOPPED)
    assert MOVES[State.STOPPED] == frozenset()


def test_live_can_be_reached_from_everywhere() -> None:
    reached = {State.LIVE}
    for _, (state, allowed) in itertools.product(State, MOVES.items()):
        if allowed & reached:
            reached.add(state)
    assert reached == set(State) - {State.STOPPED}
