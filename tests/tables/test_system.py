import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.schema import Columns, ColumnType
from turnout.tables.delta import ROW
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Event, Registry
from turnout.tables.system import (
    LOG_COLUMNS,
    REJECTED_COLUMNS,
    SHOWN_VALUE_BYTES,
    LogTable,
    RowTable,
    cut,
    iso,
    rejected_rows,
    status_columns,
)

COLUMNS: Columns = {"text": ColumnType.STRING, "number": ColumnType.LONG}


class Written:
    """A table that is written row by row, and what people see of it."""

    def __init__(self, columns: Columns = COLUMNS, newest: int | None = None) -> None:
        table = LiveTable("t", columns)
        self.registry = Registry([table])
        self.rows = RowTable(self.registry, table, newest)
        self.put = self.rows.put

    @property
    def ids(self) -> list[str]:
        return self.registry.snapshot("t").rows.get_column(ROW).to_list()

    @property
    def content(self) -> list[dict[str, object]]:
        return self.registry.snapshot("t").rows.drop(ROW).to_dicts()


def numbered(*numbers: int) -> dict[str, dict[str, object]]:
    return {str(number): {"text": f"row {number}", "number": number} for number in numbers}


def test_rows_are_shown_in_the_order_they_were_put() -> None:
    table = Written()
    table.put(numbered(3, 1))
    table.put(numbered(2))
    assert [row["number"] for row in table.content] == [3, 1, 2]


def test_a_row_with_a_known_id_takes_the_place_of_the_one_before() -> None:
    table = Written()
    table.put(numbered(1, 2))
    table.put({"1": {"text": "other", "number": None}})
    assert {row["text"] for row in table.content} == {"other", "row 2"}


def test_a_field_that_is_not_given_is_null_and_an_unknown_one_is_left_out() -> None:
    table = Written()
    table.put({"1": {"text": "x", "more": 1}})
    assert table.content == [{"text": "x", "number": None}]


def test_beyond_the_limit_the_oldest_rows_go() -> None:
    table = Written(newest=3)
    for number in range(10):
        table.put(numbered(number))
    assert table.ids == ["7", "8", "9"]


def test_of_more_rows_at_once_than_the_limit_allows_the_newest_are_shown() -> None:
    table = Written(newest=3)
    table.put(numbered(100, 101))
    table.put(numbered(*range(10)))
    assert table.ids == ["7", "8", "9"]


def test_a_row_that_is_put_again_does_not_count_twice() -> None:
    table = Written(newest=3)
    table.put(numbered(1, 2, 3))
    table.put(numbered(3, 2))
    assert sorted(table.ids) == ["1", "2", "3"]


def test_rows_take_the_place_of_all_others_in_one_step() -> None:
    table, seen = Written(newest=3), list[set[str]]()
    table.put(numbered(1, 2))
    table.registry.subscribe("t", lambda _: seen.append(set(table.ids)))
    table.rows.replace(numbered(2, 3))
    assert seen == [{"2", "3"}]
    table.put(numbered(4, 5))
    assert set(table.ids) == {"3", "4", "5"}
    table.rows.replace({})
    assert table.ids == []


def test_a_table_without_a_limit_keeps_all() -> None:
    table = Written()
    table.put(numbered(*range(100)))
    assert len(table.ids) == 100


@given(st.lists(st.lists(st.integers(0, 8), max_size=6, unique=True), max_size=12), st.integers(1, 4))
@settings(max_examples=60)
def test_the_rows_shown_are_the_newest_however_they_come(batches: list[list[int]], newest: int) -> None:
    table, expected = Written(newest=newest), dict[str, int]()
    for batch in batches:
        table.put(numbered(*batch))
        expected.update({str(number): number for number in batch})
        expected = dict(list(expected.items())[-newest:])
        assert dict(zip(table.ids, [row["number"] for row in table.content], strict=True)) == expected


def test_a_listener_is_told_of_a_new_row_and_the_one_that_goes_for_it_at_once() -> None:
    table, events = Written(newest=2), list[Event]()
    table.put(numbered(1, 2))
    table.registry.subscribe("t", events.append)
    table.put(numbered(3))
    assert [event.delta.upserts.get_column(ROW).to_list() for event in events] == [["3"]]
    assert [event.delta.removes.to_list() for event in events] == [["1"]]


def test_rows_may_be_put_from_many_threads() -> None:
    table = Written(newest=50)
    threads = [
        threading.Thread(target=lambda first=first: [table.put(numbered(first + n)) for n in range(25)])
        for first in range(0, 100, 25)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(table.ids) == 50


# -- log lines


@pytest.fixture
def logs() -> Iterator[tuple[logging.Logger, Written]]:
    table = Written(LOG_COLUMNS, newest=3)
    logger, handler = logging.getLogger("turnout.test"), LogTable(table.rows)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield logger, table
    logger.removeHandler(handler)


Logs = tuple[logging.Logger, Written]


def test_a_log_line_is_a_row_with_its_time_level_and_text(logs: Logs) -> None:
    logger, table = logs
    before = datetime.now(UTC)
    logger.warning("Topic %s has %d partitions", "a", 3)
    (row,) = table.content
    assert (row["level"], row["msg"]) == ("WARNING", "Topic a has 3 partitions")
    # The row has whole milliseconds.
    assert -0.001 <= (datetime.fromisoformat(str(row["ts"])) - before).total_seconds() < 5


def test_the_newest_log_lines_stay(logs: Logs) -> None:
    logger, table = logs
    for number in range(5):
        logger.info("line %d", number)
    assert [row["msg"] for row in table.content] == ["line 2", "line 3", "line 4"]


def test_two_equal_lines_are_two_rows(logs: Logs) -> None:
    logger, table = logs
    logger.info("same")
    logger.info("same")
    assert len(table.content) == 2


def test_a_line_with_half_of_a_surrogate_pair_is_shown_escaped(logs: Logs) -> None:
    logger, table = logs
    logger.info("unknown field %s", "\ud800 ☃")
    assert table.content[0]["msg"] == "unknown field \\ud800 ☃"


# -- rejected records


def record(**fields: object) -> dict[str, object]:
    return {
        "ts": 1_700_000_000_001,
        "topic": "t",
        "partition": 1,
        "offset": 2**53 + 1,
        "reason": "not JSON",
        "value": "x",
        **fields,
    }


def test_a_rejected_record_is_a_row_under_its_position() -> None:
    table = Written(REJECTED_COLUMNS)
    table.put(rejected_rows([record()]))
    assert table.ids == ["t/1/9007199254740993"]
    assert table.content == [record(ts="2023-11-14T22:13:20.001Z")]


def test_a_record_that_is_sent_again_is_shown_once() -> None:
    table = Written(REJECTED_COLUMNS)
    table.put(rejected_rows([record(), record(), record(offset=3)]))
    table.put(rejected_rows([record()]))
    assert len(table.content) == 2


@pytest.mark.parametrize("fields", [{"value": None}, {"value": ""}])
def test_a_record_without_a_value_has_an_empty_one(fields: dict[str, object]) -> None:
    assert [row["value"] for row in rejected_rows([record(**fields)]).values()] == [""]


def test_a_record_whose_producer_gave_it_an_absurd_time_is_a_row_too() -> None:
    table = Written(REJECTED_COLUMNS)
    table.put(rejected_rows([record(ts=2**63 - 1)]))
    assert table.content[0]["ts"] == "9223372036854775807"


def test_a_long_value_is_cut_at_a_kibibyte() -> None:
    (row,) = rejected_rows([record(value="x" * 5000)]).values()
    assert row["value"] == "x" * SHOWN_VALUE_BYTES


@pytest.mark.parametrize("character", ["a", "é", "☃", "𝄞"])
@pytest.mark.parametrize("shift", range(4))
def test_a_cut_never_breaks_a_character(character: str, shift: int) -> None:
    text = "a" * shift + character * SHOWN_VALUE_BYTES
    shown = cut(text)
    assert text.startswith(shown)
    assert SHOWN_VALUE_BYTES - len(character.encode()) < len(shown.encode()) <= SHOWN_VALUE_BYTES


# -- the rest


def test_the_status_has_the_fields_of_the_configuration() -> None:
    assert list(status_columns("ordersTopic", "paymentsTopic")) == [
        "ordersTopic",
        "paymentsTopic",
        "joinType",
        "lastApplied",
        "state",
        "generation",
        "message",
    ]


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_001, "2023-11-14T22:13:20.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "253402300800000"),
        (1_700_000_000_001_000, "1700000000001000"),
        (-(2**63), "-9223372036854775808"),
    ],
)
def test_a_time_is_iso_8601_in_utc_and_a_number_where_no_calendar_has_it(timestamp_ms: int, text: str) -> None:
    assert iso(timestamp_ms) == text


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_exact_to_the_millisecond(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    since = moment - datetime.fromtimestamp(0, UTC)
    shown = iso((since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000)
    assert datetime.fromisoformat(shown) == moment


told = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(), values, max_size=2),
    max_leaves=4,
)


@given(rows=st.lists(st.dictionaries(st.sampled_from([*COLUMNS, ROW, "more"]), told)))
def test_whatever_others_tell_fits_or_does_not_and_what_fits_can_be_put(rows: list[dict[str, object]]) -> None:
    table = Written()
    fitting = [row for told in rows if (row := table.rows.fitting(told)) is not None]
    table.put({str(number): row for number, row in enumerate(fitting)})
    assert table.content == fitting
    assert table.ids == [str(number) for number in range(len(fitting))]


def test_a_row_of_another_version_fits_without_what_is_not_known_here() -> None:
    table = Written()
    assert table.rows.fitting({"text": "row 1", "colour": "red"}) == {"text": "row 1", "number": None}
    assert table.rows.fitting({"text": "row 1", "number": 1}) == {"text": "row 1", "number": 1}
    assert table.rows.fitting({"text": "row 1", "number": ["1"]}) is None
