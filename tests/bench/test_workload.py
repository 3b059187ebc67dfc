"""The oracle of the benchmarks against loops that anyone can follow."""

from collections import defaultdict

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from bench.peers.peer import CHECK_MODULUS, EVERY_PAIR, LATEST, Check, Join
from bench.workload import Workload, oracle

KEYS = 4
"""Few, so that most histories have keys with many rows, with rows on one side only, and with none."""

Message = tuple[bool, int]
"""Whether it is of the right side; its key."""

messages = st.lists(st.tuples(st.booleans(), st.integers(0, KEYS - 1)), max_size=40)
joins = st.builds(Join, keep=st.none() | st.integers(1, 5), inner=st.booleans())


@given(messages, joins)
def test_the_oracle_is_what_a_plain_loop_gives(history: list[Message], join: Join) -> None:
    assert oracle(_frame(history), join) == _by_loops(history, join)


@given(messages.filter(bool), joins)
def test_the_check_tells_that_the_last_message_is_missing(history: list[Message], join: Join) -> None:
    """Wherever it shows at all: a right one needs a left row, and in an inner join also a left one needs a match."""
    right, key = history[-1]
    shows = (not right and not join.inner) or (not right, key) in history
    all_of_them = _frame(history)
    assert (oracle(all_of_them.head(-1), join) != oracle(all_of_them, join)) == shows


@given(messages.filter(bool), joins, st.data())
def test_only_the_order_within_a_key_and_a_side_matters(
    history: list[Message], join: Join, data: st.DataObject
) -> None:
    """Topics and partitions are read in any order."""
    order = data.draw(st.permutations(sorted(set(history))))
    by_topic_and_key = pl.concat([_frame(history).filter(right=right, key=key) for right, key in order])
    assert oracle(by_topic_and_key, join) == oracle(_frame(history), join)


def test_a_row_with_another_keys_match_shows_in_the_check() -> None:
    straight = _frame([(False, 0), (False, 1), (True, 0), (True, 1)])
    crossed = _frame([(False, 0), (False, 1), (True, 1), (True, 0)])
    for join in (LATEST, EVERY_PAIR):
        assert oracle(straight, join)["rows"] == oracle(crossed, join)["rows"] == 2
        assert oracle(straight, join)["checksum"] != oracle(crossed, join)["checksum"]


def test_hot_keys_have_half_of_the_messages() -> None:
    even, hot = (Workload(messages=20_000, keys=1_000, hot=hot)._made_up() for hot in (False, True))
    for frame in (even, hot):
        assert frame["number"].to_list() == list(range(1, 20_001))
        assert frame["right"].sum() == 10_000
        assert frame["key"].n_unique() > 990
    assert _share_of_first_keys(even, 10) < 0.02
    assert 0.48 < _share_of_first_keys(hot, 10) < 0.53


def _share_of_first_keys(frame: pl.DataFrame, count: int) -> float:
    return frame.filter(pl.col("key") < count).height / frame.height


def _frame(history: list[Message]) -> pl.DataFrame:
    rows = [(number, right, key) for number, (right, key) in enumerate(history, 1)]
    return pl.DataFrame(rows, {"number": pl.Int64, "right": pl.Boolean, "key": pl.Int64}, orient="row")


def _by_loops(history: list[Message], join: Join) -> Check:
    sides: dict[bool, dict[int, list[int]]] = {False: defaultdict(list), True: defaultdict(list)}
    for number, (right, key) in enumerate(history, 1):
        rows = sides[right][key]
        rows.append(number)
        if join.keep is not None and len(rows) > join.keep:
            del rows[0]
    pairs = []
    for key, left_rows in sides[False].items():
        right_rows = sides[True][key]
        matches = right_rows if join.inner else right_rows[-1:] or [0]
        pairs += [(left, right) for left in left_rows for right in matches]
    return Check(rows=len(pairs), checksum=sum(left + left * right % CHECK_MODULUS for left, right in pairs))
