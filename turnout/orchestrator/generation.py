"""What is shown now, and the pipelines that linger after it was switched away from."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Pipeline
from turnout.schema import Topics


@dataclass(frozen=True)
class Generation:
    """A pipeline and a join type under the public names."""

    number: int
    desired: Desired
    pipeline: Pipeline


@dataclass
class Lingering:
    """Pipelines that go on for a while, so that going back is instant. The oldest stands first."""

    seconds: float
    most: int
    _pipelines: list[tuple[float, Pipeline]] = field(default_factory=list)

    def add(self, pipeline: Pipeline, now: float) -> None:
        self._pipelines.append((now + self.seconds, pipeline))

    def take(self, topics: Topics) -> Pipeline | None:
        """The lingering pipeline on these topics, which then lingers no longer."""
        for entry in self._pipelines:
            if entry[1].topics == topics:
                self._pipelines.remove(entry)
                return entry[1]
        return None

    def drop(self, pipeline_id: str) -> Pipeline | None:
        """Take out a pipeline that has died."""
        for entry in self._pipelines:
            if entry[1].id == pipeline_id:
                self._pipelines.remove(entry)
                return entry[1]
        return None

    def due(self, now: float) -> Iterator[Pipeline]:
        """Take out those whose time is up, or that are too many."""
        while self._pipelines and (self._pipelines[0][0] <= now or len(self._pipelines) > self.most):
            yield self._pipelines.pop(0)[1]

    def next_due(self) -> float | None:
        return self._pipelines[0][0] if self._pipelines else None

    def __iter__(self) -> Iterator[Pipeline]:
        return iter([pipeline for _, pipeline in self._pipelines])
