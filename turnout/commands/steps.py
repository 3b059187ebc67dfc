"""Publishes a control message and shows what becomes of it, step by step."""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.text import Text

from turnout.errors import TurnoutError
from turnout.loglines import print_line

if TYPE_CHECKING:
    from turnout.client import Client, ControlAnswer
    from turnout.config import PublicNames

IN_FORCE = ("applied", "no change")
"""Outcomes after which what was asked for is what is shown."""

POLL_SECONDS = 0.5


def follow(client: "Client", names: "PublicNames", publish: Callable[[float], "ControlAnswer"], timeout: float) -> None:
    """Show each step of what `publish` sends, and its outcome; the exit code is 1 unless it is in force.

    `publish` is told how many seconds it may take.
    """
    console, deadline = Console(highlight=False), time.monotonic() + timeout
    with _Steps(client, names.logs, console):
        answer = publish(timeout)
        outcome = answer.outcome or _await_outcome(client, names.control, answer.id, deadline)
    if outcome in IN_FORCE:
        status = client.status()
        left, right, join, *_ = status.values()  # what they are called is up to the server's configuration
        shown = f"{left} + {right} ({join}), generation {status['generation']}"
        console.print(Text.assemble(("✓ ", "green"), f"{outcome}: {shown}"))
    else:
        console.print(Text.assemble(("✗ ", "red"), outcome), soft_wrap=True)
        raise typer.Exit(1)


def _await_outcome(client: "Client", table: str, id_: str, deadline: float) -> str:
    while time.monotonic() < deadline:
        for row in client.rows(table):
            if f"{row['partition']}:{row['offset']}" == id_ and row["outcome"] is not None:
                return str(row["outcome"])
        time.sleep(POLL_SECONDS)
    raise TurnoutError(
        f"Control message {id_} has no outcome yet. It is published and will be dealt with: "
        f"see `turnout tail {table}` and `turnout logs`."
    )


class _Steps:
    """A context in which log lines are shown as they come."""

    def __init__(self, client: "Client", table: str, console: Console) -> None:
        self._client, self._table, self._console = client, table, console
        self._known: set[str] = set()
        self._lock = threading.Lock()
        self._done = False
        self._thread = threading.Thread(target=self._follow, name="steps", daemon=True)

    def __enter__(self) -> Self:
        self._known.update(row["_row"] for row in self._snapshot())
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Shows what was said until now and may still be on its way; then no more."""
        if error is None:
            self._show(self._snapshot())
        with self._lock:
            self._done = True

    def _snapshot(self) -> list[dict[str, Any]]:
        return list(next(self._client.changes(self._table)).data["rows"])

    def _follow(self) -> None:
        try:
            for event in self._client.changes(self._table):
                self._show(event.data["upserts" if event.kind == "change" else "rows"])
        except TurnoutError:
            return  # whoever waits for the outcome meets it too

    def _show(self, rows: list[dict[str, Any]]) -> None:
        with self._lock:
            for row in rows:
                if row["_row"] not in self._known and not self._done:
                    self._known.add(row["_row"])
                    print_line(self._console, datetime.fromisoformat(row["ts"]), row["level"], row["msg"])
