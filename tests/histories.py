"""Histories of messages for Hypothesis, and the changelog records that a pipeline would have made of them."""

import json
from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from tests.oracle import Message, Oracle, Value
from turnout.schema import ColumnType, JoinSchema, TableSchema

# Names that could be taken for something else: the record's own fields, patterns, paths, quotes, nothing at all.
ODD_NAMES = [
    "k",
    "l",
    "r",
    "ln",
    "v",
    "t",
    "o",
    "p",
    "id",
    "len",
    "*",
    "^.*$",
    "a.b",
    "_x y",
    'say "hi"',
    "имя",
    "☃",
    "",
]

VALUES: dict[ColumnType, st.SearchStrategy[Value]] = {
    ColumnType.STRING: st.text(max_size=8) | st.sampled_from(['"', "\\", "null", "\0", "𝄞", '{"a": [1]}']),
    ColumnType.LONG: st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]),
    ColumnType.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    ColumnType.BOOLEAN: st.booleans(),
}


@st.composite
def schemas(draw: st.DrawFn) -> JoinSchema:
    names = draw(st.lists(st.sampled_from(ODD_NAMES), min_size=2, max_size=6, unique=True))
    key, others = names[0], names[1:]
    key_type = draw(st.sampled_from(ColumnType))

    def table(name: str) -> TableSchema:
        shown = [*draw(st.lists(st.sampled_from(others), unique=True)), key]
        types = {column: key_type if column == key else draw(st.sampled_from(ColumnType)) for column in shown}
        columns = {column: types[column] for column in draw(st.permutations(shown))}
        return TableSchema(name, columns, draw(st.sampled_from([1, 2, 100])))

    return JoinSchema(table("one"), table("other"), key)


@st.composite
def histories(draw: st.DrawFn, schema: JoinSchema, max_size: int = 12) -> list[Message]:
    """Messages of few keys, null among them, with timestamps that tie and run backwards."""
    keys = st.sampled_from([None, *draw(st.lists(VALUES[schema.key_type], min_size=1, max_size=3))])
    ends: dict[tuple[str, int], int] = {}
    messages = []
    for _ in range(draw(st.integers(0, max_size))):
        side, partition = draw(st.sampled_from(["left", "right"])), draw(st.integers(0, 1))
        offset = ends.get((side, partition), 0)
        ends[side, partition] = offset + 1
        columns = schema.left.columns if side == "left" else schema.right.columns
        row = {
            name: draw(keys) if name == schema.key else draw(st.none() | VALUES[column])
            for name, column in columns.items()
        }
        messages.append(Message(side, draw(st.integers(0, 3)), partition, offset, row))
    return messages


def oracle_of(schema: JoinSchema) -> Oracle:
    return Oracle(schema.left.columns, schema.right.columns, schema.key, schema.left.keep, schema.right.keep)


def records_of(messages: Iterable[Message], schema: JoinSchema) -> dict[Value, bytes]:
    """Key -> its record after these messages, as the pipeline writes it: newest rows first, nulls left out."""
    by_key: dict[Value, dict[str, list[Message]]] = {}
    for message in messages:
        sides = by_key.setdefault(message.row[schema.key], {"left": [], "right": []})
        sides[message.side].append(message)
    return {
        key: encode(
            {
                "k": key,
                "l": _newest(sides["left"], schema.left.keep),
                "r": _newest(sides["right"], schema.right.keep),
                "ln": len(sides["left"]),
                "rn": len(sides["right"]),
            }
        )
        for key, sides in by_key.items()
    }


def encode(fields: dict[str, object]) -> bytes:
    text = json.dumps(_without_nulls(fields), ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _newest(messages: list[Message], keep: int) -> list[dict[str, object]] | None:
    newest = sorted(messages, key=lambda message: message.position, reverse=True)[:keep]
    return [
        {"v": _without_nulls(message.row), "t": message.timestamp, "o": message.offset, "p": message.partition}
        for message in newest
    ] or None


def _without_nulls(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
