"""What was applied before: where an undo leads."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from turnout.control.message import Request, resolve
from turnout.orchestrator.desired import Desired


@dataclass(frozen=True)
class Past:
    """The last two desired states that were applied: to go back and forth takes no more.

    It never changes: any thread may read the one it has, while the orchestrator's puts a newer one in its place.
    """

    latest: Desired
    earlier: Desired | None = None
    """The last one that differs from the latest."""

    def applied(self, desired: Desired) -> "Past":
        return self if desired == self.latest else Past(desired, self.latest)

    def before(self, desired: Desired) -> Desired | None:
        """The state that was applied last and is not this one."""
        return self.earlier if desired == self.latest else self.latest


def folded(default: Desired, requests: Iterable[Request], can_be_shown: Callable[[Desired], bool]) -> Past:
    """The past after a restart: each state that the requests lead through counts as applied, if it can be shown now.

    Which of them really were is not written down anywhere: the control topic is all that is left of an earlier run.
    """
    past = Past(default)
    for desired in states(default, requests):
        if can_be_shown(desired):
            past = past.applied(desired)
    return past


def states(default: Desired, requests: Iterable[Request]) -> Iterator[Desired]:
    """The states that the requests lead through, the default first."""
    yield (desired := default)
    for request in requests:
        yield (desired := resolve(desired, request))
