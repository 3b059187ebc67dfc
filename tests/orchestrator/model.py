"""What control messages ask for, written down a second time: from the contract, without the product's help."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.orchestrator.fakes import DEFAULT
from turnout.control.message import ControlMessage
from turnout.orchestrator.desired import Desired

JOINS = {name: name for name in ("left", "inner", "right", "full", "semi", "anti")}
JOINS |= {"natural": "left", "left_outer": "left"}


class Wish(NamedTuple):
    """What is to be shown; None: what was."""

    left: str | None
    right: str | None
    join: str | None

    def __or__(self, other: "Wish") -> "Wish":
        return Wish(other.left or self.left, other.right or self.right, other.join or self.join)

    @property
    def topics(self) -> tuple[str | None, str | None]:
        return self.left, self.right

    @property
    def is_possible(self) -> bool:
        return self.left != self.right


def plain(desired: Desired) -> Wish:
    return Wish(desired.topics.left, desired.topics.right, str(desired.join))


def read(message: ControlMessage) -> Wish | None:
    """What a message asks for; None: it cannot be used."""
    try:
        fields = json.loads(message.value)
        texts = [(fields.get(name) or "") for name in ("leftTopic", "rightTopic", "joinType")]
        left, right, join = [text.strip() for text in texts]
        join = JOINS[join.lower()] if join else None
    except (ValueError, AttributeError, KeyError):
        return None
    legal = all(re.fullmatch("[a-zA-Z0-9._-]{0,249}", topic) for topic in (left, right))
    return Wish(left or None, right or None, join) if legal else None


def fold(messages: Sequence[ControlMessage], exists: Collection[str] | None) -> tuple[Wish, list[str]]:
    """What all messages together ask for, and the ids of those that count.

    One that leads to a topic that does not exist does not count, as if it had never been sent. `exists` is None if the
    broker does not answer.
    """
    out: set[str] = set()
    while True:
        desired, count = plain(DEFAULT), dict[str, Wish]()
        for message in messages:
            wish = read(message) if message.id not in out else None
            if wish is not None and (desired | wish).is_possible:
                desired, count[message.id] = desired | wish, wish
        missing = {topic for topic in desired.topics if exists is not None and topic not in exists}
        to_blame = [id_ for id_, wish in count.items() if missing & set(wish.topics)]
        if not to_blame:
            return desired, list(count)
        out.add(to_blame[-1])


@dataclass
class Model:
    """What is desired, and what has to become of each message. It is told of each call that the orchestrator makes."""

    desired: Wish = field(default_factory=lambda: plain(DEFAULT))
    shown: Wish | None = None
    earlier: Wish | None = None
    """What an earlier run showed."""
    pending: str | None = None
    """The message that the desired state is due to, until it is applied."""
    due: dict[str, str] = field(default_factory=dict)
    """Messages that are not pending -> what is to be said of them next."""

    def start(self, messages: Sequence[ControlMessage], exists: Collection[str] | None) -> None:
        self.desired, count = fold(messages, exists)
        self.due = {message.id: "rejected" for message in messages} | dict.fromkeys(count, "superseded")
        if count:
            self.pending = count[-1]
            del self.due[count[-1]]

    def take(self, message: ControlMessage, exists: Collection[str]) -> None:
        wish = read(message)
        desired = self.desired | wish if wish is not None else None
        if desired is None or not desired.is_possible or not set(desired.topics) <= set(exists):
            self.due[message.id] = "rejected"
            return
        if self.pending is not None:
            self.due[self.pending] = "superseded"
        self.desired, self.pending = desired, message.id

    def said(self, id_: str, outcome: str) -> None:
        """An outcome is final, and it is the right one."""
        kind, _, reason = outcome.partition(": ")
        if id_ in self.due:
            assert kind == self.due.pop(id_), f"{id_} is {outcome}"
            return
        assert id_ == self.pending, f"{id_} is {outcome}, but {self.pending} is pending"
        self.pending = None
        if kind == "rejected":
            assert self.is_about_the_desired(reason), f"{id_} wants {self.desired}, and is {outcome}"
            self.failed()
        else:
            assert kind in ("applied", "no change")
            assert self.shown == self.desired, f"{id_} is {outcome}, but shown is {self.shown}, not {self.desired}"

    def knows(self, id_: str) -> bool:
        return id_ in self.due or id_ == self.pending

    def heard(self, message: str) -> None:
        """A status tells of a failure: one that no message is due to has no outcome."""
        if self.pending is None and self.shown is not None and self.is_about_the_desired(message):
            self.failed()

    def is_about_the_desired(self, failure: str) -> bool:
        return f"<{self.desired.left}, {self.desired.right}>" in failure

    def failed(self) -> None:
        """What is desired cannot be built: what is shown goes on."""
        assert self.shown is not None, "without anything to show a build is tried again"
        self.desired = self.shown

    def show(self, shown: Wish) -> None:
        allowed = [self.desired] if self.shown is not None else [self.desired, self.earlier]
        assert shown in allowed, f"{shown} is shown, but desired is {self.desired}"
        self.shown = shown
