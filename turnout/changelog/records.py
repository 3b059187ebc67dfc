"""Some records of a changelog, read as columns or one by one, whichever is cheaper for so many.

Columns are what many records take. But each step on columns costs Polars 0.1 to 0.3 ms, and more on a busy machine,
however few the rows: at a low rate records come one at a time, and the steps would be most of a row's way.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import orjson
import polars as pl

from turnout.changelog.record import decode, foreign
from turnout.schema import JoinSchema

FEW = 200
"""Up to so many records with a row on either side, plain Python is faster."""

FEW_BYTES = 80_000
"""As large as so many are; of records with many rows, fewer."""

Row = dict[str, Any]
"""`v`, `t`, `o`, `p`: see record.py. Columns that are null are not in `v`."""


class Plain(NamedTuple):
    """One record, read by itself."""

    key: object
    left: Sequence[Row]
    right: Sequence[Row]
    left_seen: int
    right_seen: int


Version = tuple[int, int]
"""Of a record: the rows ever seen of the left and of the right side."""


class Records:
    """No two of the same key."""

    def __init__(self, values: Sequence[bytes], schema: JoinSchema) -> None:
        self._values, self._schema = values, schema

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def few(self) -> bool:
        """Are they to be read one by one?"""
        return len(self._values) <= FEW and sum(map(len, self._values)) <= FEW_BYTES

    @cached_property
    def frame(self) -> pl.DataFrame:
        """As columns k, l, r, ln, rn."""
        return decode(self._values, self._schema)

    @cached_property
    def plain(self) -> list[Plain]:
        """One by one."""
        try:
            return [_plain(orjson.loads(value)) for value in self._values]
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            raise foreign(len(self._values)) from None

    @property
    def has_null_key(self) -> bool:
        return None in self.keys if self.few else bool(self.frame.get_column("k").null_count())

    @property
    def keys(self) -> Sequence[object]:
        return [record.key for record in self.plain] if self.few else self.frame.get_column("k").to_list()

    @cached_property
    def versions(self) -> list[Version]:
        if self.few:
            return [(record.left_seen, record.right_seen) for record in self.plain]
        return list(zip(self.frame.get_column("ln").to_list(), self.frame.get_column("rn").to_list(), strict=True))

    def sample_ms(self) -> int | None:
        """The time in Kafka of one row: the newest of the first record, which has waited longest. It costs next to
        nothing, however many records there are."""
        if self.few:
            sides: Sequence[Any] = (self.plain[0].left, self.plain[0].right)
        else:
            sides = [self.frame.get_column(side)[0] for side in ("l", "r")]
        newest = [rows[0].get("t") for rows in sides if len(rows)]
        return max((timestamp for timestamp in newest if timestamp is not None), default=None)

    # What these two leave as it is has been read already, and is not read again.

    def where(self, chosen: Iterable[bool]) -> "Records":
        values = list(compress(self._values, chosen))
        return self if len(values) == len(self) else Records(values, self._schema)

    def __add__(self, others: "Records") -> "Records":
        if not self or not others:
            return self or others
        return Records([*self._values, *others._values], self._schema)


def _plain(record: dict[str, Any]) -> Plain:
    field = record.get
    left, right = field("l") or (), field("r") or ()
    left_seen, right_seen = field("ln") or 0, field("rn") or 0
    if not (isinstance(left, list | tuple) and isinstance(right, list | tuple)):
        raise TypeError
    if not (isinstance(left_seen, int) and isinstance(right_seen, int)):
        raise TypeError
    return Plain(field("k"), left, right, left_seen, right_seen)
