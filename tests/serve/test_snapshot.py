import csv
import io
import json
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import VALUES
from turnout.changelog.record import dtypes
from turnout.errors import QueryRefused
from turnout.schema import Columns, ColumnType
from turnout.serve.snapshot import Format, encode, select
from turnout.tables.delta import ROW
from turnout.tables.registry import Snapshot

COLUMNS: Columns = {
    "name": ColumnType.STRING,
    "age": ColumnType.LONG,
    "balance": ColumnType.DOUBLE,
    "active": ColumnType.BOOLEAN,
}
SCHEMA = {ROW: pl.String(), **dtypes(COLUMNS)}
PEOPLE = pl.DataFrame(
    [
        ("1", "Ann", 30, 1.5, True),
        ("2", "Bob", 2**53 + 1, -2.0, False),
        ("3", "Ann=Bob", 2**53, 0.25, True),
        ("4", None, None, None, None),
        ("5", "", 30, 100.0, False),
    ],
    schema=SCHEMA,
    orient="row",
)


def ids(*filters: str, sort: str | None = None, limit: int | None = None) -> str:
    """The rows that are left, by their ids."""
    return "".join(select(PEOPLE, COLUMNS, filters, sort, limit).get_column(ROW))


def test_without_wishes_all_rows_come_as_they_are() -> None:
    assert ids() == "12345"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name==Ann", "1"),
        ("name == Ann", "1"),
        ("name!=Ann", "235"),
        ("name==", "5"),
        ("name==Ann=Bob", "3"),
        ("name~nn", "13"),
        ("name~=", "3"),
        ("name~.*", ""),
        ("name<B", "135"),
        ("age==30", "15"),
        ("age!=30", "23"),
        ("age>30", "23"),
        ("age>=9007199254740993", "2"),
        ("age<9007199254740993", "135"),
        ("age<=30", "15"),
        ("age~3", "125"),
        ("age>-9223372036854775808", "1235"),
        ("balance>0.2", "135"),
        ("balance==100", "5"),
        ("balance<inf", "1235"),
        ("active==true", "13"),
        ("active==False", "25"),
        ("active<true", "25"),
        ("active~tru", "13"),
    ],
)
def test_a_filter_leaves_the_rows_that_it_is_true_of(text: str, found: str) -> None:
    assert ids(text) == found


def test_several_filters_must_all_be_true() -> None:
    assert ids("age==30", "active==false") == "5"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name", "filter 'name' is not <column><operator><value>; operators: == != <= >= < > ~"),
        ("", "filter '' is not <column>"),
        ("name=Ann", "filter 'name=Ann' is not <column>"),
        ("other==1", "there is no column 'other'; there are name, age, balance, active"),
        ("_row==1", "there is no column '_row'"),
        ("==1", "there is no column ''"),
        ("age==old", "filter on 'age': 'old' is not a long"),
        ("age==", "filter on 'age': '' is not a long"),
        ("age==1.5", "'1.5' is not a long"),
        ("age>9223372036854775808", "'9223372036854775808' is not a long"),
        ("age<" + "9" * 5000, "9' is not a long"),
        ("balance>much", "filter on 'balance': 'much' is not a double"),
        ("active==yes", "filter on 'active': 'yes' is not a boolean"),
    ],
    ids=lambda text: text[:20],
)
def test_a_filter_that_makes_no_sense_is_refused_with_what_would(text: str, why: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        ids(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("age", "15324"),
        ("age:asc", "15324"),
        ("age:desc", "23154"),
        ("name:desc", "23154"),
        ("age,balance:desc", "51324"),
        (" age , name ", "51324"),
        ("active,balance", "25314"),
        ("", "12345"),
    ],
)
def test_rows_are_sorted_by_columns_those_without_a_value_last(sort: str, order: str) -> None:
    assert ids(sort=sort) == order


@pytest.mark.parametrize("sort", ["other", "age,", "age:down", "_row"])
def test_a_sort_by_what_is_no_column_is_refused(sort: str) -> None:
    with pytest.raises(QueryRefused, match=r"there is no column '.*'; there are name, age, balance, active"):
        ids(sort=sort)


@pytest.mark.parametrize(("limit", "found"), [(0, ""), (2, "12"), (5, "12345"), (10**12, "12345")])
def test_a_limit_cuts(limit: int, found: str) -> None:
    assert ids(limit=limit) == found


def test_rows_are_filtered_then_sorted_then_cut() -> None:
    assert ids("age>=30", sort="balance:desc", limit=2) == "51"


@pytest.mark.parametrize("name", ["*", "^.*$", "a.b", "a<b", "x==y", 'say "hi"', "имя", "a:b"])
def test_a_column_may_be_called_anything(name: str) -> None:
    columns = {"a": ColumnType.LONG, name: ColumnType.LONG}
    rows = pl.DataFrame([("1", 1, 7), ("2", 2, 5)], schema=[ROW, "a", name], orient="row")
    assert select(rows, columns, [f"{name}==5"], None, None).get_column(ROW).to_list() == ["2"]
    assert select(rows, columns, [f"{name} > 5"], None, None).get_column(ROW).to_list() == ["1"]
    assert select(rows, columns, [], name, None).get_column(ROW).to_list() == ["2", "1"]
    assert select(rows, columns, [], f"{name}:desc", None).get_column(ROW).to_list() == ["1", "2"]


def encoded(rows: pl.DataFrame, form: Format) -> bytes:
    return encode(Snapshot(7, rows), rows, form)


def test_json_has_the_generation_and_the_rows_without_their_ids() -> None:
    assert json.loads(encoded(PEOPLE[:1], Format.JSON)) == {
        "generation": 7,
        "rows": [{"name": "Ann", "age": 30, "balance": 1.5, "active": True}],
    }


def test_json_of_many_rows_has_them_all_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.serve.snapshot._PART_ROWS", 2)
    assert json.loads(encoded(PEOPLE, Format.JSON))["rows"] == PEOPLE.drop(ROW).to_dicts()
    assert json.loads(encoded(PEOPLE.clear(), Format.JSON))["rows"] == []


def test_csv_has_a_header_and_tells_null_from_empty() -> None:
    text = encoded(PEOPLE[2:], Format.CSV).decode()
    assert text.splitlines() == [
        "name,age,balance,active",
        "Ann=Bob,9007199254740992,0.25,true",
        ",,,",
        '"",30,100.0,false',
    ]


@pytest.mark.parametrize("rows", [PEOPLE, PEOPLE.clear()], ids=["rows", "no rows"])
def test_arrow_is_a_stream_that_others_can_read(rows: pl.DataFrame) -> None:
    read = pl.read_ipc_stream(io.BytesIO(encoded(rows, Format.ARROW)))
    assert read.equals(rows.drop(ROW))
    assert read.schema == rows.drop(ROW).schema


@pytest.mark.parametrize("form", Format)
def test_no_rows_are_no_error(form: Format) -> None:
    assert encoded(PEOPLE.clear(), form)


ANY_ROWS = st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in COLUMNS.values())), max_size=5)


@given(ANY_ROWS)
@settings(deadline=None, max_examples=60)
def test_every_value_is_exact_in_every_format(content: list[tuple[object, ...]]) -> None:
    rows = pl.DataFrame([("id", *values) for values in content], schema=SCHEMA, orient="row")
    read = [tuple(row.values()) for row in json.loads(encoded(rows, Format.JSON))["rows"]]
    assert read == content
    assert pl.read_ipc_stream(io.BytesIO(encoded(rows, Format.ARROW))).rows() == content
    header, *lines = csv.reader(io.StringIO(encoded(rows, Format.CSV).decode(), newline=""))
    assert header == list(COLUMNS)
    assert [tuple(map(_from_csv, line, COLUMNS.values())) for line in lines] == [
        (v[0] or None, *v[1:]) for v in content
    ]


PARSERS: dict[ColumnType, Callable[[str], object]] = {
    ColumnType.STRING: str,
    ColumnType.LONG: int,
    ColumnType.DOUBLE: float,
    ColumnType.BOOLEAN: json.loads,
}


def _from_csv(text: str, kind: ColumnType) -> object:
    return PARSERS[kind](text) if text else None
