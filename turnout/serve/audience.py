"""Who is connected, what waits for them, and how many could not keep up."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from turnout.serve.outbox import Outbox


class Protocol(StrEnum):
    """How somebody is connected."""

    SSE = "sse"
    PERSPECTIVE = "perspective"
    PULSE = "pulse"


FindOutbox = Callable[[], Outbox[Any] | None]
"""Where things wait for somebody at this moment: who has fallen behind gets another one."""


class Audience:
    """Changed on the event loop alone, read from any thread."""

    def __init__(self) -> None:
        self.fell_behind: Counter[Protocol] = Counter()
        """Since the start; who starts over and falls behind again counts again."""
        self._members: dict[Protocol, list[FindOutbox]] = {protocol: [] for protocol in Protocol}

    @contextmanager
    def member(self, protocol: Protocol, outbox: FindOutbox = lambda: None) -> Iterator[None]:
        """Somebody is there until this ends."""
        self._members[protocol].append(outbox)
        try:
            yield
        finally:
            self._members[protocol].remove(outbox)

    def viewers(self, protocol: Protocol) -> int:
        return len(self._members[protocol])

    def outboxes(self, protocol: Protocol) -> Sequence[Outbox[Any]]:
        found = [find() for find in tuple(self._members[protocol])]
        return [outbox for outbox in found if outbox is not None]
