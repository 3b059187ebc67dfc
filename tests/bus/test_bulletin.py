import hypothesis.strategies as st
import pytest
from hypothesis import given

from turnout.bus.bulletin import Begin, Entry, Row, Showing, Undo, read, written
from turnout.kafka.client import Record
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics

DESIRED = Desired(Topics("users", "accounts"), JoinType.FULL)
SHOWING = Showing(7, DESIRED, "0123456789ab", "team-", {"users": {"0": 2**53 + 1}, "accounts": {}}, "fingerprint")


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record("turnout-bulletin", 0, 0, 0, key, value)


@pytest.mark.parametrize(
    "entry",
    [
        Begin("host, process 1"),
        SHOWING,
        Undo(DESIRED),
        Undo(None),
        Row("control_raw", "0:12", {"value": '{"a/b": "ü"}', "offset": 2**53 + 1, "outcome": None}),
        Row("orchestrator_logs", "000000000001", None),
    ],
)
def test_an_entry_is_read_as_it_was_written(entry: Entry) -> None:
    term = 0 if isinstance(entry, Row) and entry.values is None else 12
    assert read(record(*written(entry, 12))) == (term, entry)


def test_a_generation_says_where_its_rows_are() -> None:
    assert SHOWING.changelog_topic == "team-0123456789ab-changelog"
    assert SHOWING.rejected_topic == "team-0123456789ab-rejected"


def test_what_a_newer_turnout_may_tell_is_passed_over() -> None:
    assert read(record(b"weather", b'1 {"rain": true}')) is None


@given(
    key=st.none() | st.binary() | st.sampled_from([b"begin", b"showing", b"undo", b"row/", b"row/logs/1"]),
    value=st.none() | st.binary() | st.sampled_from([b"1 {}", b"1 []", b"1 null", b'1 {"generation": 1}']),
)
def test_rubbish_is_passed_over(key: bytes | None, value: bytes | None) -> None:
    told = read(record(key, value))
    assert told is None or isinstance(told[1], Row | Undo)
