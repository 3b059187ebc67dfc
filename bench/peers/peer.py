"""What every system answers, whatever it is: the questions that the benchmark asks of it."""

from collections.abc import Mapping
from typing import Any, NoReturn, Protocol, TypedDict

from bench.child import answer_questions
from bench.seen import Sightings, answer, now_us

CHECK_MODULUS = 1_000_003
"""The checksum of a join is the sum of `left + left * right % CHECK_MODULUS` over its rows, with 0 for a right side
that is not there: a row that is missing, stale, or shown with another's match makes it wrong. Messages have small
numbers, so that all of it fits into 64 bits."""


ROWS, TIMES = "rows", "times"


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
