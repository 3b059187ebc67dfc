"""Publishes a control message and shows what becomes of it, step by step."""

import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Self

import typer

from turnout.errors import TurnoutError

if TYPE_CHECKING:
    from rich.console import Console

    from turnout.client import Client, Event, Outcome, Row
    from turnout.config import PublicNames


def follow(client: "Client", names: "PublicNames", publish: Callable[[float], "Outcome"], timeout: float) -> None:
    """Show each step of what `publish` sends, and its outcome; the exit code is 1 unless it is in force.

    `publish` is told how many seconds it may take.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    with _Steps(client, names.logs, console):
        outcome = _outcome(publish, timeout)
    if outcome.in_force:
        status = client.status()
        shown = f"{' + '.join(status.topics.values())} ({status.join}), generation {status.generation}"
        console.print(Text.assemble(("✓ ", "green"), f"{outcome.text}: {shown}"))
    else:
        console.print(Text.assemble(("✗ ", "red"), outcome.text), soft_wrap=True)
        raise typer.Exit(1)


def _outcome(publish: Callable[[float], "Outcome"], timeout: float) -> "Outcome":
    """Also of a message that is rejected: here that is shown as an outcome among others."""
    from turnout.client import SwitchRejected

    try:
        return publish(timeout)
    except SwitchRejected as error:
        if error.outcome is None:
            raise
        return error.outcome


class _Steps:
    """A context in which log lines are shown as they come."""

    def __init__(self, client: "Client", table: str, console: "Console") -> None:
        from turnout.commands.unseen import Unseen

        self._table, self._console = client.table(table), console
        self._unseen = Unseen()
        self._lock = threading.Lock()
        self._done = False
        self._changes = self._table.changes()
        self._thread = threading.Thread(target=self._follow, name="steps", daemon=True)

    def __enter__(self) -> Self:
        self._unseen.of(self._snapshot())
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Shows what was said until now and may still be on its way; then no more."""
        if error is None:
            self._show(self._snapshot())
        with self._lock:
            self._done = True
        self._changes.close()

    def _snapshot(self) -> "Event":
        with closing(self._table.changes()) as changes:
            return next(changes)

    def _follow(self) -> None:
        with suppress(TurnoutError):  # whoever waits for the outcome meets it too
            for event in self._changes:
                self._show(event)

    def _show(self, event: "Event") -> None:
        with self._lock:
            if not self._done:
                print_lines(self._console, self._unseen.of(event))


def print_lines(console: "Console", rows: Iterable["Row"]) -> None:
    """Rows of the log table, as lines."""
    from turnout.loglines import print_line

    for row in rows:
        print_line(console, datetime.fromisoformat(row["ts"]), row["level"], row["msg"])
    console.file.flush()
