"""One public table inside the Perspective server: its rows take one another's places there.

Perspective keeps a list of the rows that were removed, and looks through it for each one that is added: 100,000 rows
out and 100,000 in take it four seconds, and ten times as many a hundred times as long. So a row is not known to it by
its id, which ends with the row, but by the number of its place, which the next row is given.

It also keeps every text that it was ever given, until the table is cleared: 240 bytes for a short one. So it is not
told the ids of the users' rows, which all differ and which nobody asks Perspective for; and a table that has been given
many times its rows is filled anew: they may have ever new texts of their own.
"""

import io

import perspective
import polars as pl
import polars.selectors as cs

from turnout.tables.delta import ROW, Delta

PLACE = "_place"

FEWEST_WORN, TIMES_WORN = 250_000, 5
"""Rows that are brought in until a table is worn; as many times its rows, if that is more. Filling it anew takes up to
a second for 100,000, in which viewers wait for answers. Until then it keeps 60 MB for a column of ever new texts."""


class PerspectiveTable:
    def __init__(self, client: perspective.Client, name: str, empty: pl.DataFrame, *, with_ids: bool) -> None:
        """`with_ids`: shall viewers see the ids of its rows?"""
        self._with_ids = with_ids
        # From Arrow: a column declared as integer would have 32 bits and wrap.
        self._table = client.table(self._placed(empty, []), index=PLACE, name=name)
        self.name = name
        self._places: dict[str, int] = {}
        self._unused: list[int] = []
        self._came = 0

    def change(self, delta: Delta) -> None:
        """Shown by the server's next poll."""
        vacated = [place for row in delta.removes if (place := self._places.pop(row, None)) is not None]
        if not delta.upserts.is_empty():
            places = [self._place(row, vacated) for row in delta.upserts.get_column(ROW)]
            self._table.update(self._placed(delta.upserts, places))
            self._came += len(places)
        if vacated:
            self._table.remove(_arrow(pl.DataFrame({PLACE: vacated})))
            self._unused += vacated

    @property
    def worn(self) -> bool:
        """Has it been given so many rows that it should be filled anew?"""
        return self._came > max(FEWEST_WORN, TIMES_WORN * len(self._places))

    def refill(self, rows: pl.DataFrame) -> None:
        """All rows anew, in the places that they have. Empty until the server's next poll, for whoever asks."""
        ids = rows.get_column(ROW).to_list()
        for row in self._places.keys() - set(ids):
            self._unused.append(self._places.pop(row))
        places = [self._place(row, []) for row in ids]
        self._table.clear()
        self._table.update(self._placed(rows, places))
        self._came = 0

    def tidy(self) -> None:
        """After the server's poll: once all rows have gone, Perspective has no need of its list, nor of texts."""
        if self._unused and not self._places:
            self._table.clear()
            self._unused.clear()
            self._came = 0

    def _place(self, row: str, vacated: list[int]) -> int:
        place = self._places.get(row)
        if place is None:
            free = vacated or self._unused
            place = self._places[row] = free.pop() if free else len(self._places)
        return place

    def _placed(self, rows: pl.DataFrame, places: list[int]) -> bytes:
        shown = rows if self._with_ids else rows.drop(ROW)
        return _arrow(shown.with_columns(pl.Series(PLACE, places, dtype=pl.Int64)))


def _arrow(rows: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    # Perspective would end a text where a NUL is: it gets the sign for one.
    # This makes a frame of its own, too, and it has to: Polars locks the one it writes, and then waits for Python's
    # lock to write to a Python stream. Whoever holds Python's lock and reads the same frame would wait for ever.
    shown = rows.with_columns(cs.string().str.replace_all("\0", "␀", literal=True))
    shown.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()
