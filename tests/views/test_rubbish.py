"""Whatever somebody else may write to a changelog: it is rows, or one clear error, and never anything else."""

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.changelog.records import FEW
from turnout.changelog.store import Store
from turnout.config import PublicNames
from turnout.errors import TurnoutError
from turnout.schema import ColumnType, JoinSchema, JoinType, Match, TableSchema
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Registry
from turnout.views.view import View

SCHEMA = JoinSchema(
    TableSchema("one", {"id": ColumnType.LONG, "text": ColumnType.STRING}, keep=2),
    TableSchema("other", {"id": ColumnType.LONG, "yes": ColumnType.BOOLEAN}, keep=2),
    key="id",
)
NAMES = PublicNames(left="one_ui", right="other_ui")
COLUMNS = {
    NAMES.left: SCHEMA.left.columns,
    NAMES.right: SCHEMA.right.columns,
    NAMES.joined: SCHEMA.joined_columns,
}

FIELDS = st.sampled_from(["k", "l", "r", "ln", "rn", "v", "t", "o", "p", "id", "text", "yes"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=6,
)
VALUES = st.fixed_dictionaries({"id": st.integers(0, 3)}, optional={"text": JSON, "yes": JSON}) | JSON
ROWS = st.lists(st.fixed_dictionaries({"v": VALUES}, optional={"t": JSON, "o": JSON, "p": JSON}) | JSON, max_size=2)
RECORDS = st.fixed_dictionaries({"k": JSON, "l": ROWS | JSON, "r": ROWS | JSON, "ln": JSON, "rn": JSON})
RUBBISH = st.binary(max_size=12) | (RECORDS | JSON).map(lambda value: json.dumps(value).encode())


@pytest.mark.parametrize("few", [-1, FEW], ids=["in columns", "row by row"])
@pytest.mark.parametrize("match", list(Match))
@given(values=st.lists(RUBBISH, min_size=1, max_size=3), join=st.sampled_from(list(JoinType)))
def test_any_bytes_are_rows_or_one_clear_error(few: int, match: Match, values: list[bytes], join: JoinType) -> None:
    registry = Registry([LiveTable(name, columns) for name, columns in COLUMNS.items()])
    view = View(registry, NAMES, SCHEMA, join, match, registry.generation)
    with patch("turnout.changelog.records.FEW", few):
        error = error_of(view, values)
    assert error is None or "Something else writes to the changelog topic" in error


def error_of(view: View, values: list[bytes]) -> str | None:
    try:
        change = Store(SCHEMA).take((str(number).encode(), value) for number, value in enumerate(values))
        if change is not None:
            view.changed(change)
    except TurnoutError as error:
        return str(error)
    return None
