import json
import math
import struct

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.histories import VALUES, encode, histories, records_of, schemas
from turnout.changelog.record import decode, origins, record_dtype
from turnout.changelog.records import Records
from turnout.errors import TurnoutError
from turnout.schema import ColumnType, JoinSchema, TableSchema

SCHEMA = JoinSchema(
    TableSchema(
        "orders",
        {
            "orderId": ColumnType.LONG,
            "text": ColumnType.STRING,
            "paid": ColumnType.BOOLEAN,
            "total": ColumnType.DOUBLE,
        },
        keep=3,
    ),
    TableSchema("payments", {"orderId": ColumnType.LONG, "k": ColumnType.STRING}, keep=3),
    key="orderId",
)


def record(*lefts: dict[str, object], **fields: object) -> bytes:
    rows = [{"v": left, "t": 1_700_000_000_000, "o": 5, "p": 0} for left in lefts]
    return encode({"k": 1, "l": rows, "r": None, "ln": len(rows), "rn": 0, **fields})


def decoded_left(**values: object) -> dict[str, object]:
    """One left row with these values, encoded and decoded."""
    rows = decode([record(values)], SCHEMA).get_column("l").to_list()[0]
    assert len(rows) == 1
    read: dict[str, object] = rows[0]["v"]
    return read


def test_a_record_becomes_a_row_of_typed_columns() -> None:
    value = (
        b'{"k":7,"l":[{"v":{"orderId":7,"text":"a","paid":true,"total":1.5},"t":20,"o":3,"p":1}],'
        b'"r":[{"v":{"orderId":7,"k":"x"},"t":10,"o":2,"p":0},{"v":{"orderId":7},"t":9,"o":1,"p":0}],"ln":4,"rn":2}'
    )
    records = decode([value], SCHEMA)
    assert records.schema == record_dtype(SCHEMA).to_schema()
    assert records.to_dicts() == [
        {
            "k": 7,
            "l": [{"v": {"orderId": 7, "text": "a", "paid": True, "total": 1.5}, "t": 20, "o": 3, "p": 1}],
            "r": [
                {"v": {"orderId": 7, "k": "x"}, "t": 10, "o": 2, "p": 0},
                {"v": {"orderId": 7, "k": None}, "t": 9, "o": 1, "p": 0},
            ],
            "ln": 4,
            "rn": 2,
        }
    ]


def test_no_records_are_an_empty_frame_of_the_same_types() -> None:
    records = decode([], SCHEMA)
    assert records.height == 0
    assert records.schema == record_dtype(SCHEMA).to_schema()


@pytest.mark.parametrize("side", [b"", b',"l":null,"r":null', b',"l":[],"r":[]'])
def test_a_side_that_is_missing_null_or_empty_is_an_empty_list(side: bytes) -> None:
    records = decode([b'{"k":1' + side + b',"ln":0,"rn":0}', record({"orderId": 1})], SCHEMA)
    assert records.get_column("l").list.len().to_list() == [0, 1]
    assert records.get_column("r").to_list() == [[], []]


def test_a_count_that_is_missing_is_zero() -> None:
    assert decode([b'{"k":1,"ln":3}', b'{"k":2,"rn":4}'], SCHEMA).select("ln", "rn").rows() == [(3, 0), (0, 4)]


def test_a_record_without_a_key_is_the_one_of_the_null_key() -> None:
    assert decode([b'{"ln":1,"rn":0}', b'{"k":0,"ln":1,"rn":0}'], SCHEMA).get_column("k").to_list() == [None, 0]


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 0, -1])
def test_64_bit_integers_are_exact(number: int) -> None:
    assert decoded_left(orderId=number)["orderId"] == number
    assert decode([record(k=number)], SCHEMA).get_column("k").to_list() == [number]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (b"1.0E10", 1e10),
        (b"4.9E-324", 5e-324),
        (b"1.7976931348623157E308", 1.7976931348623157e308),
        (b"-0.0", -0.0),
        (b"0.1", 0.1),
        (b"9007199254740993", 9007199254740992.0),
        (b"3", 3.0),
    ],
)
def test_doubles_are_exact_as_java_writes_them(written: bytes, number: float) -> None:
    value = b'{"k":1,"l":[{"v":{"total":' + written + b'},"t":1,"o":1,"p":0}],"ln":1,"rn":0}'
    read = decode([value], SCHEMA).get_column("l").to_list()[0][0]["v"]["total"]
    assert struct.pack("d", read) == struct.pack("d", number)


@pytest.mark.parametrize(
    "text",
    ["", " ", "null", '"', '\\"', '{"a": "\\"b\\""}', "\0", "\x1f\u2028\u2029\ufeff", "𝄞 ☃ é e\u0301", "]},", "\r\n\t"],
)
def test_text_is_exact(text: str) -> None:
    assert decoded_left(text=text)["text"] == text


@pytest.mark.parametrize("ascii_only", [True, False])
def test_text_is_exact_escaped_or_not(ascii_only: bool) -> None:
    text = 'é☃𝄞"\\\0/'
    fields = {"k": 1, "l": [{"v": {"text": text}, "t": 1, "o": 1, "p": 0}], "ln": 1, "rn": 0}
    value = json.dumps(fields, ensure_ascii=ascii_only).encode()
    assert decode([value], SCHEMA).get_column("l").to_list()[0][0]["v"]["text"] == text


def test_an_empty_text_is_not_a_null() -> None:
    assert decoded_left(text="")["text"] == ""
    assert decoded_left()["text"] is None


@pytest.mark.parametrize("unit", ["x", '"', "𝄞"])
def test_a_value_of_a_megabyte_is_exact(unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode()))
    assert decoded_left(text=text)["text"] == text


def test_a_batch_that_is_parsed_in_parts_keeps_its_order() -> None:
    texts = [f"{number} " * (number % 400) for number in range(4_000)]
    records = decode([record({"text": text}, k=number) for number, text in enumerate(texts)], SCHEMA)
    assert records.get_column("k").to_list() == list(range(4_000))
    assert [rows[0]["v"]["text"] for rows in records.get_column("l").to_list()] == texts


@pytest.mark.parametrize(
    "foreign", [b"", b"rubbish", b"[]", b'{"k":1} x', b'{"k":1', b'{"k":1},{"k":2}', b"\xff", b'{"l":5}', b"7"]
)
def test_a_record_that_the_pipeline_did_not_write_is_an_error_not_a_shift(foreign: bytes) -> None:
    with pytest.raises(TurnoutError, match="One of 2 changelog records is not what the pipeline writes"):
        decode([foreign, record({"orderId": 1})], SCHEMA)
    with pytest.raises(TurnoutError, match="One of 2 changelog records is not what the pipeline writes"):
        _ = Records([foreign, record({"orderId": 1})], SCHEMA).plain


@given(st.data())
def test_any_row_of_any_schema_comes_back_as_it_was(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    written = records_of(messages, schema)
    records = decode(list(written.values()), schema)
    assert records.get_column("k").to_list() == list(written)
    read = {
        (side, row["p"], row["o"]): (row["t"], row["v"])
        for side, column in (("left", "l"), ("right", "r"))
        for rows in records.get_column(column).to_list()
        for row in rows
    }
    sent = {(message.side, message.partition, message.offset): message for message in messages}
    for position, (timestamp, values) in read.items():
        assert (timestamp, values) == (sent[position].timestamp, sent[position].row)


@given(st.lists(VALUES[ColumnType.DOUBLE], min_size=1))
def test_any_double_comes_back_as_it_was(numbers: list[float]) -> None:
    records = decode([record({"total": number}) for number in numbers], SCHEMA)
    read = [rows[0]["v"]["total"] for rows in records.get_column("l").to_list()]
    assert read == numbers
    assert [math.copysign(1, number) for number in read] == [math.copysign(1, number) for number in numbers]


def test_columns_keep_their_order_and_types() -> None:
    left = record_dtype(SCHEMA).to_schema()["l"]
    assert left == pl.List(
        pl.Struct(
            {
                "v": pl.Struct({"orderId": pl.Int64, "text": pl.String, "paid": pl.Boolean, "total": pl.Float64}),
                "t": pl.Int64,
                "o": pl.Int64,
                "p": pl.Int64,
            }
        )
    )


def test_the_last_messages_that_records_were_written_for() -> None:
    """Of each side and partition; columns may hold anything, also what looks like a position."""
    at = ["l/0/9", "r/0/4", "l/12/3", "l/0/10", "l/0/2"]
    assert origins(record({"text": 'x","at":"r/7/7"}'}, at=it) for it in at) == {
        ("l", 0): 10,
        ("r", 0): 4,
        ("l", 12): 3,
    }
    assert origins([]) == {}
