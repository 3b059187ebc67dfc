"""Which log lines have not been shown yet."""

from turnout.client import Change, Event, Row


class Unseen:
    """A snapshot repeats what has been shown, and a server that has been restarted counts its lines anew."""

    def __init__(self) -> None:
        self._seen: dict[str, Row] = {}

    def of(self, event: Event) -> list[Row]:
        """The lines of this event that none before had."""
        rows = event.upserts if isinstance(event, Change) else event.rows
        unseen = [row for id_, row in rows.items() if self._seen.get(id_) != row]
        if isinstance(event, Change):
            for id_ in event.removes:
                self._seen.pop(id_, None)
            self._seen.update(rows)
        else:
            self._seen = dict(rows)
        return unseen
