"""The messages that are sent: all are numbered, and each carries the time at which it was sent.

Even numbers go to the left topic, odd ones to the right, and either side takes all keys in turn. The sides are half a
round apart, so that a message meets rows of its key that have been there for a while: a left one is shown with the
right row that came before it, a right one changes the left rows that are there.

The time is in microseconds since 1970, in a column of the row, and no two messages have the same: it is also the
message's name. A double holds it exactly.
"""

from dataclasses import dataclass

import polars as pl

LEFT_TOPIC, RIGHT_TOPIC, CONTROL_TOPIC = "users", "accounts", "control"
"""As in the built-in configuration, which is the one that is measured."""

LEFT_TABLE, RIGHT_TABLE = "users", "accounts"

LEFT_STAMP, RIGHT_STAMP = "age", "balance"
"""The columns with the times of the left and of the right message."""


def message(right: bool, key: int, stamp: int) -> bytes:
    if right:
        return b'{"userId":"u%06d","accountType":"standard","balance":%d}' % (key, stamp)
    return b'{"userId":"u%06d","name":"Name %06d","email":"u%06d@example.com","age":%d}' % (key, key, key, stamp)


@dataclass(frozen=True)
class Plan:
    """Which message has which side and key."""

    keys: int

    @property
    def round(self) -> int:
        """Messages until each key has had one on either side."""
        return 2 * self.keys

    def value(self, number: int, stamp_us: int) -> bytes:
        key, right = number // 2, bool(number % 2)
        return message(right, (key + right * (self.keys // 2)) % self.keys, stamp_us)

    def sent(self, first_number: int, stamps: pl.Series) -> pl.DataFrame:
        """Messages from `first_number` on, with these times: stamp, right (or left), key."""
        pair = pl.col("number") // 2
        numbers = pl.int_range(first_number, first_number + stamps.len(), eager=True)
        return (
            pl.DataFrame({"stamp": stamps, "number": numbers})
            .with_columns(right=pl.col("number") % 2 == 1)
            .select("stamp", "right", key=(pair + pl.when("right").then(self.keys // 2).otherwise(0)) % self.keys)
        )
