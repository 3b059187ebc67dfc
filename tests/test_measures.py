from math import inf

from turnout.measures import Histogram


def test_a_value_counts_in_its_bucket_and_in_all_above() -> None:
    values = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 7.0):
        values.note(value)
    assert values.read() == ([(1.0, 2), (2.0, 3), (inf, 4)], 10.0)


def test_without_values_all_buckets_are_there() -> None:
    assert Histogram((1.0,)).read() == ([(1.0, 0), (inf, 0)], 0.0)
