"""Rows that are picked out here are those that the server would pick out."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client.fed import Fed
from turnout.client import Client, QueryRefused, Unreachable
from turnout.commands.tailing import Asked, Newest, Selected, tail_of

IDS = st.sampled_from([f"r{number}" for number in range(8)])
ROWS = st.dictionaries(IDS, st.one_of(st.none(), st.integers(-3, 3), st.just(2**63 - 1)), max_size=8)
ASKED = st.builds(
    Asked,
    st.just("users_ui"),
    st.lists(st.sampled_from(["age>0", "age<=2", "age!=1", "name~3", "userId>=ur2", "age~1"]), max_size=2),
    st.lists(st.sampled_from(["age:desc", "age", "name:desc,age", "email"]), max_size=2),
    st.lists(st.sampled_from(["age", "name"]), max_size=2, unique=True),
)


@pytest.fixture(scope="module")
def fed() -> Iterator[Fed]:
    fed = Fed()
    yield fed
    fed.stop()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ASKED, ROWS, st.lists(st.tuples(ROWS, st.sets(IDS, max_size=3), st.booleans()), max_size=6), st.integers(1, 5))
def test_what_is_shown_is_what_the_server_answers(
    fed: Fed,
    asked: Asked,
    first: dict[str, int | None],
    later: list[tuple[dict[str, int | None], set[str], bool]],
    count: int,
) -> None:
    client = Client(fed.url)
    generation = fed.generation + 1
    fed.swap(generation, first.items())
    tail = tail_of(client, asked)
    with client.table("users_ui").changes() as changes:
        tail.take(next(changes))
        for rows, removes, looked_at in later:
            if rows or removes - rows.keys():
                fed.change(rows.items(), removes - rows.keys())
                tail.take(next(changes))
            if looked_at:
                tail.shown(count)
    answer = client.table("users_ui").rows(filter=asked.filters, sort=asked.sort, columns=asked.columns)
    shown = tail.shown(count)
    assert list(shown.rows) == (answer[:count] if asked.sort else answer[-count:])
    assert (shown.matching, shown.total, shown.generation) == (len(answer), len(fed.held()), generation)


def test_polars_is_not_needed_to_show_all(fed: Fed) -> None:
    client = Client(fed.url)
    assert isinstance(tail_of(client, Asked("users_ui", (), (), ())), Newest)
    assert isinstance(tail_of(client, Asked("users_ui", (), (), ["age"])), Selected)


def test_a_column_that_is_not_there_is_refused_with_the_first_rows(fed: Fed) -> None:
    client = Client(fed.url)
    first = next(client.table("users_ui").changes())
    for asked in (
        Asked("users_ui", ["salary>1"], (), ()),
        Asked("users_ui", (), ["salary"], ()),
        Asked("users_ui", (), (), ["salary"]),
    ):
        with pytest.raises(QueryRefused, match="there is no column 'salary'"):
            Selected(client, asked).take(first)


def test_columns_that_were_known_do_when_the_server_is_gone_again() -> None:
    fed = Fed()
    fed.swap(1, [("a", 1)])
    client = Client(fed.url)
    first = next(client.table("users_ui").changes())
    selected, another = (Selected(client, Asked("users_ui", (), ["age"], ())) for _ in range(2))
    selected.take(first)
    fed.stop()
    selected.take(first)
    assert selected.shown(5).total == 1
    with pytest.raises(Unreachable):
        another.take(first)
