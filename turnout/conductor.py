"""Whoever knows what is shown, and how to get elsewhere: an orchestrator, or a follower of one."""

from typing import Protocol

from turnout.orchestrator.desired import Desired
from turnout.orchestrator.moves import Moves
from turnout.orchestrator.preview import Preview


class Shown(Protocol):
    """A generation that is shown."""

    @property
    def pipeline(self) -> object: ...


class Conductor(Protocol):
    @property
    def live(self) -> Shown | None: ...
    @property
    def healthy(self) -> bool: ...
    @property
    def lingering(self) -> int: ...
    @property
    def moves(self) -> Moves: ...
    @property
    def previous(self) -> Desired | None: ...
    def preview(self, value: bytes) -> Preview: ...
