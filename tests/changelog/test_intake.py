from collections.abc import Sequence
from math import inf

import pytest

from turnout.changelog import records as records_module
from turnout.changelog.intake import Intake
from turnout.changelog.records import Records
from turnout.schema import ColumnType, JoinSchema, TableSchema

SCHEMA = JoinSchema(
    TableSchema("left", {"k": ColumnType.STRING}, 10), TableSchema("right", {"k": ColumnType.STRING}, 10), "k"
)


def records(*times: tuple[int | None, int | None]) -> Records:
    """A key each, with the time of its left and of its right row."""

    def rows(time: int | None) -> str:
        return "[]" if time is None else f'[{{"v":{{"k":"a"}},"t":{time},"o":1,"p":0}}]'

    texts = [f'{{"k":"{key}","l":{rows(left)},"r":{rows(right)}}}' for key, (left, right) in enumerate(times)]
    return Records([text.encode() for text in texts], SCHEMA)


def counted(intake: Intake) -> Sequence[float]:
    """The bucket of each value."""
    buckets, before, found = intake.latency.read().buckets, 0, list[float]()
    for bound, count in buckets:
        found += [bound] * (count - before)
        before = count
    return found


@pytest.mark.parametrize("few", [0, 100], ids=["as columns", "one by one"])
def test_one_row_of_each_batch_tells_how_long_rows_take(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "FEW", few)
    intake = Intake(lambda: 10.0)
    intake.note(2, records((9_000, 9_800), (1_000, None)), shown=True)
    intake.note(1, records((None, 9_960)), shown=True)
    assert counted(intake) == [0.05, 0.25]
    assert intake.latency.read().total == pytest.approx(0.24)


def test_what_is_not_shown_says_nothing_about_haste() -> None:
    intake = Intake(lambda: 10.0)
    intake.note(1, records((9_000, None)), shown=False)
    intake.note(1, None, shown=True)
    intake.note(1, records((None, None)), shown=True)
    assert counted(intake) == []


def test_a_clock_that_is_ahead_gives_no_negative_latency() -> None:
    intake = Intake(lambda: 10.0)
    intake.note(1, records((11_000, None)), shown=True)
    assert intake.latency.read().total == 0


def test_a_row_of_long_ago_counts_too() -> None:
    intake = Intake(lambda: 1000.0)
    intake.note(1, records((0, None)), shown=True)
    assert counted(intake) == [inf]


def test_what_was_no_news_is_dropped() -> None:
    intake = Intake()
    intake.note(5, records((1, 1), (1, 1)), shown=False)
    intake.note(3, None, shown=False)
    assert (intake.taken, intake.dropped) == (2, 6)
