"""A table's rows as JSON, CSV or an Arrow stream: piece by piece, so that an answer of any size takes little memory.

Polars locks a frame that it writes, and then waits for Python's lock to write to a Python stream. Whoever holds
Python's lock and reads the same frame would wait for ever. So only slices are written: frames that nobody else has.
"""

import io
import struct
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial

import polars as pl


class Format(StrEnum):
    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"


MEDIA_TYPES: Mapping[Format, str] = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
    Format.ARROW: "application/vnd.apache.arrow.stream",
}

# Of rows that are encoded at once. Fewer would take longer in sum; more would let others wait.
SLICE_ROWS = 10_000
SLICE_BYTES = 4 * 1024 * 1024
# Of an answer that is sent at once: a small answer is one piece.
PIECE_BYTES = 1024 * 1024

_END_OF_STREAM = struct.pack("<Ii", 0xFFFFFFFF, 0)


def encoded(generation: int, rows: pl.DataFrame, form: Format) -> Generator[bytes]:
    """The rows in this format, in pieces of about a MiB. There is one at least."""
    match form:
        case Format.JSON:
            return _pieces(_json(generation, rows))
        case Format.CSV:
            return _pieces(_csv(rows))
        case Format.ARROW:
            return _pieces(_arrow(rows))


def _pieces(parts: Iterable[bytes]) -> Generator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        gathered.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _json(generation: int, rows: pl.DataFrame) -> Iterator[bytes]:
    """JSON has no word for NaN and infinite numbers: they are null there."""
    yield f'{{"generation":{generation},"rows":['.encode()
    for number, part in enumerate(_slices(rows)):
        yield b"," * (number > 0) + _written(part.write_json)[1:-1]
    yield b"]}"


def _csv(rows: pl.DataFrame) -> Iterator[bytes]:
    # Of a single column, no value would be a blank line, which most readers skip: the row would be lost.
    null = '""' if rows.width == 1 else ""
    for number, part in enumerate(_slices(rows)):
        yield _written(partial(part.write_csv, include_header=number == 0, null_value=null))


def _arrow(rows: pl.DataFrame) -> Iterator[bytes]:
    """A stream of Arrow's is its schema, record batches and an end; Polars writes a whole one for each slice."""
    for number, part in enumerate(_slices(rows)):
        schema, batches = _arrow_stream(part)
        yield schema + batches if number == 0 else batches
    yield _END_OF_STREAM


def _arrow_stream(rows: pl.DataFrame) -> tuple[bytes, bytes]:
    """The schema and the record batches."""
    # The oldest level has no string views, which not every reader knows.
    stream = _written(partial(rows.write_ipc_stream, compat_level=pl.CompatLevel.oldest()))
    # A message is a mark, its length, and itself; that of a schema has no body.
    _, length = struct.unpack_from("<Ii", stream)
    begin = 8 + length
    return stream[:begin], stream[begin:].removesuffix(_END_OF_STREAM)


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _slices(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """There is one at least."""
    for start in range(0, max(1, rows.height), SLICE_ROWS):
        yield from _halves(rows.slice(start, SLICE_ROWS))


def _halves(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """These rows in parts that are not too large, if they are more than one."""
    if rows.height <= 1 or rows.estimated_size() <= SLICE_BYTES:
        yield rows
        return
    middle = rows.height // 2
    yield from _halves(rows[:middle])
    yield from _halves(rows[middle:])
