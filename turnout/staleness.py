"""How long messages have been waiting to come into the tables.

That some wait is nothing: they do while others come. It is only when none of them comes that the tables are stale.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

CONFIRM_SECONDS = 5.0
"""Of waiting, until it is made sure that there is a message: compaction and transactions leave offsets without one."""


@dataclass(frozen=True)
class Look:
    """A topic at one moment."""

    lag: int | None
    """Offsets that are not in the tables yet; None: Kafka does not say."""
    seen: Mapping[int, int]
    """Partition -> the last offset that is."""


@dataclass(frozen=True)
class _Wait:
    since: float
    look: Look


class Staleness:
    """Told of the topics again and again by one thread; asked by any."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waits: dict[str, _Wait | None] = {}  # topic -> None where nothing waits
        self._empty: dict[str, Look] = {}  # topic -> when it was made sure that no message is there

    def note(self, looks: Mapping[str, Look], is_unread: Callable[[str], bool]) -> None:
        """All topics as they are now; `is_unread` makes sure that a message waits in one, which takes its time."""
        self._waits = {topic: self._wait(topic, look, is_unread) for topic, look in looks.items()}

    def seconds(self) -> Mapping[str, float]:
        """Topic -> how long its messages have waited, none of them coming in; 0 where none waits."""
        now = self._clock()
        return {topic: now - wait.since if wait else 0.0 for topic, wait in self._waits.items()}

    def reasons(self, most_seconds: float) -> Sequence[str]:
        """Why the tables are stale, a sentence for each topic; none: they are not."""
        now = self._clock()
        return [
            _reason(topic, wait.look.lag, now - wait.since)
            for topic, wait in self._waits.items()
            if wait is not None and now - wait.since >= most_seconds
        ]

    def _wait(self, topic: str, look: Look, is_unread: Callable[[str], bool]) -> _Wait | None:
        if look.lag == 0 or self._empty.get(topic) == look:
            return None
        before = self._waits.get(topic)
        if before is None or before.look.seen != look.seen:
            return _Wait(self._clock(), look)
        if look.lag is not None and self._clock() - before.since >= CONFIRM_SECONDS and not is_unread(topic):
            self._empty[topic] = look
            return None
        return _Wait(before.since, look)


def _reason(topic: str, lag: int | None, seconds: float) -> str:
    if lag is None:
        return f"Kafka has not said for {seconds:.0f} s where topic {topic!r} ends"
    return f"{lag} messages of topic {topic!r} wait, and for {seconds:.0f} s none of them has come into the tables"
