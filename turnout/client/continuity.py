"""No empty flash when a server restarts."""

from turnout.client.events import Change, Event, Snapshot


class Continuity:
    """The rule for restarts, between a stream and whoever holds its rows.

    A server that has just started shows nothing yet: its tables are empty, and their generation is 0. Whoever holds
    rows and hears of such a table keeps them until there is something to show instead: rows, or a generation above 0.
    So that snapshot is not passed on. A change that comes next is one of an empty table: it is passed on as the
    snapshot that it makes.
    """

    def __init__(self) -> None:
        self.withholding = False
        """What is held is from before a restart, and nothing has come to be shown instead."""
        self._rows_held = False

    def passed_on(self, event: Event) -> Event | None:
        """What to tell of this event; None: nothing, go on with what is held."""
        rows = event.upserts if isinstance(event, Change) else event.rows
        starting = event.generation == 0 and not rows
        if starting and self._rows_held and isinstance(event, Snapshot):
            self.withholding = True
        if self.withholding:
            if starting:
                return None
            self.withholding = False
            event = Snapshot(event.generation, rows) if isinstance(event, Change) else event
        # Removes may have left none: then it is no loss to keep none.
        self._rows_held = bool(rows) or (isinstance(event, Change) and self._rows_held)
        return event
