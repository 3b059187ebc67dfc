"""What must be true of Turnout: a second reading of the contract, which imports nothing from the product."""

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from tests.oracle import Message, Oracle, Row, Table, parse
from tests.torture.users_kafka import Held

USERS = {"userId": "string", "name": "string", "email": "string", "age": "long"}
ACCOUNTS = {"userId": "string", "accountType": "string", "balance": "double"}
KEEP_USERS, KEEP_ACCOUNTS = 3, 2
ORACLE = Oracle(list(USERS), list(ACCOUNTS), "userId", KEEP_USERS, KEEP_ACCOUNTS)

JOINS = ("left", "inner", "right", "full", "semi", "anti")
ALSO_LEFT = ("natural", "left_outer")
FIELDS = ("usersTopic", "accountsTopic", "joinType")
TOPIC_NAME = re.compile("[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True)
class Want:
    """A desired state."""

    users: str
    accounts: str
    join: str

    def __str__(self) -> str:
        return f"{self.users} + {self.accounts} ({self.join})"


@dataclass(frozen=True)
class Asked:
    """What a control message asks for; None keeps what is."""

    users: str | None
    accounts: str | None
    join: str | None

    @property
    def topics(self) -> set[str]:
        return {topic for topic in (self.users, self.accounts) if topic is not None}

    def onto(self, current: Want) -> Want:
        return Want(self.users or current.users, self.accounts or current.accounts, self.join or current.join)


def understood(value: bytes | None) -> Asked | None:
    """A control message by section 2 of the contract; None if it has to be rejected, whatever the current state."""
    try:
        message = json.loads((value or b"").decode())
    except ValueError:
        return None
    if not isinstance(message, dict):
        return None
    if any(not isinstance(message.get(name), str | None) for name in FIELDS):
        return None
    users, accounts, join = ((message.get(name) or "").strip() or None for name in FIELDS)
    join = join and join.lower()
    asked = Asked(users, accounts, "left" if join in ALSO_LEFT else join)
    if asked.join not in (None, *JOINS) or (users is not None and users == accounts):
        return None
    return asked if all(TOPIC_NAME.fullmatch(topic) for topic in asked.topics) else None


@dataclass(frozen=True)
class Verdict:
    """What the control topic comes to."""

    acceptable: frozenset[Want]
    """More than one only where a fault hit a switch: it may have been given up, or not."""
    problem: str | None
    applied: tuple[Want, ...]
    """One after the other: where an undo leads."""


@dataclass(frozen=True)
class Desired:
    """The desired state as far as it is certain, and from where on the control topic has to be folded into it.

    A switch that a fault breaks is rejected and the old state goes on, until the next start folds the topic anew. So
    what the topic comes to depends on what has been seen to happen.
    """

    default: Want
    seen: Want
    """What was shown when all was well last."""
    past: tuple[Want, ...] | None
    """States that were applied, in order; None: unknown, because faults were about."""
    base: Want
    first: int = 0
    """The offset of the first control message that is not yet in `base`."""
    faulty: bool = False
    """Has there been a fault since all was well?"""
    folding: bool = True
    """Has the service been started since? Then it takes all that was said before as one message."""

    @classmethod
    def at_first(cls, default: Want) -> "Desired":
        return cls(default, default, (default,), default)

    def after_fault(self) -> "Desired":
        return replace(self, faulty=True)

    def after_message(self) -> "Desired":
        """One that comes while the service starts may be folded with the rest or not: nobody knows where undo leads."""
        return replace(self, past=None) if self.folding else self

    def after_start(self) -> "Desired":
        return replace(self, base=self.default, past=(self.default,), first=0, folding=True)

    def settled(self, seen: Want, verdict: Verdict, messages: int) -> "Desired":
        doubtful = len(verdict.acceptable) > 1 or self.past is None
        past = None if doubtful else _without_repeats((*(self.past or ()), *verdict.applied))
        return Desired(self.default, seen, past, seen, messages, faulty=False, folding=False)

    @property
    def before(self) -> Want | None:
        """Where an undo must lead, if anywhere; ask only if the past is known."""
        return next((want for want in reversed(self.past or ()) if want != self.seen), None)

    def judged(self, messages: Sequence[Held], outcomes: Mapping[int, str | None], topics: AbstractSet[str]) -> Verdict:
        """Fold the messages that came, by what became of each."""
        current, broken = self.base, False
        states, applied = [self.seen], []
        last: tuple[Held, str] | None = None
        for message in messages[self.first :]:
            outcome = outcomes.get(message.offset)
            if outcome is None:
                return Verdict(frozenset(), f"control message {message.offset} has no outcome", ())
            asked, rejected = understood(message.value), outcome.startswith("rejected: ")
            if asked is None or not asked.topics <= topics:
                # At a start only the topics that all of it comes to are looked for.
                if not rejected and (asked is None or not self.folding or outcome != "superseded"):
                    return _wrong(message, outcome, "has to be rejected")
                continue
            states.append(asked.onto(current))
            if rejected and not self.faulty:
                return _wrong(message, outcome, "has to be applied, or superseded")
            broken |= rejected
            if not rejected:
                current, last = states[-1], (message, outcome)
                if self.folding or outcome == "applied":
                    applied.append(current)
        if last is not None and last[1] == "superseded" and not broken:
            return _wrong(*last, "is the last that asks for anything, and so not superseded")
        return Verdict(frozenset(states if broken else [current]), None, tuple(applied))


def _wrong(message: Held, outcome: str, must: str) -> Verdict:
    return Verdict(frozenset(), f"control message {message.offset} {message.value!r} {must}, but: {outcome}", ())


def _without_repeats(states: Sequence[Want]) -> tuple[Want, ...]:
    return tuple(state for number, state in enumerate(states) if number == 0 or state != states[number - 1])


def expected_tables(users: Sequence[Held], accounts: Sequence[Held], join: str) -> dict[str, Table]:
    """What the data tables must hold, by their public names."""
    messages = [*_messages("left", users, USERS), *_messages("right", accounts, ACCOUNTS)]
    tables = ORACLE.tables(messages, join, "latest")
    return {"users_ui": tables["left"], "accounts_ui": tables["right"], "final_ui": tables["joined"]}


def expected_rejects(records: Sequence[Held], columns: Mapping[str, str]) -> set[tuple[int, int]]:
    """Partition and offset of each record that is no row."""
    return {(record.partition, record.offset) for record in records if isinstance(parse(record.value, columns), str)}


def _messages(side: str, records: Sequence[Held], columns: Mapping[str, str]) -> list[Message]:
    rows: list[tuple[Held, Row | str]] = [(record, parse(record.value, columns)) for record in records]
    return [
        Message(side, record.timestamp_ms, record.partition, record.offset, row)
        for record, row in rows
        if not isinstance(row, str)
    ]
