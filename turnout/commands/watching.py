"""What a live table and a live status look like: they stay on screen, whatever happens to the server."""

import threading
import time
from collections.abc import Callable, Mapping

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from turnout.client import Changes, Client, Status, Unavailable, Unreachable
from turnout.commands.grid import LINES_AROUND, cell, counted, grid, wide_console
from turnout.commands.tailing import Asked, Tail, tail_of

FRAMES_PER_SECOND = 8
"""Of what is live: more than this, and a person sees no difference."""

STATUS_SECONDS = 0.5
"""Between two looks at the status: a step of a switch that is shorter is in the log."""


def print_table(client: Client, asked: Asked, count: int) -> None:
    """Once. The server picks the rows out."""
    rows = client.table(asked.table).rows(filter=asked.filters, sort=asked.sort, columns=asked.columns)
    shown = rows[:count] if asked.sort else rows[max(0, len(rows) - count) :]
    wide_console().print(grid(shown, Text(f"{asked.table}: {_matching(len(rows), None, asked)}", "dim")))


def watch_table(client: Client, asked: Asked, count: int) -> None:
    console, held = Console(highlight=False), tail_of(client, asked)
    with client.table(asked.table).changes() as changes:
        held.take(next(changes))  # what cannot be had is refused before anything is drawn
        frame = _Frame(console, asked, count, held, changes)
        with Live(get_renderable=frame.draw, console=console, refresh_per_second=FRAMES_PER_SECOND):
            for event in changes:
                with frame.lock:
                    held.take(event)


class _Frame:
    """One picture of a live table; drawn by a thread of Rich's."""

    def __init__(self, console: Console, asked: Asked, count: int, held: Tail, changes: Changes) -> None:
        self.lock = threading.Lock()
        self._console, self._asked, self._count = console, asked, count
        self._held, self._changes = held, changes

    def draw(self) -> RenderableType:
        room = max(1, self._console.size.height - LINES_AROUND)
        with self.lock:
            shown = self._held.shown(min(self._count, room))
        matching = _matching(shown.matching, shown.total, self._asked)
        said = Text(f"{self._asked.table}: {matching} · generation {shown.generation} · ", "dim", no_wrap=True)
        said.append_text(_connection(self._changes.problem, self._changes.starting))
        said.overflow = "ellipsis"
        return grid(shown.rows, said)


def _matching(matching: int, total: int | None, asked: Asked) -> str:
    if not asked.filters:
        return counted(matching)
    return f"{matching} of {counted(total)}" if total is not None else f"{counted(matching)} that match"


def watch_status(client: Client, answer: Status, lines: Callable[[Status], Mapping[str, str]]) -> None:
    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        problem: Exception | None = None
        while True:
            live.update(_status(lines(answer), problem), refresh=True)
            time.sleep(STATUS_SECONDS)
            try:
                answer, problem = client.status(), None
            except (Unreachable, Unavailable) as error:
                problem = error


def _status(lines: Mapping[str, str], problem: Exception | None) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines.items():
        table.add_row(name, cell(value))
    return Group(table, _connection(problem))


def _connection(problem: Exception | None, starting: bool = False) -> Text:
    if problem is None:
        return Text("◐ connected, the server is starting", "yellow") if starting else Text("● connected", "green")
    return Text(f"○ connection lost, trying again ({problem})", "yellow", no_wrap=True, overflow="ellipsis")
