"""A table's rows as somebody asked for them: filtered, sorted, cut, and in their format."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import orjson
import polars as pl

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

_OPERATORS: Mapping[str, Callable[[pl.Expr, object], pl.Expr]] = {
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<=": lambda column, value: column <= value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    ">": lambda column, value: column > value,
    "~": lambda column, value: column.cast(pl.String).str.contains(str(value), literal=True),
}
_FILTER = re.compile(r"(?P<column>.+?)\s*(?P<operator>==|!=|<=|>=|<|>|~)\s*(?P<value>.*)", re.DOTALL)


def select(
    rows: pl.DataFrame, columns: Columns, filters: Sequence[str], sort: str | None, limit: int | None
) -> pl.DataFrame:
    """Filters `column==value` (also != < <= > >= and ~ for "contains"); sort `column` or `column:desc`, by commas."""
    for text in filters:
        rows = rows.filter(_condition(text, columns))
    if sort:
        keys = [_sort_key(part, columns) for part in sort.split(",")]
        names, descending = [name for name, _ in keys], [down for _, down in keys]
        rows = rows.sort(names, descending=descending, nulls_last=True, maintain_order=True)
    return rows if limit is None else rows.head(limit)


def encode(snapshot: Snapshot, rows: pl.DataFrame, form: Format) -> bytes:
    rows = rows.drop(ROW)
    if form is Format.JSON:
        return orjson.dumps({"generation": snapshot.generation, "rows": rows.to_dicts()})
    stream = io.BytesIO()
    if form is Format.CSV:
        rows.write_csv(stream)
    else:
        rows.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()


def _condition(text: str, columns: Columns) -> pl.Expr:
    found = _FILTER.fullmatch(text)
    if found is None:
        raise QueryRefused(f"filter {text!r} is not <column><operator><value>; operators: {' '.join(_OPERATORS)}")
    name, operator, value = found["column"], found["operator"], found["value"]
    kind = _known(name, columns)
    return _OPERATORS[operator](pl.col(name), value if operator == "~" else _literal(name, kind, value))


def _literal(name: str, kind: ColumnType, text: str) -> object:
    try:
        match kind:
            case ColumnType.STRING:
                return text
            case ColumnType.LONG:
                return int(text)
            case ColumnType.DOUBLE:
                return float(text)
            case ColumnType.BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise QueryRefused(f"filter on {name!r}: {text!r} is not a {kind}") from None


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
