import polars as pl
import pytest

from turnout.changelog.record import dtypes
from turnout.errors import QueryRefused
from turnout.schema import Columns, ColumnType
from turnout.serve.snapshot import Query, select
from turnout.tables.delta import ROW

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


def ids(*filters: str, sort: str = "", limit: int | None = None) -> str:
    """The rows that are left, by their ids."""
    known = {row[1:]: row[0] for row in PEOPLE.rows()}
    return "".join(known[row] for row in select(PEOPLE, COLUMNS, Query(filters, [sort], limit=limit)).rows())


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
        ("age==1_000", "'1_000' is not a long"),
        ("balance==1_0.5", "'1_0.5' is not a double"),
        ("age=>30", "filter 'age=>30': '=>' is not an operator; operators: == != <= >= < > ~"),
        ("age =< 30", "filter 'age =< 30': '=<' is not an operator"),
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


@pytest.mark.parametrize("asked", [["balance,name"], ["balance", "name"], [" balance , name "], ["", "balance,name"]])
def test_columns_come_as_asked_in_that_order(asked: list[str]) -> None:
    shown = select(PEOPLE, COLUMNS, Query(columns=asked))
    assert shown.columns == ["balance", "name"]
    assert shown.rows() == [(1.5, "Ann"), (-2.0, "Bob"), (0.25, "Ann=Bob"), (None, None), (100.0, "")]


def test_without_a_wish_all_columns_come_but_the_id() -> None:
    for asked in ([], [""], [" "]):
        assert select(PEOPLE, COLUMNS, Query(columns=asked)).columns == list(COLUMNS)


def test_filter_and_sort_may_use_columns_that_are_not_shown() -> None:
    query = Query(filters=["active==true"], sort=["balance"], columns=["age"])
    assert select(PEOPLE, COLUMNS, query).to_dict(as_series=False) == {"age": [2**53, 30]}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("other", "there is no column 'other'; there are name, age, balance, active"),
        ("age,", "there is no column ''; there are name"),
        ("_row", "there is no column '_row'"),
        ("name,age,name", "column 'name' is asked for twice"),
    ],
)
def test_columns_that_cannot_be_shown_are_refused(asked: str, why: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        select(PEOPLE, COLUMNS, Query(columns=[asked]))
    assert why in str(refused.value)


def test_sorts_may_be_given_one_by_one() -> None:
    query = Query(sort=["age", "balance:desc"], columns=["balance"])
    assert select(PEOPLE, COLUMNS, query).to_series().to_list() == [100.0, 1.5, 0.25, -2.0, None]


@pytest.mark.parametrize("name", ["*", "^.*$", "a.b", "a<b", "x==y", 'say "hi"', "имя", "a:b", "a,b"])
def test_a_column_may_be_called_anything(name: str) -> None:
    columns = {"a": ColumnType.LONG, name: ColumnType.LONG}
    rows = pl.DataFrame([("1", 1, 7), ("2", 2, 5)], schema=[ROW, "a", name], orient="row")

    def left(query: Query) -> list[int]:
        return select(rows, columns, query).get_column("a").to_list()

    assert left(Query(filters=[f"{name}==5"])) == [2]
    assert left(Query(filters=[f"{name} > 5"])) == [1]
    assert left(Query(sort=[name])) == [2, 1]
    assert left(Query(sort=[f"{name}:desc"])) == [1, 2]
    assert select(rows, columns, Query(columns=[name])).to_dict(as_series=False) == {name: [7, 5]}
