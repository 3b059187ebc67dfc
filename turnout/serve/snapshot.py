"""A table's rows as somebody asked for them: filtered, sorted, cut, and of some columns only."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from turnout.errors import QueryRefused
from turnout.schema import Columns, ColumnType

Value = str | int | float | bool

_OPERATORS: Mapping[str, Callable[[pl.Expr, Value], pl.Expr]] = {
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<=": lambda column, value: column <= value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    ">": lambda column, value: column > value,
    "~": lambda column, value: column.cast(pl.String).str.contains(str(value), literal=True),
}
_OPERATOR = re.compile(r"\s*(==|!=|<=|>=|<|>|~)\s*")


@dataclass(frozen=True)
class Query:
    """What somebody asks of a table, in their words.

    - `filters`: `column==value`, also with != < <= > >= and ~ for "contains"; all of them must be true
    - `sort`: `column` or `column:desc`, several with commas between them
    - `columns`: those to show, in this order, with commas between them; none means all

    As in SQL, a row without a value in a filter's column is left out, whatever the operator; it is sorted last.
    """

    filters: Sequence[str] = ()
    sort: Sequence[str] = ()
    columns: Sequence[str] = ()
    limit: int | None = None


def select(rows: pl.DataFrame, columns: Columns, query: Query) -> pl.DataFrame:
    """The rows of a table with these columns that the query asks for."""
    shown = _shown(query.columns, columns)
    keys = [key for text in query.sort for key in _sort_keys(text, columns)]
    conditions = [_condition(text, columns) for text in query.filters]
    used = {*shown, *(key.column for key in keys), *(condition.column for condition in conditions)}
    rows = rows[[name for name in columns if name in used]]
    if conditions:
        rows = rows.filter([condition.holds for condition in conditions])
    if keys:
        by, descending = [_column(key.column) for key in keys], [key.descending for key in keys]
        rows = rows.sort(by, descending=descending, nulls_last=True, maintain_order=True)
    if query.limit is not None:
        rows = rows.head(min(query.limit, rows.height))
    return rows[shown]


@dataclass(frozen=True)
class _SortKey:
    column: str
    descending: bool


@dataclass(frozen=True)
class _Condition:
    column: str
    holds: pl.Expr


def _shown(asked: Sequence[str], columns: Columns) -> list[str]:
    names = [name for text in asked for name in _names(text, columns)]
    for name in names:
        _known(name, columns)
        if names.count(name) > 1:
            raise QueryRefused(f"column {name!r} is asked for twice")
    return names or list(columns)


def _names(text: str, columns: Columns) -> list[str]:
    return [text] if text in columns else _split(text)


def _sort_keys(text: str, columns: Columns) -> list[_SortKey]:
    parts = [text] if _sort_key(text).column in columns else _split(text)
    keys = [_sort_key(part) for part in parts]
    for key in keys:
        _known(key.column, columns)
    return keys


def _sort_key(text: str) -> _SortKey:
    name, _, direction = text.rpartition(":")
    return _SortKey(name, direction == "desc") if direction in ("asc", "desc") else _SortKey(text, False)


def _split(text: str) -> list[str]:
    """What stands between commas; nothing, if nothing but blanks is there."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _condition(text: str, columns: Columns) -> _Condition:
    splits = list(_OPERATOR.finditer(text))
    if not splits:
        raise QueryRefused(f"filter {text!r} is not <column><operator><value>; operators: {' '.join(_OPERATORS)}")
    # An operator may be part of a column's name: the longest name that there is.
    split = next((split for split in reversed(splits) if text[: split.start()] in columns), splits[0])
    name, operator, value = text[: split.start()], split[1], text[split.end() :]
    if name not in columns and (column := name.rstrip("=!<>~ ")) in columns:
        wrong = text[len(column) : split.end()].strip()
        raise QueryRefused(f"filter {text!r}: {wrong!r} is not an operator; operators: {' '.join(_OPERATORS)}")
    kind = _known(name, columns)
    literal = value if operator == "~" else _literal(name, kind, value)
    return _Condition(name, _OPERATORS[operator](_column(name), literal))


def _column(name: str) -> pl.Expr:
    """The column of exactly this name: Polars would take some names (`*`, `^.*$`) for patterns."""
    return cs.by_name(name).as_expr()


def _literal(name: str, kind: ColumnType, text: str) -> Value:
    try:
        match kind:
            case ColumnType.STRING:
                return text
            case ColumnType.LONG:
                return _long(text)
            case ColumnType.DOUBLE:
                return float(_plain(text))
            case ColumnType.BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise QueryRefused(f"filter on {name!r}: {text!r} is not a {kind}") from None


def _long(text: str) -> int:
    number = int(_plain(text))
    if not -(2**63) <= number < 2**63:
        raise ValueError("more than 64 bits")
    return number


def _plain(text: str) -> str:
    if "_" in text:
        raise ValueError("a number as Python writes it, and nobody else")
    return text


def _known(name: str, columns: Columns) -> ColumnType:
    if name not in columns:
        raise QueryRefused(f"there is no column {name!r}; there are {', '.join(columns)}")
    return columns[name]
