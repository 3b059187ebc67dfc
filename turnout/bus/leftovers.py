"""Topics on the bus that nobody needs any more: of a Turnout that is gone for good, with its state directory."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from turnout.bus.claims import Claims, Seen, claimed
from turnout.bus.topics import BusTopics
from turnout.kafka.client import Cluster


class Use(StrEnum):
    OURS = "in use here"
    """There is a manifest in the state directory: the next start resumes it, or cleans it up."""
    SEEN = "in use elsewhere"
    LEFTOVER = "leftover"


@dataclass(frozen=True)
class Found:
    """What a pipeline has on the bus."""

    pipeline: str
    topics: tuple[str, ...]
    use: Use
    seen_ms: int | None
    """The last sign of life: a claim, or without one the newest record; None if there is neither."""
    owner: Seen | None


class Leftovers:
    def __init__(self, bus: Cluster, topics: BusTopics, ours: Callable[[], Collection[str]]) -> None:
        """`ours` are the pipelines of this state directory."""
        self._bus, self._topics, self._ours = bus, topics, ours
        self._claims = Claims(bus, topics)

    def find(self, seen_since_ms: int) -> list[Found]:
        """All pipelines on the bus. Whoever has given a sign of life since then is in use."""
        # In this order: what is claimed before it is made cannot be seen without its claim.
        topics = self._by_pipeline()
        claims, ours = self._claims.read(), set(self._ours())
        return [self._found(pipeline, names, claims, ours, seen_since_ms) for pipeline, names in topics]

    def delete(self, leftovers: Sequence[Found]) -> list[str]:
        """The topics that are gone now."""
        gone = [topic for leftover in leftovers for topic in leftover.topics]
        if gone:
            self._bus.delete_topics(gone)
        there = {pipeline for pipeline, _ in self._by_pipeline()} | set(self._ours())
        for owner in {leftover.owner for leftover in leftovers if leftover.owner is not None}:
            if there.isdisjoint(owner.claim.pipelines):
                self._claims.withdraw(owner.claim.owner)
        return gone

    def _by_pipeline(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        found: dict[str, list[str]] = {}
        for topic in sorted(self._bus.topics()):
            if (pipeline := self._topics.pipeline(topic)) is not None:
                found.setdefault(pipeline, []).append(topic)
        return [(pipeline, tuple(topics)) for pipeline, topics in found.items()]

    def _found(
        self, pipeline: str, topics: tuple[str, ...], claims: Collection[Seen], ours: set[str], seen_since_ms: int
    ) -> Found:
        owner = claimed(claims, pipeline)
        seen_ms = owner.at_ms if owner is not None else max(self._written(topics), default=None)
        if pipeline in ours:
            use = Use.OURS
        else:
            use = Use.SEEN if seen_ms is not None and seen_ms >= seen_since_ms else Use.LEFTOVER
        return Found(pipeline, topics, use, seen_ms, owner)

    def _written(self, topics: Sequence[str]) -> Iterator[int]:
        """When the newest records were, of partitions that have any."""
        partitions = [(topic, partition) for topic in topics for partition in self._bus.partitions(topic)]
        for place in self._bus.newest(partitions).values():
            if place.timestamp_ms >= 0:
                yield place.timestamp_ms
