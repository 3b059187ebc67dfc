from turnout.changelog.freshness import Freshness, FreshnessMeter
from turnout.changelog.records import Records
from turnout.schema import ColumnType, JoinSchema, TableSchema

SCHEMA = JoinSchema(
    TableSchema("left", {"k": ColumnType.STRING}, 10), TableSchema("right", {"k": ColumnType.STRING}, 10), "k"
)


def record(left: list[int], right: list[int]) -> Records:
    """One key whose rows have these timestamps, newest first."""
    rows = [",".join(f'{{"v":{{"k":"a"}},"t":{time},"o":1,"p":0}}' for time in side) for side in (left, right)]
    return Records([f'{{"k":"a","l":[{rows[0]}],"r":[{rows[1]}],"ln":1,"rn":1}}'.encode()], SCHEMA)


def test_nothing_is_known_before_the_first_change() -> None:
    assert FreshnessMeter().read() is None


def test_the_newest_row_of_either_side_counts() -> None:
    meter = FreshnessMeter(lambda: 10.0)
    meter.note(record([7_000, 1_000], []), shown=True)
    assert meter.read() == Freshness(7_000, 3_000)
    meter.note(record([7_000], [9_990, 2_000]), shown=True)
    assert meter.read() == Freshness(9_990, 10)


def test_what_is_caught_up_with_says_nothing_about_latency() -> None:
    meter = FreshnessMeter(lambda: 10.0)
    meter.note(record([7_000], []), shown=False)
    assert meter.read() == Freshness(7_000, None)
    meter.note(record([9_900], []), shown=True)
    meter.read()
    meter.note(record([9_950], []), shown=False)
    assert meter.read() == Freshness(9_950, 100)


def test_a_late_row_is_not_the_newest_but_its_latency_is_measured() -> None:
    meter = FreshnessMeter(lambda: 10.0)
    meter.note(record([9_000], []), shown=True)
    meter.read()
    meter.note(record([4_000], []), shown=True)
    assert meter.read() == Freshness(9_000, 6_000)


def test_a_clock_that_is_ahead_gives_no_negative_latency() -> None:
    meter = FreshnessMeter(lambda: 10.0)
    meter.note(record([11_000], []), shown=True)
    assert meter.read() == Freshness(11_000, 0)


def test_asking_twice_gives_the_same() -> None:
    meter = FreshnessMeter(lambda: 10.0)
    meter.note(record([7_000], []), shown=True)
    assert meter.read() == meter.read() == Freshness(7_000, 3_000)
