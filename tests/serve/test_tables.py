"""Snapshots over HTTP: which columns, how an answer goes out, and who else can read it. More is in test_app."""

import gc
import io
import socket
from types import GeneratorType
from urllib.request import urlopen

import duckdb
import httpx
import polars as pl
import pyarrow as pa
import pytest

from tests.serve.feeding import change, swap
from tests.waiting import until
from turnout.service import Service

MANY = 5_000
LONG = 1_000


def feed_many(service: Service, generation: int) -> None:
    """Few rows of long texts, because it takes Perspective a while to take in many rows."""
    swap(service, generation, ((f"{number:0{LONG}}", generation) for number in range(MANY)))


def test_columns_come_as_asked(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 10), ("2", 20)])
    for query in ("columns=age,userId", "columns=age&columns=userId"):
        answer = http.get(f"/api/tables/users_ui?{query}&filter=name~2")
        assert answer.text == '{"generation":0,"rows":[{"age":20,"userId":"u2"}]}'
    assert http.get("/api/tables/users_ui?format=csv&columns=age&sort=age:desc").text == "age\n20\n10\n"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("columns=userId,other", "there is no column 'other'; there are userId, name, email, age"),
        ("columns=age,age", "column 'age' is asked for twice"),
        ("sorted=age", "there is no parameter 'sorted': did you mean 'sort'?"),
        ("column=age", "there is no parameter 'column': did you mean 'columns'?"),
        ("q=age", "there is no parameter 'q': known here: format, limit, sort, filter, columns"),
        ("limit=1&limit=2", "limit is given twice"),
        ("filter=age=>3", "filter 'age=>3': '=>' is not an operator; operators: == != <= >= < > ~"),
    ],
)
def test_a_question_that_makes_no_sense_is_a_400_that_says_why(http: httpx.Client, query: str, why: str) -> None:
    answer = http.get(f"/api/tables/users_ui?{query}")
    assert (answer.status_code, answer.json()) == (400, {"error": why})


def test_changes_take_no_parameters(http: httpx.Client) -> None:
    answer = http.get("/api/tables/users_ui/changes?filter=age>1")
    assert answer.status_code == 400
    assert answer.json() == {"error": "there is no parameter 'filter': changes come of all rows and all columns"}


@pytest.mark.parametrize("form", ["json", "csv", "arrow"])
def test_every_format_tells_its_generation(http: httpx.Client, service: Service, form: str) -> None:
    swap(service, 12, [("1", 1)])
    answer = http.get(f"/api/tables/users_ui?format={form}")
    assert answer.headers["turnout-generation"] == "12"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("form", ["json", "csv", "arrow"])
def test_a_small_answer_comes_whole_and_a_large_one_in_pieces(http: httpx.Client, service: Service, form: str) -> None:
    feed_many(service, 1)
    small = http.get(f"/api/tables/users_ui?format={form}&limit=10")
    assert int(small.headers["content-length"]) == len(small.content)
    large = http.get(f"/api/tables/users_ui?format={form}")
    assert large.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in large.headers


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_an_answer_is_of_one_moment_however_long_it_takes_to_read(
    http: httpx.Client, service: Service, form: str
) -> None:
    feed_many(service, 1)
    with http.stream("GET", f"/api/tables/users_ui?format={form}") as answer:
        pieces = answer.iter_raw()
        read = [next(pieces)]
        feed_many(service, 2)
        change(service, [("new", 3)], removes=["0" * LONG])
        read += pieces
    rows = (pl.read_csv if form == "csv" else pl.read_ipc_stream)(io.BytesIO(b"".join(read)))
    assert rows.height == MANY
    assert rows["age"].unique().to_list() == [1]
    assert answer.headers["turnout-generation"] == "1"


def _answers_under_way() -> int:
    # Not isinstance(), which asks the object itself: somebody's weak proxy may stand for one that is gone.
    found = (one for one in gc.get_objects() if type(one) is GeneratorType and one.__name__ == "_pieces")
    return sum(one.gi_frame is not None for one in found)


@pytest.mark.parametrize("form", ["json", "csv", "arrow"])
def test_a_client_that_goes_away_ends_the_work(http: httpx.Client, service: Service, form: str) -> None:
    feed_many(service, 1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that the answer waits for its reader
        client.connect((http.base_url.host, http.base_url.port))
        client.sendall(f"GET /api/tables/users_ui?format={form} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        assert _answers_under_way() == 1
    until(lambda: _answers_under_way() == 0, "nobody works on it any more")


def test_polars_reads_an_answer_by_its_address(server: str, service: Service) -> None:
    feed_many(service, 1)
    rows = pl.read_ipc_stream(f"{server}/api/tables/users_ui?format=arrow&columns=userId,age")
    assert rows.schema == {"userId": pl.String(), "age": pl.Int64()}
    assert rows.height == MANY


def test_duckdb_reads_an_answer_as_it_comes(server: str, service: Service) -> None:
    feed_many(service, 4)
    with urlopen(f"{server}/api/tables/users_ui?format=arrow") as answer:
        users = pa.ipc.open_stream(answer)
        with duckdb.connect() as database:
            database.register("users", users)
            found = database.sql("SELECT count(*), min(age), max(name) FROM users").fetchall()
    assert found == [(MANY, 4, f"name {MANY - 1:0{LONG}}")]
