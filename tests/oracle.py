"""What the tables must hold: the join rules once more, in plain Python over the messages sent.

Written from the rules alone and importing nothing from the product, so that an error would have to be made twice.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

Value = str | int | float | bool | None
Row = Mapping[str, Value]
Table = Counter[tuple[Value, ...]]


@dataclass(frozen=True)
class Message:
    """A good message on a data topic; `side` is "left" or "right"."""

    side: str
    timestamp: int
    partition: int
    offset: int
    row: Row

    @property
    def position(self) -> tuple[int, int, int]:
        return self.timestamp, self.offset, self.partition


Pair = tuple[Message | None, Message | None]


@dataclass(frozen=True)
class Oracle:
    """Knows two tables and their key; columns in the order in which the tables show them."""

    left_columns: Collection[str]
    right_columns: Collection[str]
    key: str
    keep_left: int
    keep_right: int

    def tables(self, messages: Iterable[Message], join_type: str, match: str) -> dict[str, Table]:
        """The rows of the tables "left", "right" and "joined", in no order."""
        messages = list(messages)
        left = self._kept([message for message in messages if message.side == "left"], self.keep_left)
        right = self._kept([message for message in messages if message.side == "right"], self.keep_right)
        joined: Table = Counter()
        for key in {*left, *right}:
            lefts = left.get(key, [])
            rights = right.get(key, []) if key is not None else []
            for pair in _pairs(lefts, rights, join_type, match):
                joined[self._shown(key, pair, with_right=join_type not in ("semi", "anti"))] += 1
        return {
            "left": Counter(_values(message, self.left_columns) for kept in left.values() for message in kept),
            "right": Counter(_values(message, self.right_columns) for kept in right.values() for message in kept),
            "joined": joined,
        }

    def _kept(self, messages: Iterable[Message], keep: int) -> dict[Value, list[Message]]:
        """The newest messages of each key, newest first."""
        by_key: dict[Value, list[Message]] = defaultdict(list)
        for message in messages:
            by_key[message.row.get(self.key)].append(message)
        return {
            key: sorted(group, key=lambda message: message.position, reverse=True)[:keep]
            for key, group in by_key.items()
        }

    def _shown(self, key: Value, pair: Pair, *, with_right: bool) -> tuple[Value, ...]:
        left, right = pair
        left_part = [key if name == self.key else left and left.row.get(name) for name in self.left_columns]
        right_part = [
            right.row.get(name) if with_right and right else None for name in self.right_columns if name != self.key
        ]
        return (*left_part, *right_part)  # type: ignore[arg-type]


def _values(message: Message, columns: Iterable[str]) -> tuple[Value, ...]:
    return tuple(message.row.get(name) for name in columns)


def _pairs(lefts: list[Message], rights: list[Message], join_type: str, match: str) -> list[Pair]:
    """What is shown with what, for one key."""
    if join_type == "inner":
        return [(left, right) for left in lefts for right in rights]
    if join_type == "semi":
        return [(left, None) for left in lefts if rights]
    if join_type == "anti":
        return [(left, None) for left in lefts if not rights]
    pairs: list[Pair] = []
    if join_type in ("left", "full"):
        pairs += [(left, right) for left in lefts for right in _partners(rights, match)]
    if join_type in ("right", "full"):
        pairs += [(left, right) for right in rights for left in _partners(lefts, match)]
    return [pair for number, pair in enumerate(pairs) if not _among(pair, pairs[:number])]


def _partners(others: list[Message], match: str) -> list[Message] | list[None]:
    if not others:
        return [None]
    return others if match == "all" else [max(others, key=lambda message: message.position)]


def _among(pair: Pair, pairs: list[Pair]) -> bool:
    """By identity: two messages may well say the same."""
    return any(pair[0] is left and pair[1] is right for left, right in pairs)


class _Integer(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class _Real(str):
    """The text of any other JSON number."""

    __slots__ = ()


def parse(value: bytes | None, columns: Mapping[str, str]) -> dict[str, Value] | str:
    """What a Kafka value means: a row, or the reason why it is none."""
    if not value:
        return "empty"
    try:
        document = json.loads(
            value.decode("utf-8"), parse_int=_Integer, parse_float=_Real, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    if not isinstance(document, dict):
        return "not an object"
    row: dict[str, Value] = {}
    for name, column_type in columns.items():
        try:
            row[name] = _typed(document.get(name), column_type)
        except ValueError:
            return f"{name} is not a {column_type}"
    return row


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _typed(value: object, column_type: str) -> Value:
    """The value of a column, or ValueError if it does not fit."""
    if value is None:
        return None
    if column_type == "boolean" and isinstance(value, bool):
        return value
    if column_type == "long" and isinstance(value, _Integer) and -(2**63) <= int(value) < 2**63:
        return int(value)
    if column_type == "double" and isinstance(value, _Integer | _Real) and math.isfinite(float(value)):
        return float(value)
    if column_type == "string" and isinstance(value, bool):
        return "true" if value else "false"
    if column_type == "string" and isinstance(value, str):
        return str(value)
    raise ValueError(f"not a {column_type}")
