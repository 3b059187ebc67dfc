"""A table's rows as somebody asked for them: filtered, sorted, cut, and in their format."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import orjson
import polars as pl
import polars.selectors as cs

from turnout.errors import QueryRefused
from turnout.schema import Columns, ColumnType
from turnout.tables.delta import ROW
from turnout.tables.registry import Snapshot


class Format(StrEnum):
    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"


MEDIA_TYPES: Mapping[Format, str] = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
    Format.ARROW: "application/vnd.apache.arrow.stream",
}

# Rows as Python objects take many times the memory that the table takes: so many are made at once, and no more.
_PART_ROWS = 10_000

_OPERATORS: Mapping[str, Callable[[pl.Expr, object], pl.Expr]] = {
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<=": lambda column, value: column <= value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    ">": lambda column, value: column > value,
    "~": lambda column, value: column.cast(pl.String).str.contains(str(value), literal=True),
}
_OPERATOR = re.compile(r"\s*(==|!=|<=|>=|<|>|~)\s*")


def select(
    rows: pl.DataFrame, columns: Columns, filters: Sequence[str], sort: str | None, limit: int | None
) -> pl.DataFrame:
    """Filters `column==value` (also != < <= > >= and ~ for "contains"); sort `column` or `column:desc`, by commas.

    As in SQL, a row without a value in a filter's column is left out, whatever the operator; it is sorted last.
    """
    for text in filters:
        rows = rows.filter(_condition(text, columns))
    if sort:
        keys = [_sort_key(part, columns) for part in sort.split(",")]
        by, descending = [_column(name) for name, _ in keys], [down for _, down in keys]
        rows = rows.sort(by, descending=descending, nulls_last=True, maintain_order=True)
    return rows if limit is None else rows.head(min(limit, rows.height))


def encode(snapshot: Snapshot, rows: pl.DataFrame, form: Format) -> bytes:
    rows = rows.drop(ROW)
    if form is Format.JSON:
        parts = (orjson.dumps(part.to_dicts())[1:-1] for part in rows.iter_slices(_PART_ROWS))
        return f'{{"generation":{snapshot.generation},"rows":['.encode() + b",".join(parts) + b"]}"
    stream = io.BytesIO()
    if form is Format.CSV:
        rows.write_csv(stream)
    else:
        rows.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()


def _condition(text: str, columns: Columns) -> pl.Expr:
    splits = list(_OPERATOR.finditer(text))
    if not splits:
        raise QueryRefused(f"filter {text!r} is not <column><operator><value>; operators: {' '.join(_OPERATORS)}")
    # An operator may be part of a column's name: the longest name that there is.
    split = next((split for split in reversed(splits) if text[: split.start()] in columns), splits[0])
    name, operator, value = text[: split.start()], split[1], text[split.end() :]
    kind = _known(name, columns)
    return _OPERATORS[operator](_column(name), value if operator == "~" else _literal(name, kind, value))


def _column(name: str) -> pl.Expr:
    """The column of exactly this name: Polars would take some names (`*`, `^.*$`) for patterns."""
    return cs.by_name(name).as_expr()


def _literal(name: str, kind: ColumnType, text: str) -> object:
    try:
        match kind:
            case ColumnType.STRING:
                return text
            case ColumnType.LONG:
                return _long(text)
            case ColumnType.DOUBLE:
                return float(text)
            case ColumnType.BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise QueryRefused(f"filter on {name!r}: {text!r} is not a {kind}") from None


def _long(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError("more than 64 bits")
    return number


def _sort_key(text: str, columns: Columns) -> tuple[str, bool]:
    name, _, direction = text.strip().rpartition(":")
    if direction not in ("asc", "desc"):
        name, direction = text.strip(), "asc"
    _known(name, columns)
    return name, direction == "desc"


def _known(name: str, columns: Columns) -> ColumnType:
    if name not in columns:
        raise QueryRefused(f"there is no column {name!r}; there are {', '.join(columns)}")
    return columns[name]
