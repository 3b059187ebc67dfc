"""Sees the rows of a public live table as they are put into it."""

from bench.messages import LEFT_STAMP, RIGHT_STAMP
from bench.seen import Sightings
from turnout.tables.registry import Changed, Event


class Recorder(Sightings):
    """A listener of the registry, which calls it under its lock."""

    def note_event(self, event: Event) -> None:
        changed = isinstance(event, Changed)
        rows = event.delta.upserts if isinstance(event, Changed) else event.rows
        self.note(rows.get_column(LEFT_STAMP), rows.get_column(RIGHT_STAMP), whole_table=not changed)
