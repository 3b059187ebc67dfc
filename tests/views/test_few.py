"""Row by row or in columns, the same comes out."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, records_of, schemas
from turnout.changelog.records import Records
from turnout.schema import JoinType, Match
from turnout.tables.delta import ROW, Delta
from turnout.views.expand import MATCH, expand
from turnout.views.few import deltas


def content(delta: Delta) -> tuple[object, ...]:
    return delta.upserts.schema, sorted(delta.upserts.rows()), delta.removes.dtype, sorted(delta.removes)


@pytest.mark.parametrize("join", JoinType)
@pytest.mark.parametrize("match", Match)
@given(data=st.data())
@settings(max_examples=25)
def test_the_difference_is_that_of_two_expansions(join: JoinType, match: Match, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    before, after = (
        records_of(some, schema) for some in (messages[: data.draw(st.integers(0, len(messages)))], messages)
    )
    changed = [key for key, record in after.items() if before.get(key) != record]
    old = Records([before[key] for key in changed if key in before], schema)
    new = Records([after[key] for key in changed], schema)

    few = deltas(old.plain, new.plain, schema, join, match)
    one, other = (expand(records.frame, schema, join, match) for records in (old, new))
    assert content(few.left) == content(Delta.between(one.left, other.left, [ROW]))
    assert content(few.right) == content(Delta.between(one.right, other.right, [ROW]))
    assert content(few.joined) == content(Delta.between(one.joined, other.joined, [ROW, MATCH]))


@given(data=st.data())
def test_what_is_said_of_records_is_the_same(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    values = list(records_of(data.draw(histories(schema)), schema).values())
    few = Records(values, schema)
    with patch("turnout.changelog.records.FEW", -1):
        many = Records(values, schema)
        assert (len(few), few.keys, few.versions) == (len(many), many.keys, many.versions)
