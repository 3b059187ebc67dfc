import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, records_of, schemas
from turnout.changelog.bounds import side_bounds, sizes
from turnout.changelog.records import Records
from turnout.schema import JoinType, Match
from turnout.views.counting import joined_rows
from turnout.views.expand import expand


@pytest.mark.parametrize("join", JoinType)
@pytest.mark.parametrize("match", Match)
@given(data=st.data())
@settings(max_examples=20)
def test_what_is_counted_beforehand_is_what_the_tables_then_have(
    join: JoinType, match: Match, data: st.DataObject
) -> None:
    schema = data.draw(schemas())
    records = Records(list(records_of(data.draw(histories(schema)), schema).values()), schema)
    tables, rows = expand(records.frame, schema, join, match), joined_rows(join, match)
    keys = sizes(records, schema)
    assert sum(rows(left, partners) for left, _, partners in keys) == tables.joined.height
    assert [sum(map(bound.rows, keys)) for bound in side_bounds(schema)] == [tables.left.height, tables.right.height]
