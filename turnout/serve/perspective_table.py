"""One public table inside the Perspective server: its rows take one another's places there.

Perspective keeps a list of the rows that were removed, and looks through it for each one that is added: 100,000 rows
out and 100,000 in take it four seconds, and ten times as many a hundred times as long. So a row is not known to it by
its id, which ends with the row, but by the number of its place, which the next row is given.
"""

import io

import perspective
import polars as pl
import polars.selectors as cs

from turnout.tables.delta import ROW, Delta

PLACE = "_place"


class PerspectiveTable:
    def __init__(self, client: perspective.Client, name: str, empty: pl.DataFrame) -> None:
        # From Arrow: a column declared as integer would have 32 bits and wrap.
        self._table = client.table(_arrow(_placed(empty, [])), index=PLACE, name=name)
        self._places: dict[str, int] = {}
        self._unused: list[int] = []

    def change(self, delta: Delta) -> None:
        """Shown by the server's next poll."""
        vacated = [place for row in delta.removes if (place := self._places.pop(row, None)) is not None]
        if not delta.upserts.is_empty():
            places = [self._place(row, vacated) for row in delta.upserts.get_column(ROW)]
            self._table.update(_arrow(_placed(delta.upserts, places)))
        if vacated:
            self._table.remove(_arrow(pl.DataFrame({PLACE: vacated})))
            self._unused += vacated

    def tidy(self) -> None:
        """After the server's poll: once all rows have gone, Perspective has no need of its list."""
        if self._unused and not self._places:
            self._table.clear()
            self._unused.clear()

    def _place(self, row: str, vacated: list[int]) -> int:
        place = self._places.get(row)
        if place is None:
            free = vacated or self._unused
            place = self._places[row] = free.pop() if free else len(self._places)
        return place


def _placed(rows: pl.DataFrame, places: list[int]) -> pl.DataFrame:
    return rows.with_columns(pl.Series(PLACE, places, dtype=pl.Int64))


def _arrow(rows: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    # Perspective would end a text where a NUL is: it gets the sign for one.
    # This makes a frame of its own, too, and it has to: Polars locks the one it writes, and then waits for Python's
    # lock to write to a Python stream. Whoever holds Python's lock and reads the same frame would wait for ever.
    shown = rows.with_columns(cs.string().str.replace_all("\0", "␀", literal=True))
    shown.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()
