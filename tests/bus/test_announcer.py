"""What the announcer does about trouble. That it tells everything is tested on a real bus (tests/live)."""

from collections.abc import Iterator

import pytest

from tests.bus.fakes import FakeBus
from tests.waiting import until
from turnout.bus import announcer as announcing
from turnout.bus.announcer import Announcer
from turnout.bus.bulletin import LARGEST_BYTES, Begin, Entry, Row, read
from turnout.bus.topics import BusTopics

TOPICS = BusTopics("told-")
LAST = Row("logs", "last", {"msg": "the last line"})


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def announcer(bus: FakeBus, monkeypatch: pytest.MonkeyPatch) -> Iterator[Announcer]:
    monkeypatch.setattr(announcing, "RETRY_SECONDS", 0.02)
    announcer = Announcer(bus.cluster, TOPICS, "the leader", 1)
    announcer.start()
    yield announcer
    announcer.stop()


def told(bus: FakeBus) -> list[Entry]:
    return [found[1] for record in bus.records(TOPICS.bulletin) if (found := read(record)) is not None]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_a_control_message_that_is_too_large_is_told_with_its_value_cut(
    bus: FakeBus, announcer: Announcer, caplog: pytest.LogCaptureFixture
) -> None:
    value = "ü" * LARGEST_BYTES
    announcer.tell(Row("control_raw", "0:7", {"offset": 7, "value": value, "outcome": None}))
    until(lambda: len(told(bus)) == 2, "it is told")
    announcer.tell(Row("control_raw", "0:7", {"offset": 7, "value": value, "outcome": "applied"}), LAST)
    until(lambda: LAST in told(bus), "what comes after it is told")
    cut = {"offset": 7, "value": value[:512]}
    rows = [Row("control_raw", "0:7", {**cut, "outcome": outcome}) for outcome in (None, "applied")]
    assert told(bus) == [Begin("the leader"), *rows, LAST]
    [warning] = warnings(caplog)
    assert "Row 0:7 of control_raw" in warning


def test_what_is_too_large_and_cannot_be_cut_is_left_out(
    bus: FakeBus, announcer: Announcer, caplog: pytest.LogCaptureFixture
) -> None:
    announcer.tell(
        Row("control_raw", "0:8", {str(number): "x" * 1024 for number in range(LARGEST_BYTES // 1024)}), LAST
    )
    until(lambda: LAST in told(bus), "what comes after it is told")
    assert told(bus) == [Begin("the leader"), LAST]
    [warning] = warnings(caplog)
    assert "Row 0:8 of control_raw" in warning


def test_what_cannot_be_written_keeps_nothing_else_from_being_told(
    bus: FakeBus, announcer: Announcer, caplog: pytest.LogCaptureFixture
) -> None:
    announcer.tell(Row("logs", "1", {"msg": object()}), LAST)
    until(lambda: LAST in told(bus), "what comes after it is told")
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_an_unexpected_failure_is_logged_and_followed_by_another_try(
    bus: FakeBus, announcer: Announcer, caplog: pytest.LogCaptureFixture
) -> None:
    until(lambda: told(bus), "it begins")
    bus.failure = ZeroDivisionError("a defect")
    announcer.tell(LAST)
    until(lambda: caplog.records, "it is logged")
    assert caplog.records[0].exc_info is not None
    bus.failure = None
    until(lambda: told(bus) == [Begin("the leader"), LAST], "it is told after all")
