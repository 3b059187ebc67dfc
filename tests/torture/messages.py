"""What is sent: rows that carry their pair's tag, rubbish, and control messages of all kinds."""

import json
import random
from collections.abc import Iterable, Mapping
from typing import Any

from tests.torture.model import ALSO_LEFT, JOINS

USERS_PREFIX, ACCOUNTS_PREFIX = "users_", "accounts_"
PAIRS = ("a", "b", "c")
PARTITIONS = {"a": 1, "b": 2, "c": 3}
MISSING = "nosuch"

KEYS = [*(f"k{number}" for number in range(10)), "ключ", "𝄞", "", 'say "hi"', None]
"""Few, so that rows meet and push each other out."""

LEFT_ONLY, RIGHT_ONLY, BOTH = "left only", "right only", "k0"
"""Every pair has these from the start, so that no join of it is ever empty."""

WORDS = ["Ada", "Grace", "Łukasz", "渡辺", "🚂", "", "null", "\\", "O'Brien"]

SAME_MOMENT, LONG_AGO = 1_700_000_000_000, 1_000_000_000_000


def users_topic(tag: str) -> str:
    return USERS_PREFIX + tag


def accounts_topic(tag: str) -> str:
    return ACCOUNTS_PREFIX + tag


DATA_TOPICS = frozenset(topic for tag in PAIRS for topic in (users_topic(tag), accounts_topic(tag)))


def tag_of(topic: str) -> str:
    return topic.rpartition("_")[2]


def tags(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The pairs that these rows come from."""
    values = (row.get(name) for row in rows for name in ("name", "accountType"))
    return {value.partition(":")[0] for value in values if value is not None}


def seeds(topic: str) -> list[bytes]:
    tag = tag_of(topic)
    if topic.startswith(USERS_PREFIX):
        return [_json({"userId": key, "name": f"{tag}:seed"}) for key in (LEFT_ONLY, BOTH)]
    return [_json({"userId": key, "accountType": f"{tag}:seed"}) for key in (RIGHT_ONLY, BOTH)]


def row(rng: random.Random, topic: str) -> bytes:
    tag = tag_of(topic)
    columns: dict[str, str | float | None]
    if topic.startswith(USERS_PREFIX):
        columns = {
            "userId": rng.choice(KEYS),
            "name": f"{tag}:{rng.choice(WORDS)}" if rng.random() < 0.95 else None,
            "email": rng.choice([None, "a@example.com", "ü@example.com"]),
            "age": rng.choice([None, 0, -1, 30, 2**53 + 1, rng.randrange(100)]),
        }
    else:
        columns = {
            "userId": rng.choice(KEYS),
            "accountType": f"{tag}:{rng.choice(WORDS)}" if rng.random() < 0.95 else None,
            "balance": rng.choice([None, 0, -2.5, 1e-9, 1e15, round(rng.random() * 1000, 2)]),
        }
    present = {name: value for name, value in columns.items() if value is not None or rng.random() < 0.5}
    return _json(present, escaped=rng.random() < 0.5)


def rubbish(rng: random.Random) -> bytes | None:
    return rng.choice(
        [
            None,
            b"",
            b"not JSON",
            b"x" * 3000,
            b'{"userId": "k1"',
            b'{"userId": "k1"} {"userId": "k2"}',
            b"[1, 2]",
            b"null",
            b'"text"',
            b"\xff\xfe\x00",
            b'{"userId": "k1", "age": "abc", "balance": "abc"}',
            b'{"userId": "k1", "age": 1.5, "balance": 1e999}',
        ]
    )


def timestamp(rng: random.Random) -> int:
    """Most say when they were sent; some come late, and many at the same moment."""
    return rng.choice([0, 0, 0, SAME_MOMENT, SAME_MOMENT, LONG_AGO + rng.randrange(1000), 1])


# -- control messages


def switch(rng: random.Random, tag: str, join: str | None = None) -> bytes:
    message: dict[str, object] = {"usersTopic": users_topic(tag), "accountsTopic": f" {accounts_topic(tag)} "}
    if join is not None or rng.random() < 0.5:
        message["joinType"] = join or some_join(rng)
    if rng.random() < 0.2:
        message["comment"] = "не поле"
    return _json(message)


def join_alone(rng: random.Random) -> bytes:
    others: dict[str, object] = rng.choice([{}, {"usersTopic": None}, {"accountsTopic": "  "}])
    return _json({**others, "joinType": some_join(rng)})


def some_join(rng: random.Random) -> str:
    name = rng.choice([*JOINS, *ALSO_LEFT])
    return rng.choice([name, name.upper(), f" {name} "])


def refused(rng: random.Random) -> bytes | None:
    """What no Turnout may accept."""
    return rng.choice(
        [
            None,
            b"",
            b"rubbish",
            b"[]",
            b"7",
            b"\xff",
            _json({"joinType": "cross"}),
            _json({"joinType": 0}),
            _json({"usersTopic": ["users_a"]}),
            _json({"usersTopic": "users_a", "accountsTopic": "users_a"}),
            _json({"usersTopic": "no/topic"}),
            to_missing(),
        ]
    )


def to_missing() -> bytes:
    """Without a join type: when all messages are folded at a start, one that was rejected because its topic was missing
    cannot be told from one whose topic has been deleted since, and so its join type may count."""
    return _json({"usersTopic": MISSING})


def _json(value: object, *, escaped: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=escaped).encode()
