import csv
import io
import json
import threading
from collections.abc import Callable

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import VALUES
from turnout.changelog.record import dtypes
from turnout.schema import Columns, ColumnType
from turnout.serve.formats import PIECE_BYTES, SLICE_ROWS, Format, encoded

COLUMNS: Columns = {
    "name": ColumnType.STRING,
    "age": ColumnType.LONG,
    "balance": ColumnType.DOUBLE,
    "active": ColumnType.BOOLEAN,
}
PEOPLE = pl.DataFrame(
    [
        ("Ann", 30, 1.5, True),
        ("Bob", 2**53 + 1, -2.0, False),
        (None, None, None, None),
        ("", 30, 100.0, False),
    ],
    schema=dtypes(COLUMNS),
    orient="row",
)


def body(rows: pl.DataFrame, form: Format) -> bytes:
    return b"".join(encoded(7, rows, form))


def many(count: int) -> pl.DataFrame:
    numbers = pl.int_range(count, eager=True)
    return pl.DataFrame({"number": numbers, "text": "number " + numbers.cast(pl.String)})


def test_json_has_the_generation_and_the_rows() -> None:
    assert body(PEOPLE[:1], Format.JSON) == (
        b'{"generation":7,"rows":[{"name":"Ann","age":30,"balance":1.5,"active":true}]}'
    )


def test_json_has_null_for_numbers_that_it_has_no_word_for() -> None:
    rows = pl.DataFrame({"number": [float("nan"), float("inf"), -float("inf"), -0.0]})
    assert body(rows, Format.JSON) == (
        b'{"generation":7,"rows":[{"number":null},{"number":null},{"number":null},{"number":-0.0}]}'
    )
    assert body(rows, Format.CSV) == b"number\nNaN\ninf\n-inf\n-0.0\n"
    assert pl.read_ipc_stream(io.BytesIO(body(rows, Format.ARROW))).equals(rows)


def test_csv_has_a_header_and_tells_null_from_empty() -> None:
    assert body(PEOPLE[1:], Format.CSV).decode().splitlines() == [
        "name,age,balance,active",
        "Bob,9007199254740993,-2.0,false",
        ",,,",
        '"",30,100.0,false',
    ]


@pytest.mark.parametrize("column", COLUMNS)
def test_csv_of_one_column_has_a_line_that_no_reader_skips_for_a_row_without_a_value(column: str) -> None:
    rows = PEOPLE[1:3].select(column)
    header, value, none = body(rows, Format.CSV).decode().splitlines()
    assert header == column
    assert value
    assert none == '""'
    assert len(list(csv.DictReader([header, value, none]))) == 2


@pytest.mark.parametrize("rows", [PEOPLE, PEOPLE.clear()], ids=["rows", "no rows"])
def test_arrow_is_a_stream_that_others_can_read(rows: pl.DataFrame) -> None:
    stream = body(rows, Format.ARROW)
    read = pl.read_ipc_stream(io.BytesIO(stream))
    assert read.equals(rows)
    assert read.schema == rows.schema
    table = pa.ipc.open_stream(stream).read_all()
    assert table.to_pylist() == rows.to_dicts()
    assert [str(field.type) for field in table.schema] == ["large_string", "int64", "double", "bool"]


def test_no_rows_are_no_error() -> None:
    assert body(PEOPLE.clear(), Format.JSON) == b'{"generation":7,"rows":[]}'
    assert body(PEOPLE.clear(), Format.CSV) == b"name,age,balance,active\n"


@pytest.mark.parametrize("form", Format)
def test_a_small_answer_is_one_piece(form: Format) -> None:
    for rows in (PEOPLE, PEOPLE.clear()):
        assert len(list(encoded(7, rows, form))) == 1


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("chunks", [1, 3])
def test_a_large_answer_comes_in_pieces_that_are_neither_large_nor_many(form: Format, chunks: int) -> None:
    rows = pl.concat([many(100_000)] * chunks)
    assert rows.n_chunks() == chunks
    pieces = list(encoded(7, rows, form))
    assert len(pieces) > 1
    assert all(PIECE_BYTES <= len(piece) < 3 * PIECE_BYTES for piece in pieces[:-1])
    assert _rows(b"".join(pieces), form) == rows.rows()


def _rows(answer: bytes, form: Format) -> list[tuple[object, ...]]:
    if form is Format.JSON:
        return [tuple(row.values()) for row in json.loads(answer)["rows"]]
    return (pl.read_csv if form is Format.CSV else pl.read_ipc_stream)(answer).rows()


def test_record_batches_are_bounded() -> None:
    batches = list(pa.ipc.open_stream(body(many(25_000), Format.ARROW)))
    assert [batch.num_rows for batch in batches] == [SLICE_ROWS, SLICE_ROWS, 5_000]


@pytest.mark.parametrize("form", Format)
def test_rows_of_long_texts_come_in_smaller_pieces(form: Format) -> None:
    megabyte = "x" * 1024 * 1024
    rows = pl.DataFrame({"text": ["short"] * 100 + [megabyte] * 20})
    pieces = list(encoded(7, rows, form))
    assert max(map(len, pieces)) < 6 * 1024 * 1024
    assert _rows(b"".join(pieces), form) == rows.rows()


@pytest.mark.parametrize("form", Format)
def test_others_can_read_the_same_rows_meanwhile(form: Format) -> None:
    rows = many(50_000)
    answers: list[bytes] = []
    threads = [threading.Thread(target=lambda: answers.append(body(rows, form)), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert rows.tail(1).item(0, "number") == 49_999
    assert len(set(answers)) == 1
    assert len(answers) == 4


ANY_ROWS = st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in COLUMNS.values())), max_size=5)


@given(ANY_ROWS)
@settings(max_examples=100)
def test_every_value_is_exact_in_every_format(content: list[tuple[object, ...]]) -> None:
    rows = pl.DataFrame(content, schema=dtypes(COLUMNS), orient="row")
    assert _rows(body(rows, Format.JSON), Format.JSON) == content
    assert _rows(body(rows, Format.ARROW), Format.ARROW) == content
    header, *lines = csv.reader(io.StringIO(body(rows, Format.CSV).decode(), newline=""))
    assert header == list(COLUMNS)
    assert [tuple(map(_from_csv, line, COLUMNS.values())) for line in lines] == [
        (values[0] or None, *values[1:]) for values in content
    ]


PARSERS: dict[ColumnType, Callable[[str], object]] = {
    ColumnType.STRING: str,
    ColumnType.LONG: int,
    ColumnType.DOUBLE: float,
    ColumnType.BOOLEAN: json.loads,
}


def _from_csv(text: str, kind: ColumnType) -> object:
    return PARSERS[kind](text) if text else None
