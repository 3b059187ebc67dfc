from collections.abc import Iterator

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given

from tests.bus.fakes import FakeBus
from tests.waiting import until
from turnout.changelog.intake import Intake
from turnout.changelog.reader import ChangelogReader, Rejected
from turnout.changelog.rejected import rejected_in
from turnout.config import load
from turnout.kafka.client import Record
from turnout.tables.public import PublicTables

CHANGELOG, REJECTED = "changelog", "rejected"
GOOD = {"ts": 1, "topic": "users", "partition": 2, "offset": 7, "reason": "not JSON", "value": "{"}
FOREIGN = [
    None,
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b'{"topic": "users"}',
    orjson.dumps({**GOOD, "offset": "7"}),
    orjson.dumps({**GOOD, "offset": 2**63}),
    orjson.dumps({**GOOD, "topic": None}),
    orjson.dumps({**GOOD, "value": {"not": "a text"}}),
]


class Reading:
    def __init__(self) -> None:
        self.bus, self.tables = FakeBus(), PublicTables(load(None, env={}))
        self.failures: list[Exception] = []
        self.bus.create_topics([CHANGELOG, REJECTED])
        self.reader = ChangelogReader(
            self.bus.cluster,
            CHANGELOG,
            REJECTED,
            {"l": "users", "r": "accounts"},
            load(None, env={}).join_schema(),
            self.rejected,
            self.failures.append,
            Intake(),
        )

    def rejected(self, records: list[Rejected]) -> None:
        self.tables.rejected(records)

    def rows(self) -> list[dict[str, object]]:
        return self.tables.registry.snapshot("rejected_ui").rows.to_dicts()


@pytest.fixture
def reading() -> Iterator[Reading]:
    reading = Reading()
    yield reading
    reading.reader.stop()


@pytest.mark.parametrize("value", FOREIGN)
def test_what_is_no_rejected_record_is_passed_over_with_one_warning(
    reading: Reading, value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    reading.bus.put(REJECTED, b"key", orjson.dumps({**GOOD, "offset": 6}))
    reading.bus.put(REJECTED, b"key", value)
    reading.bus.put(REJECTED, b"key", orjson.dumps(GOOD))
    reading.reader.start()
    until(lambda: reading.reader.progress.has_read(REJECTED, {0: 3}), "all is read")
    assert not reading.failures
    assert [row["offset"] for row in reading.rows()] == [6, 7]
    assert reading.reader.progress.seen() == {("users", 2): 7}
    [warning] = [record.getMessage() for record in caplog.records]
    assert "rejected/0 offset 1" in warning


def test_one_that_is_passed_over_last_is_read_too(reading: Reading) -> None:
    reading.bus.put(REJECTED, None, b"")
    reading.reader.start()
    until(lambda: reading.reader.progress.has_read(REJECTED, {0: 1}), "it is read")
    assert reading.reader.progress.seen() == {}
    assert not reading.failures


def test_what_somebody_adds_to_a_rejected_record_does_not_matter(reading: Reading) -> None:
    reading.bus.put(REJECTED, b"key", orjson.dumps({**GOOD, "more": [1]}), [("a", b"header")])
    reading.reader.start()
    until(reading.rows, "it is shown")
    assert [(row["offset"], row["value"]) for row in reading.rows()] == [(7, "{")]
    assert not reading.failures


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(), values, max_size=2),
    max_leaves=4,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*GOOD, "more"], json)) | json)
def test_whatever_is_taken_can_be_shown(told: object) -> None:
    try:
        value = orjson.dumps(told)
    except (orjson.JSONEncodeError, TypeError):
        return
    record = rejected_in(Record(REJECTED, 0, 0, 0, None, value))
    if record is not None:
        PublicTables(load(None, env={})).rejected([vars(record)])
