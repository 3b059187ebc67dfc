"""`turnout switch`: publishes a control message and shows what becomes of it, step by step."""

import argparse
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperOption

from turnout.commands.options import ConfigFile, Url, client_of, load_config
from turnout.commands.words import topic_option
from turnout.errors import TurnoutError
from turnout.loglines import print_line
from turnout.schema import JoinType

if TYPE_CHECKING:
    from turnout.client import Client

IN_FORCE = ("applied", "no change")
"""Outcomes after which what was asked for is what is shown."""

POLL_SECONDS = 0.5


class SwitchCommand(TyperCommand):
    """Calls its two topic options after the tables of the config in use, here and in the help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        join = load_config(_config_file(args)).join
        tables = {"left_topic": join.left, "right_topic": join.right}
        for option in self.params:
            if isinstance(option, TyperOption) and option.name in tables:
                option.opts = [topic_option(tables[option.name])]
                option.help = f"The topic to read {tables[option.name]} from."
        return super().parse_args(ctx, args)


def _config_file(args: list[str]) -> Path | None:
    """What the command's own option -c will be, before the other options have their names."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("-c", "--config", type=Path, nargs="?", default=os.environ.get("TURNOUT_CONFIG"))
    file: Path | None = early.parse_known_args(args)[0].config
    return Path(file) if file else None


def switch(
    left_topic: Annotated[str | None, typer.Option("--left-topic", metavar="TOPIC")] = None,
    right_topic: Annotated[str | None, typer.Option("--right-topic", metavar="TOPIC")] = None,
    join: Annotated[
        str | None, typer.Option("--join", "-j", metavar="TYPE", help=f"The type of join: {', '.join(JoinType)}.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the outcome.", min=0.1)
    ] = 90.0,
    config: ConfigFile = None,
    url: Url = None,
) -> None:
    """Switch to other topics or another type of join, while people watch.

    Publishes a control message, shows each step as it happens, and then its outcome. What is not given stays as it is.

    The exit code is 0 if what was asked for is in force (applied, or no change), else 1.

    - `turnout switch --join inner`
    """
    from turnout.tables.public import control_fields

    settings = load_config(config)
    fields, names = control_fields(settings), settings.public_names
    asked = {fields.left: left_topic, fields.right: right_topic, fields.join: join}
    message = {field: value for field, value in asked.items() if value is not None}
    if not message:
        options = ", ".join(topic_option(table) for table in (settings.join.left, settings.join.right))
        raise TurnoutError(f"There is nothing to switch to: give one or more of {options}, --join.")
    client, console, deadline = client_of(url, config), Console(highlight=False), time.monotonic() + timeout
    with _Steps(client, names.logs, console):
        answer = client.control(message, timeout)
        outcome = answer.outcome or _await_outcome(client, names.control, answer.id, deadline)
    if outcome in IN_FORCE:
        status = client.status()
        shown = f"{status[fields.left]} + {status[fields.right]} ({status[fields.join]})"
        console.print(Text.assemble(("✓ ", "green"), f"{outcome}: {shown}, generation {status['generation']}"))
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
