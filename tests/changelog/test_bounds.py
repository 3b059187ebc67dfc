import logging

import pytest

from turnout.changelog.bounds import FREED_ROWS, Bound, Size, Tally, side_bounds
from turnout.schema import ColumnType, JoinSchema, TableSchema

SCHEMA = JoinSchema(
    TableSchema("users", {"id": ColumnType.LONG}, keep=2, max_rows=10),
    TableSchema("accounts", {"id": ColumnType.LONG}, keep=2),
    key="id",
)


def rows(count: int) -> Size:
    return count, 0, 0


def tally(max_rows: int) -> Tally:
    return Tally(Bound("users_ui", max_rows, "tables.users.max_rows", lambda size: size[0]))


def test_each_side_has_a_bound_under_its_public_name() -> None:
    bounds = {bound.table: (bound.max_rows, bound.setting, bound.rows((3, 4, 0))) for bound in side_bounds(SCHEMA)}
    assert bounds == {
        "users_ui": (10, "tables.users.max_rows", 3),
        "accounts_ui": (1_000_000, "tables.accounts.max_rows", 4),
    }


def test_a_table_may_have_its_bound_and_no_row_more() -> None:
    counted = tally(10)
    counted.change({rows(4): 1, rows(6): 1})
    assert (counted.rows, counted.above) == (10, False)
    counted.change({rows(4): -1, rows(5): 1})
    assert (counted.rows, counted.above) == (11, True)


@pytest.mark.parametrize(
    ("max_rows", "freed"), [(1, 1), (10, 10), (100, 95), (1_000_000, 1_000_000 - FREED_ROWS)], ids=str
)
def test_more_goes_at_once_than_has_to_but_not_for_long(max_rows: int, freed: int) -> None:
    counted = tally(max_rows)
    counted.change({rows(freed): 1})
    assert counted.freed
    counted.change({rows(1): 1})
    assert not counted.freed


def test_a_full_table_is_warned_of_once_with_the_limit_and_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    counted = tally(1_000_000)
    counted.warn()
    counted.warn()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    said = record.getMessage()
    assert said.startswith("users_ui has reached its 1,000,000 rows")
    assert "raise tables.users.max_rows" in said
