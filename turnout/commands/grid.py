"""Rows as a grid of text: one line for each, cut at the terminal's edge."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

LINES_AROUND = 4
"""What a grid has beside its rows: the columns' names, a line, the text below, and the line of the cursor."""

_UNLIMITED = 1_000_000


def wide_console() -> Console:
    """The terminal; a file or a pipe is as wide as it needs to be: nothing is cut."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_UNLIMITED)


def grid(rows: Sequence[Mapping[str, Any]], below: Text) -> RenderableType:
    if not rows:
        return below
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in rows[0]:
        numeric = all(isinstance(row[column], int | float | None) for row in rows)
        table.add_column(Text(column), no_wrap=True, overflow="ellipsis", justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*map(cell, row.values()))
    return Group(table, below)


def cell(value: object) -> Text:
    if value is None:
        return Text("null", "dim")
    text = str(value)
    # A line break would tear the grid apart, and an escape sequence the terminal.
    return Text(text if text.isprintable() else "".join(map(_visible, text)))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def counted(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
