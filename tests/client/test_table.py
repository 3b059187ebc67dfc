"""What a table has now, in the forms that people work with."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.client.fed import Fed
from turnout.client import Client, QueryRefused, Table, TableMissing, TurnoutError

REPO = Path(__file__).parent.parent.parent
LONG = 2**63 - 1
"""A number that no float can hold."""


@pytest.fixture
def users(fed: Fed, client: Client) -> Table:
    fed.swap(1, [("a", 3), ("b", None), ("c", LONG), ("d", 1)])
    return client.table("users_ui")


def test_rows_come_as_the_table_has_them(users: Table) -> None:
    rows = users.rows()
    assert [row["userId"] for row in rows] == ["ua", "ub", "uc", "ud"]
    assert rows[2] == {"userId": "uc", "name": "name c", "email": None, "age": LONG}


def test_the_server_picks_out_what_is_asked_for(users: Table) -> None:
    assert users.rows(filter="age>1", sort="age:desc", columns=["age", "name"], limit=1) == [
        {"age": LONG, "name": "name c"}
    ]
    assert users.rows(filter=["age>=1", "name~d"], columns="age") == [{"age": 1}]
    assert users.to_polars(sort=["email", "age"], columns=["userId"]).get_column("userId").to_list() == [
        "ud",
        "ua",
        "uc",
        "ub",
    ]
    assert users.rows(limit=0) == []


def test_polars_has_the_types_of_the_columns(users: Table) -> None:
    frame = users.to_polars()
    assert frame.schema == {"userId": pl.String, "name": pl.String, "email": pl.String, "age": pl.Int64}
    assert frame.rows(named=True) == users.rows()


def test_arrow_has_the_same_rows(users: Table) -> None:
    table = users.to_arrow(columns=["userId", "age"], sort="age")
    assert table.to_pylist() == users.rows(columns=["userId", "age"], sort="age")


def test_pandas_keeps_whole_numbers_whole_although_some_are_missing(users: Table) -> None:
    frame = users.to_pandas(filter="age>5")
    assert frame["age"].tolist() == [LONG]
    assert str(users.to_pandas()["age"].dtype) == "Int64"
    assert users.to_pandas()["age"].isna().tolist() == [False, True, False, False]


def test_an_empty_table_still_has_its_columns(client: Client) -> None:
    assert client.table("final_ui").to_polars().columns == [
        "userId",
        "name",
        "email",
        "age",
        "accountType",
        "balance",
    ]
    assert len(client.table("final_ui").to_pandas()) == 0


def test_a_table_that_is_not_there_is_named_with_those_that_are(client: Client) -> None:
    for ask in (client.table("a?b c").rows, client.table("a?b c").to_polars):
        with pytest.raises(TableMissing, match="there are users_ui, accounts_ui, final_ui"):
            ask()


def test_a_query_that_cannot_be_answered_says_why(users: Table) -> None:
    for query, reason in (
        ({"filter": "salary>1"}, "there is no column 'salary'; there are userId, name, email, age"),
        ({"filter": "age>old"}, "'old' is not a long"),
        ({"sort": "salary"}, "there is no column 'salary'"),
        ({"columns": ["salary"]}, "there is no column 'salary'"),
        ({"limit": -1}, "limit"),
    ):
        with pytest.raises(QueryRefused, match=reason):
            users.rows(**query)


@pytest.mark.parametrize(("call", "needs"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas")])
def test_what_is_not_installed_is_named_when_it_is_asked_for(
    users: Table, call: str, needs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, needs, None)
    with pytest.raises(TurnoutError, match=rf"{call}\(\) needs .*pip install"):
        getattr(users, call)()


def test_a_client_loads_nothing_that_only_a_server_needs() -> None:
    heavy = "{'pyspark', 'perspective', 'confluent_kafka', 'fastapi', 'pydantic', 'polars', 'pyarrow', 'pandas'}"
    program = (
        "import sys, turnout.client as c; c.Client(); c.AsyncClient(); c.Client().table('x').changes()\n"
        f"print({heavy} & set(sys.modules), 'asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "set() True\n"
    program = "import sys, turnout.client; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_snapshot_needs_polars_alone() -> None:
    program = (
        "import sys\n"
        "for name in ('pyspark', 'perspective', 'confluent_kafka', 'pyarrow', 'pandas', 'fastapi'):\n"
        "    sys.modules[name] = None\n"  # as if they were not installed
        "from turnout.client import Client\n"
        "print(Client(sys.argv[1]).table('users_ui').to_polars().height)\n"
    )
    fed = Fed()
    try:
        fed.swap(1, [("a", 1)])
        command = [sys.executable, "-c", program, fed.url]
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    finally:
        fed.stop()
    assert done.stdout == "1\n"
