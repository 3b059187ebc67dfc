"""`turnout status`, `tail` and `logs`: what the tables say, in a terminal."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from turnout.commands.options import ConfigFile, Url, client_of
from turnout.loglines import print_line
from turnout.sse import ServerEvent

FRAMES_PER_SECOND = 8
"""Of a live table: more than this, and a person sees no difference."""

UNLIMITED = 1_000_000

Row = dict[str, Any]


def status(
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="As JSON, for programs.")] = False,
    config: ConfigFile = None,
    url: Url = None,
) -> None:
    """Show what is live: topics, type of join, state, lag.

    The lag of a topic is how many of its messages are not in the tables yet.

    - `turnout status`
    - `turnout status --json`
    """
    answer = client_of(url, config).status()
    console = _console()
    if as_json:
        console.print(Text(json.dumps(answer, indent=2, ensure_ascii=False)), soft_wrap=True)
        return
    lag, uptime = answer.pop("lag"), timedelta(seconds=round(answer.pop("uptimeSeconds")))
    answer["lag"] = ", ".join(f"{topic}: {'unknown' if n is None else n}" for topic, n in lag.items()) or None
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in {**answer, "uptime": uptime}.items():
        table.add_row(name, _cell(value))
    console.print(table)


def tail(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name, such as final_ui.")],
    rows: Annotated[int, typer.Option("-n", "--rows", metavar="COUNT", min=1, help="How many rows to show.")] = 20,
    once: Annotated[bool, typer.Option("--once", metavar="", help="Show them once and end.")] = False,
    config: ConfigFile = None,
    url: Url = None,
) -> None:
    """Show the rows of a table that changed last, the newest at the end.

    In a terminal they follow the table until Ctrl-C; elsewhere, or with `--once`, they are printed once.

    - `turnout tail final_ui`
    - `turnout tail rejected_ui --once -n 5`
    """
    client, console = client_of(url, config), _console()
    if once or not console.is_terminal:
        found = client.rows(table)
        console.print(_grid(table, _last(rows, found), len(found)))
        return
    held = _Held(table, rows)
    with Live(get_renderable=held.grid, console=console, refresh_per_second=FRAMES_PER_SECOND), _until_interrupted():
        for event in client.changes(table):
            held.take(event)


def logs(
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="COUNT", min=0, help="How many lines to begin with.")
    ] = 50,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", metavar="", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    config: ConfigFile = None,
    url: Url = None,
) -> None:
    """Show the log: each step of each switch, and what went wrong.

    - `turnout logs`
    - `turnout logs -f`
    """
    client, console = client_of(url, config), _console()
    with _until_interrupted():
        for event in client.changes(_logs_table()):
            rows = event.data["upserts"] if event.kind == "change" else _last(lines, event.data["rows"])
            for row in rows:
                print_line(console, datetime.fromisoformat(row["ts"]), row["level"], row["msg"])
            console.file.flush()
            if not follow:
                return


class _Held:
    """The rows of a table, kept up to date by its events."""

    def __init__(self, name: str, shown: int) -> None:
        self._name, self._shown = name, shown
        self._rows: dict[str, Row] = {}
        self._lock = threading.Lock()

    def take(self, event: ServerEvent) -> None:
        with self._lock:
            if event.kind != "change":
                self._rows.clear()
            for row in event.data.get("removes", ()):
                self._rows.pop(row, None)
            for row in event.data["upserts" if event.kind == "change" else "rows"]:
                id_ = row.pop("_row")
                self._rows.pop(id_, None)  # so that it comes last
                self._rows[id_] = row

    def grid(self) -> RenderableType:
        with self._lock:
            newest = list(islice(reversed(self._rows.values()), self._shown))
            return _grid(self._name, newest[::-1], len(self._rows))


def _grid(name: str, rows: Sequence[Row], count: int) -> RenderableType:
    """One line for each row, cut at the terminal's edge."""
    below = Text(f"{name}: {count} row{'' if count == 1 else 's'}", "dim")
    if not rows:
        return below
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in rows[0]:
        numeric = all(isinstance(row[column], int | float | None) for row in rows)
        table.add_column(Text(column), no_wrap=True, overflow="ellipsis", justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return Group(table, below)


def _last(count: int, rows: Sequence[Row]) -> Sequence[Row]:
    return rows[max(0, len(rows) - count) :]


def _cell(value: object) -> Text:
    return Text("null", "dim") if value is None else Text(value if isinstance(value, str) else str(value))


def _console() -> Console:
    console = Console(highlight=False)
    # A file or a pipe is as wide as it needs to be: nothing is cut.
    return console if console.is_terminal else Console(highlight=False, width=UNLIMITED)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C is how one ends what has no end of its own."""
    with suppress(KeyboardInterrupt):
        yield


def _logs_table() -> str:
    from turnout.config import PublicNames

    return PublicNames.logs
