"""A table that is held up to date in the background."""

import threading
from typing import Self

from turnout.client.changes import Changes
from turnout.client.errors import TurnoutError
from turnout.client.events import Row
from turnout.client.held import Held


class Live:
    """The rows of a table, always the newest that are known: a context.

    with client.table("final_ui").live() as live:
        while live.changed():
            print(len(live), "rows of generation", live.generation)
    """

    def __init__(self, changes: Changes) -> None:
        self._changes, self._held = changes, Held()
        self._news = threading.Condition()
        self._events = self._seen = 0
        self._failure: TurnoutError | None = None
        self._thread = threading.Thread(target=self._follow, name="live table", daemon=True)

    def __enter__(self) -> Self:
        """Returns when the rows are there; raises if they cannot be had."""
        self._thread.start()
        with self._news:
            self._news.wait_for(lambda: self._events or not self._following)
            self._raise_failure()
            self._seen = self._events
        return self

    def __exit__(self, *_: object) -> None:
        self._changes.close()
        self._thread.join()

    @property
    def rows(self) -> list[Row]:
        """All rows, those that changed last at the end."""
        with self._news:
            return self._held.rows

    @property
    def by_id(self) -> dict[str, Row]:
        with self._news:
            return self._held.by_id

    @property
    def generation(self) -> int:
        return self._held.generation

    @property
    def problem(self) -> TurnoutError | None:
        """Why the rows are not kept up to date now; None: they are."""
        return self._failure or self._changes.problem

    @property
    def starting(self) -> bool:
        """The server was restarted and shows nothing yet: the rows are from before."""
        return self._changes.starting

    def changed(self, wait_seconds: float | None = None) -> bool:
        """Wait until something has changed since the last call; False if nothing has in time."""
        with self._news:
            self._news.wait_for(lambda: self._events > self._seen or not self._following, wait_seconds)
            news, self._seen = self._events > self._seen, self._events
            if not news:
                self._raise_failure()
            return news

    def __len__(self) -> int:
        return len(self._held)

    @property
    def _following(self) -> bool:
        return self._thread.is_alive() and self._failure is None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _follow(self) -> None:
        try:
            for event in self._changes:
                with self._news:
                    self._held.take(event)
                    self._events += 1
                    self._news.notify_all()
        except TurnoutError as error:
            self._failure = error
        finally:
            with self._news:
                self._news.notify_all()
