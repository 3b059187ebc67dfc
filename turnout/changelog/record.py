"""A changelog record: all that is known about one key, as the pipeline writes it.

`{"k": key, "l": [row…], "r": [row…], "ln": count, "rn": count, "at": "side/partition/offset"}`, a row being
`{"v": {column: value…}, "t": Kafka timestamp in ms, "o": offset, "p": partition}`. Rows are newest first. Null fields
are left out, so a record without `k` is the one of the null key. `ln` and `rn` count the rows ever seen of a side:
they only grow, which makes them the version of the record. `at` is the message that it was written for.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import polars as pl

from turnout.errors import TurnoutError
from turnout.schema import Columns, ColumnType, JoinSchema

# Parsing builds a tree of all the text it is given at once; beyond the processor's cache that is 2.5 times slower.
_PARSED_AT_ONCE_BYTES = 1_000_000

_DTYPES: dict[ColumnType, pl.DataType] = {
    ColumnType.STRING: pl.String(),
    ColumnType.LONG: pl.Int64(),
    ColumnType.DOUBLE: pl.Float64(),
    ColumnType.BOOLEAN: pl.Boolean(),
}


def dtypes(columns: Columns) -> dict[str, pl.DataType]:
    """The columns as Polars has them."""
    return {name: _DTYPES[column] for name, column in columns.items()}


def record_dtype(schema: JoinSchema) -> pl.Struct:
    """A record as Polars has it."""
    return pl.Struct(
        {
            "k": _DTYPES[schema.key_type],
            "l": pl.List(_row_dtype(schema.left.columns)),
            "r": pl.List(_row_dtype(schema.right.columns)),
            "ln": pl.Int64(),
            "rn": pl.Int64(),
        }
    )


def decode(values: Sequence[bytes], schema: JoinSchema) -> pl.DataFrame:
    """The records as columns k, l, r, ln, rn; a side that is missing is an empty list and a count of 0."""
    dtype = record_dtype(schema)
    try:
        records = _parse(values, dtype)
    except pl.exceptions.PolarsError as error:
        raise foreign(len(values)) from error
    if records.len() != len(values):  # an empty text parses as no record at all, and would shift those after it
        raise foreign(len(values))
    return pl.DataFrame([_without_nulls(column) for column in records.struct.unnest().get_columns()])


def origins(values: Iterable[bytes]) -> dict[tuple[str, int], int]:
    """The last messages that records were written for: side and partition -> offset. They stand at the records' ends,
    so that they are found without parsing the rest."""
    last: dict[bytes, int] = {}
    for value in values:
        place, _, digits = value[value.rfind(b'"', 0, -2) + 1 : -2].rpartition(b"/")
        offset = int(digits)
        if offset > last.get(place, -1):
            last[place] = offset
    sides = {place: place.decode().split("/") for place in last}
    return {(side, int(partition)): last[place] for place, (side, partition) in sides.items()}


def _row_dtype(columns: Columns) -> pl.Struct:
    return pl.Struct({"v": pl.Struct(dtypes(columns)), "t": pl.Int64(), "o": pl.Int64(), "p": pl.Int64()})


def _parse(values: Sequence[bytes], dtype: pl.Struct) -> pl.Series:
    texts = pl.Series(values, dtype=pl.Binary).cast(pl.String)
    size = sum(map(len, values))
    if size <= _PARSED_AT_ONCE_BYTES:
        return texts.str.json_decode(dtype)
    step = max(1, len(values) * _PARSED_AT_ONCE_BYTES // size)
    parts = [texts.slice(start, step) for start in range(0, len(values), step)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Polars lets others run meanwhile, but uses one core for this
        decoded: list[pl.Series] = list(pool.map(lambda part: part.str.json_decode(dtype), parts))
    return pl.concat(decoded, rechunk=True)


def _without_nulls(column: pl.Series) -> pl.Series:
    if column.name == "k" or not column.null_count():
        return column
    nothing = pl.Series([[] if column.dtype == pl.List else 0], dtype=column.dtype)
    return column.zip_with(column.is_not_null(), nothing)


def foreign(count: int) -> TurnoutError:
    """Of so many records, one is not ours."""
    return TurnoutError(
        f"One of {count} changelog records is not what the pipeline writes. Something else writes to the changelog"
        " topic, or its columns are not those of the configuration: give the bus topics to Turnout alone, and switch"
        " to build a new changelog."
    )
