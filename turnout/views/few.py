"""What a few changed records change in the tables, row by row: the same as the difference of two expansions.

See turnout/changelog/records.py for why there are two ways.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import polars as pl

from turnout.changelog.record import dtypes, foreign
from turnout.changelog.records import Plain, Row
from turnout.schema import Columns, ColumnType, JoinSchema, JoinType, Match
from turnout.tables.delta import ROW, Delta

Shown = tuple[str, Row | None, Row | None]
"""A row of the join: its id, its left and its right row."""

Way = Callable[[Sequence[Row], Sequence[Row]], Iterator[Shown]]
"""The rows of a key in the join, from its left and its right rows, newest first."""


@dataclass(frozen=True)
class FewDeltas:
    left: Delta
    right: Delta
    joined: Delta


def deltas(old: Sequence[Plain], new: Sequence[Plain], schema: JoinSchema, join: JoinType, match: Match) -> FewDeltas:
    """Between these records; ids are those of `expand`."""
    try:
        return FewDeltas(
            _side_delta([record.left for record in old], [record.left for record in new], schema.left.columns),
            _side_delta([record.right for record in old], [record.right for record in new], schema.right.columns),
            _joined_delta(_joined(old, join, match), _joined(new, join, match), schema),
        )
    except (LookupError, TypeError, AttributeError, OverflowError, pl.exceptions.PolarsError):
        raise foreign(len(new)) from None  # to look at each field beforehand would cost more than all the rest


def _side_delta(old: Iterable[Sequence[Row]], new: Iterable[Sequence[Row]], columns: Columns) -> Delta:
    """A row never changes: one with a known id is the same."""
    before = {_id(row): row for rows in old for row in rows}
    after = {_id(row): row for rows in new for row in rows}
    upserts = [(row_id, *map(row["v"].get, columns)) for row_id, row in after.items() if row_id not in before]
    return _delta(upserts, columns, [row_id for row_id in before if row_id not in after])


def _joined_delta(old: Iterable[Shown], new: Iterable[Shown], schema: JoinSchema) -> Delta:
    """A row of the join is another one if it is shown with another row."""
    before = {row_id: _ids(left, right) for row_id, left, right in old}
    after = list(new)
    upserts = [
        (row_id, *_cells(left, right, schema))
        for row_id, left, right in after
        if before.get(row_id) != _ids(left, right)
    ]
    still = {row_id for row_id, _, _ in after}
    return _delta(upserts, schema.joined_columns, [row_id for row_id in before if row_id not in still])


def _cells(left: Row | None, right: Row | None, schema: JoinSchema) -> Iterator[object]:
    """Of a joined row, in the order of its columns."""
    lefts, rights = (row["v"] if row else {} for row in (left, right))
    key = (lefts if left else rights).get(schema.key)  # a right row alone: its key is the key
    yield from (key if name == schema.key else lefts.get(name) for name in schema.left.columns)
    yield from map(rights.get, schema.right_names)


def _delta(upserts: Sequence[tuple[object, ...]], columns: Columns, gone: Sequence[str]) -> Delta:
    rows = no_rows = _no_rows(tuple(columns.items()))
    if upserts:  # row by row in one call: column by column takes Polars three times as long for so few
        rows = pl.DataFrame(upserts, no_rows.schema, orient="row")
    return Delta(rows, pl.Series(ROW, gone, pl.String))


@cache
def _no_rows(columns: tuple[tuple[str, ColumnType], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema={ROW: pl.String(), **dtypes(dict(columns))})


def _joined(records: Iterable[Plain], join: JoinType, match: Match) -> Iterator[Shown]:
    way = _way(join, match)
    for record in records:
        yield from way(record.left, record.right if record.key is not None else ())


def _way(join: JoinType, shown_with: Match) -> Way:
    match join, shown_with:
        case JoinType.SEMI, _:
            return lambda left, right: _each_left(left, None) if right else iter(())
        case JoinType.ANTI, _:
            return lambda left, right: iter(()) if right else _each_left(left, None)
        case JoinType.INNER, _:
            return _pairs
        case JoinType.LEFT, Match.ALL:
            return lambda left, right: _pairs(left, right or [None])
        case JoinType.RIGHT, Match.ALL:
            return lambda left, right: _pairs(left or [None], right)
        case _, Match.ALL:
            return lambda left, right: _pairs(left or [None], right or [None]) if left or right else iter(())
        case JoinType.LEFT, _:
            return lambda left, right: _each_left(left, _latest(right))
        case JoinType.RIGHT, _:
            return lambda left, right: _each_right(right, _latest(left))
        case _:
            return _latest_of_both


def _latest_of_both(left: Sequence[Row], right: Sequence[Row]) -> Iterator[Shown]:
    """Each left row with the latest right row, and each right row that this leaves out with the latest left row."""
    yield from _each_left(left, _latest(right))
    yield from _each_right(right[1:] if left else right, _latest(left))


def _each_left(rows: Sequence[Row], match: Row | None) -> Iterator[Shown]:
    return ((f"l:{_id(row)}", row, match) for row in rows)


def _each_right(rows: Sequence[Row], match: Row | None) -> Iterator[Shown]:
    return ((f"r:{_id(row)}", match, row) for row in rows)


def _pairs(left: Sequence[Row | None], right: Sequence[Row | None]) -> Iterator[Shown]:
    for one, other in product(left, right):
        named = [f"{side}:{_id(row)}" for side, row in (("l", one), ("r", other)) if row]
        yield "|".join(named), one, other


def _latest(rows: Sequence[Row]) -> Row | None:
    return rows[0] if rows else None


def _id(row: Row) -> str:
    return f"{row['p']}:{row['o']}"


def _ids(left: Row | None, right: Row | None) -> tuple[str | None, str | None]:
    return _id(left) if left else None, _id(right) if right else None
