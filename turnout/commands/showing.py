"""`turnout status`, `tail` and `logs`: what the tables say, in a terminal."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnout.commands.options import ConfigFile, Token, Url, client_of

if TYPE_CHECKING:  # Rich takes as long to load as a server to answer
    from turnout.client import Status, TurnoutError

SHOWN_ROWS = 20


def status(
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="As JSON, for programs.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", metavar="", help="Keep it on screen, until Ctrl-C.")] = False,
    config: ConfigFile = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show what is live: topics, type of join, state, lag.

    The lag of a topic is how many of its messages are not in the tables yet.

    - `turnout status`
    - `turnout status --watch`
    - `turnout status --json`
    """
    client = client_of(url, config, token)
    answer = client.status()
    if as_json:
        typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    elif watch and sys.stdout.isatty():
        from turnout.commands.watching import watch_status

        with _until_interrupted():
            watch_status(client, answer, status_lines)
    else:
        lines = status_lines(answer)
        width = max(map(len, lines))
        for name, value in lines.items():
            typer.echo(f"{typer.style(name.ljust(width), dim=True)}  {value}")


def status_lines(answer: "Status") -> dict[str, str]:
    """What a person reads of the status, in its order. They have a clock of their own."""
    told = {name: value for name, value in answer.items() if name != "now"}
    return {_NAMES.get(name, name): _READ.get(name, _plain)(value) for name, value in told.items()}


def tail(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name, such as final_ui.")],
    rows: Annotated[
        int, typer.Option("-n", "--rows", metavar="COUNT", min=1, help="How many rows to show, if there is room.")
    ] = SHOWN_ROWS,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only rows for which it holds: a column, one of == != < <= > >= ~ (contains), a value. "
            "Given more than once, all must hold.",
        ),
    ] = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--sort", metavar="COLUMN[:desc],…", help="The first rows by these columns, not the newest."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--columns", metavar="COLUMN,…", help="Only these, in this order.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", metavar="", help="Show them once and end.")] = False,
    config: ConfigFile = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show the rows of a table that changed last, the newest at the end.

    In a terminal they follow the table until Ctrl-C, through switches and restarts; elsewhere, or with `--once`, they
    are printed once.

    - `turnout tail final_ui`
    - `turnout tail final_ui --filter 'balance>100' --sort balance:desc --columns name,balance`
    - `turnout tail rejected_ui --once -n 5`
    """
    from turnout.commands.tailing import Asked

    client, asked = client_of(url, config, token), Asked(table, filters or (), sort or (), columns or ())
    if once or not sys.stdout.isatty():
        from turnout.commands.watching import print_table

        print_table(client, asked, rows)
    else:
        from turnout.commands.watching import watch_table

        with _until_interrupted():
            watch_table(client, asked, rows)


def logs(
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="COUNT", min=0, help="How many lines to begin with.")
    ] = 50,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", metavar="", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    config: ConfigFile = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show the log: each step of each switch, and what went wrong.

    - `turnout logs`
    - `turnout logs -f`
    """
    from turnout.commands.grid import wide_console
    from turnout.commands.steps import print_lines
    from turnout.commands.unseen import Unseen

    console, unseen, log = wide_console(), Unseen(), client_of(url, config, token).table(_logs_table())
    with _until_interrupted(), log.changes(on_connection=_tell_connection) as changes:
        first = unseen.of(next(changes))
        print_lines(console, first[max(0, len(first) - lines) :])
        if follow:
            for event in changes:
                print_lines(console, unseen.of(event))


def _tell_connection(problem: "TurnoutError | None") -> None:
    said = "Connected again." if problem is None else f"Connection lost, trying again. {problem}"
    typer.secho(said, err=True, dim=True)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {'unknown' if n is None else n}" for name, n in value.items()) or "null"
    return "null" if value is None else str(value)


_NAMES = {"uptimeSeconds": "uptime"}
_READ = {"uptimeSeconds": lambda seconds: str(timedelta(seconds=round(seconds)))}


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C is how one ends what has no end of its own."""
    with suppress(KeyboardInterrupt):
        yield


def _logs_table() -> str:
    from turnout.config import PublicNames

    return PublicNames.logs
