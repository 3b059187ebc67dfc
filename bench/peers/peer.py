"""What every system answers, whatever it is: the questions that the benchmark asks of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Self, TypedDict

from bench.child import answer_questions
from bench.seen import Sightings, answer, now_us

CHECK_MODULUS = 1_000_003
"""The checksum of a join is the sum of `left + left * right % CHECK_MODULUS` over its rows, with 0 for a right side
that is not there: a row that is missing, stale, or shown with another's match makes it wrong. Messages have small
numbers, so that all of it fits into 64 bits."""


ROWS, TIMES = "rows", "times"


@dataclass(frozen=True)
class Join:
    """Of either side the newest `keep` rows of a key, or all of them (None). Each left one is shown with the latest
    right one, also if there is none; or, `inner`, with each right one."""

    keep: int | None = 1
    inner: bool = False

    @property
    def arguments(self) -> tuple[str, str]:
        """As a process is told of it: a number or `all`, `left` or `inner`."""
        return str(self.keep or "all"), "inner" if self.inner else "left"

    @classmethod
    def told(cls, keep: str, kind: str) -> Self:
        return cls(None if keep == "all" else int(keep), kind == "inner")


LATEST = Join()
"""The latest left row with the latest right one."""

EVERY_PAIR = Join(keep=None, inner=True)


class Check(TypedDict):
    rows: int
    checksum: int


class Peer(Protocol):
    sightings: Sightings
    """What a listener in the process sees of the joined table."""

    def about(self) -> Mapping[str, object]:
        """Versions and settings; `port` if there is a server for remote clients."""

    def begin(self, left: str, right: str) -> None:
        """Returns when it is under way."""

    def check(self) -> Check:
        """What the joined table holds now."""

    def end(self) -> None:
        """Forgets the join that was begun, so that another can begin."""


def run(peer: Peer, *at_once: str) -> NoReturn:
    """Begins at once, with a left topic, a right one, and `rows` or `times` to be noted; or when it is asked to."""
    if at_once:
        left, right, noted = at_once
        peer.sightings.with_rows = noted == ROWS
        peer.begin(left, right)
    serve(peer)


def serve(peer: Peer) -> NoReturn:
    """Answers questions about it until the parent is done or gone."""

    def reply(question: dict[str, Any]) -> Mapping[str, object]:
        match question.pop("do"):
            case "about":
                return peer.about()
            case "begin":
                peer.sightings.clear()
                peer.sightings.with_rows = question["with_rows"]
                began = now_us()
                peer.begin(question["left"], question["right"])
                return {"began_us": began}
            case "progress":
                return {"updates": peer.sightings.updates, "last_us": peer.sightings.last_us, "now_us": now_us()}
            case "check":
                return {**peer.check()}
            case "seen":
                return answer(peer.sightings.take, {**question})  # type: ignore[typeddict-item]
            case _:
                peer.end()
                return {}

    answer_questions(reply)
