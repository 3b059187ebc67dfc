from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, oracle_of, records_of, schemas
from tests.oracle import Message
from tests.shown import NAMES, SCHEMA, Shown
from turnout.changelog.record import decode
from turnout.changelog.records import FEW
from turnout.changelog.store import Store
from turnout.schema import JoinType, Match
from turnout.tables.delta import ROW
from turnout.tables.registry import Changed, Swapped
from turnout.views.expand import MATCH, expand


def user(offset: int, key: int | None, name: str) -> Message:
    return Message("left", offset, 0, offset, {"id": key, "name": name})


def account(offset: int, key: int | None, balance: int) -> Message:
    return Message("right", offset, 0, offset, {"id": key, "balance": balance})


def test_a_left_row_shows_at_once_and_is_updated_in_place_when_its_match_arrives() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(user(0, 1, "Ann"))
    assert shown.rows().rows() == [("l:0:0", 1, "Ann", None)]
    shown.send(account(0, 1, 50))
    assert shown.rows().rows() == [("l:0:0", 1, "Ann", 50)]
    kinds = [(type(event), event.delta.removes.to_list()) for event in shown.events[NAMES.joined]]
    assert kinds == [(Swapped, []), (Changed, []), (Changed, [])]


def test_only_the_tables_that_change_are_told_of() -> None:
    shown = Shown()
    shown.show(JoinType.SEMI)
    shown.send(account(0, 1, 50))
    assert {name: len(events) - 1 for name, events in shown.events.items()} == {
        "left_ui": 0,
        "right_ui": 1,
        "final_ui": 0,
    }


def test_a_row_beyond_keep_goes() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(*(user(offset, 1, f"v{offset}") for offset in range(3)))
    shown.send(user(3, 1, "v3"))
    assert sorted(shown.rows().get_column("name")) == ["v2", "v3"]
    assert sorted(shown.rows(NAMES.left).get_column("name")) == ["v2", "v3"]


def test_nothing_for_people_but_the_columns_and_the_row_id_is_shown() -> None:
    shown = Shown()
    shown.send(user(0, 1, "Ann"))
    shown.show(JoinType.LEFT)
    shown.send(account(0, 1, 50))
    assert shown.rows().columns == [ROW, "id", "name", "balance"]


def test_another_join_of_the_same_records_is_shown_in_one_step() -> None:
    shown = Shown()
    shown.show(JoinType.LEFT)
    shown.send(user(0, 1, "Ann"), user(1, 2, "Bob"), account(0, 1, 50))
    shown.show(JoinType.ANTI, generation=2)
    assert shown.rows().get_column("name").to_list() == ["Bob"]
    assert [event.generation for event in shown.events[NAMES.joined]] == [1, 1, 2]
    shown.send(account(1, 2, 60))
    assert shown.rows().height == 0


def test_a_view_of_an_older_generation_changes_nothing() -> None:
    shown = Shown()
    old = shown.show(JoinType.LEFT)
    shown.show(JoinType.INNER, generation=2)
    change = Store(SCHEMA).take([(b"1", records_of([user(0, 1, "Ann")], SCHEMA)[1])])
    assert change is not None
    old.changed(change)
    assert all(shown.rows(name).height == 0 for name in shown.events)


def test_a_key_that_is_forgotten_leaves_all_tables_and_viewers_see_its_rows_go() -> None:
    shown = Shown(replace(SCHEMA, left=replace(SCHEMA.left, max_rows=2)))
    shown.show(JoinType.LEFT)
    shown.send(user(0, 1, "Ann"), account(0, 1, 50))
    shown.send(user(1, 2, "Bob"))
    assert shown.heights() == [2, 1, 2]
    shown.send(user(2, 3, "Cy"))
    assert [row[1:] for row in shown.rows().rows()] == [(2, "Bob", None), (3, "Cy", None)]
    assert shown.heights() == [2, 0, 2]
    assert [events[-1].delta.removes.to_list() for events in shown.events.values()] == [["0:0"], ["0:0"], ["l:0:0"]]
    shown.send(account(1, 1, 60))
    assert sorted(shown.rows().get_column("name")) == ["Ann", "Cy"]  # with all its rows
    assert shown.heights() == [2, 2, 2]


def test_a_swap_to_a_join_that_is_too_large_shows_no_more_than_its_bound() -> None:
    shown = Shown(replace(SCHEMA, max_rows=9))
    shown.show(JoinType.LEFT)
    for key in range(4):
        shown.send(*(user(2 * key + n, key, f"{key}") for n in (0, 1)))
        shown.send(*(account(2 * key + n, key, key) for n in (0, 1)))
    assert shown.heights() == [8, 8, 8]
    shown.show(JoinType.INNER, generation=2)
    assert shown.heights() == [4, 4, 8]
    assert set(shown.rows().get_column("name")) == {"2", "3"}
    [swap] = [event for event in shown.events[NAMES.joined] if event.generation == 2]
    assert isinstance(swap, Swapped)
    assert swap.rows.height == 8


@pytest.mark.parametrize("join", JoinType)
@given(data=st.data())
@settings(max_examples=12)
def test_bounded_tables_never_have_more_rows_and_show_every_key_that_is_left_whole(
    join: JoinType, data: st.DataObject
) -> None:
    drawn, limits = data.draw(schemas()), st.integers(1, 8)
    left, right = (replace(side, max_rows=data.draw(limits)) for side in (drawn.left, drawn.right))
    schema = replace(drawn, left=left, right=right, max_rows=data.draw(limits))
    most, match = (left.max_rows, right.max_rows, schema.max_rows), data.draw(st.sampled_from(Match))
    messages, first = data.draw(histories(schema)), data.draw(st.integers(0, 12))
    shown = Shown(schema)
    for number, message in enumerate(messages):
        if number == first:
            shown.show(join, match)
        shown.send(message)
        held = shown.store.all().get_column("k").to_list()
        assert number < first or len(held) == 1 or all(map(int.__le__, shown.heights(), most))
        assert held[-1] == message.row[schema.key]
        remembered = [message for message in messages[: number + 1] if message.row[schema.key] in held]
        expected = oracle_of(schema).tables(remembered, join, match)
        for name, side in ((NAMES.left, "left"), (NAMES.right, "right"), (NAMES.joined, "joined")):
            assert number < first or Counter(shown.rows(name).drop(ROW).rows()) == expected[side]


@pytest.mark.parametrize("few", [0, FEW], ids=["in columns", "row by row"])
@pytest.mark.parametrize("join", JoinType)
@pytest.mark.parametrize("match", Match)
@given(data=st.data())
@settings(max_examples=12)
def test_tables_fed_bit_by_bit_are_those_of_a_fresh_expansion_and_of_the_oracle(
    join: JoinType, match: Match, few: int, data: st.DataObject
) -> None:
    with patch("turnout.changelog.records.FEW", few):
        _fed_bit_by_bit(join, match, data)


def _fed_bit_by_bit(join: JoinType, match: Match, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    messages = data.draw(histories(schema))
    first, size = data.draw(st.integers(0, len(messages))), data.draw(st.integers(1, 5))
    shown = Shown(schema)
    if messages[:first]:
        shown.send(*messages[:first])
    shown.show(join, match)
    for start in range(first, len(messages), size):
        shown.send(*messages[start : start + size])
    fresh = expand(decode(list(records_of(messages, schema).values()), schema), schema, join, match)
    expected = oracle_of(schema).tables(messages, join, match)
    for name, side, rows in (
        (NAMES.left, "left", fresh.left),
        (NAMES.right, "right", fresh.right),
        (NAMES.joined, "joined", fresh.joined.drop(MATCH)),
    ):
        assert Counter(shown.rows(name).rows()) == Counter(rows.rows())
        assert Counter(shown.rows(name).drop(ROW).rows()) == expected[side]
