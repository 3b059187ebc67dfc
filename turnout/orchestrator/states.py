"""The lifecycle: its states, and which may follow which."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    STARTING = "starting"
    BUILDING = "building"
    CATCHING_UP = "catching up"
    SWITCHING = "switching"
    LIVE = "live"
    DEGRADED = "degraded"
    STOPPED = "stopped"


# Building, catching up and switching happen while an older generation, if there is one, goes on being shown.
MOVES: Mapping[State, frozenset[State]] = {
    State.STARTING: frozenset({State.BUILDING, State.DEGRADED, State.STOPPED}),
    State.BUILDING: frozenset({State.CATCHING_UP, State.SWITCHING, State.LIVE, State.DEGRADED, State.STOPPED}),
    State.CATCHING_UP: frozenset({State.BUILDING, State.SWITCHING, State.LIVE, State.DEGRADED, State.STOPPED}),
    State.SWITCHING: frozenset({State.BUILDING, State.LIVE, State.DEGRADED, State.STOPPED}),
    State.LIVE: frozenset({State.BUILDING, State.SWITCHING, State.DEGRADED, State.STOPPED}),
    State.DEGRADED: frozenset({State.BUILDING, State.SWITCHING, State.LIVE, State.STOPPED}),
    State.STOPPED: frozenset(),
}


class Lifecycle:
    """The current state: one value, changed in one place."""

    def __init__(self) -> None:
        self._state = State.STARTING

    @property
    def state(self) -> State:
        return self._state

    def move(self, to: State) -> None:
        if to is self._state:
            return
        if to not in MOVES[self._state]:
            allowed = ", ".join(sorted(MOVES[self._state])) or "none"
            raise RuntimeError(f"the lifecycle cannot move from {self._state} to {to}; it may move to: {allowed}")
        self._state = to
