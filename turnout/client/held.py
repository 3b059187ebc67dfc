"""The rows of a table, held by its events."""

from itertools import islice

from turnout.client.events import Change, Event, Row


class Held:
    """Begins empty, takes event after event, and so has what the table has. Not thread-safe."""

    def __init__(self) -> None:
        self.generation = 0
        self._rows: dict[str, Row] = {}

    def take(self, event: Event) -> None:
        self.generation = event.generation
        if not isinstance(event, Change):
            self._rows = dict(event.rows)
            return
        for id_ in event.removes:
            self._rows.pop(id_, None)
        for id_, row in event.upserts.items():
            self._rows.pop(id_, None)  # so that it comes last
            self._rows[id_] = row

    @property
    def rows(self) -> list[Row]:
        """All rows, those that changed last at the end."""
        return list(self._rows.values())

    @property
    def by_id(self) -> dict[str, Row]:
        return dict(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def newest(self, count: int) -> list[Row]:
        """The rows that changed last, the newest at the end."""
        return list(islice(reversed(self._rows.values()), count))[::-1]
