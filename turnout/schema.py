"""What is joined with what: column types, tables, join types. Pure vocabulary, imported by every layer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class ColumnType(StrEnum):
    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"


class JoinType(StrEnum):
    LEFT = "left"
    INNER = "inner"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


def parse_join_type(text: str) -> JoinType:
    """The join type that a person means: any case, blanks around it, and the two other names of `left`."""
    name = text.strip().lower()
    if name in ("natural", "left_outer"):
        return JoinType.LEFT
    try:
        return JoinType(name)
    except ValueError:
        allowed = ", ".join(JoinType)
        raise ValueError(
            f"{name[:60]!r} is not a join type; allowed: {allowed} (natural and left_outer mean left)"
        ) from None


def topic_name_problem(name: str) -> str | None:
    """Why Kafka would not take this topic name, or None if it would."""
    if not name:
        return "a topic name must not be empty"
    if name in (".", ".."):
        return f"{name!r} is not a topic name that Kafka takes"
    if len(name) > 249:  # Kafka's own limit: a partition's directory name must fit into 255 bytes
        return f"a topic name has at most 249 characters, this one has {len(name)}"
    if not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
        return f"{name!r} is not a topic name that Kafka takes; allowed: a-z, A-Z, 0-9, '.', '_' and '-'"
    return None


class Match(StrEnum):
    """Which rows of the other side a row is shown with (outer joins; an inner join always shows all)."""

    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True)
class Topics:
    """What a pipeline reads."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"


Columns = Mapping[str, ColumnType]

MAX_ROWS = 1_000_000
"""Of a table, where the configuration does not say: more than anyone reads, and memory does not grow for ever."""


@dataclass(frozen=True)
class TableSchema:
    """One side of the join."""

    name: str
    columns: Columns
    keep: int
    max_rows: int = MAX_ROWS

    @property
    def shown_as(self) -> str:
        """Its public name."""
        return f"{self.name}_ui"


@dataclass(frozen=True)
class JoinSchema:
    """Two tables and the key they share."""

    left: TableSchema
    right: TableSchema
    key: str
    max_rows: int = MAX_ROWS
    """Of the joined table."""

    @property
    def key_type(self) -> ColumnType:
        return self.left.columns[self.key]

    @cached_property
    def right_names(self) -> Mapping[str, str]:
        """The right table's columns in the join (its key is the left's): column there -> column here.

        A name that the left table has too is shown as `<right table>_<column>`.
        """
        taken = self.left.columns
        return {
            name: f"{self.right.name}_{name}" if name in taken else name
            for name in self.right.columns
            if name != self.key
        }

    @cached_property
    def joined_columns(self) -> Columns:
        """Left columns, then right columns without the key."""
        right = {shown: self.right.columns[name] for name, shown in self.right_names.items()}
        return {**self.left.columns, **right}
