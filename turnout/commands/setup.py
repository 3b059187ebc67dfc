"""`turnout check` and `turnout config`: is everything there, and what is in force?"""

import re
import textwrap

import typer
from rich.console import Console
from rich.text import Text

from turnout.commands.options import ConfigFile, load_config
from turnout.errors import ConfigError

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "bold red"), "not checked": ("-", "dim")}
_INDENT = " " * 14
"""As far as to where the subjects begin."""
_COMMAND = re.compile(r"(`kafka-[^`]+`)")


def check(config: ConfigFile = None) -> None:
    """Check that all is there that Turnout needs.

    A line each for the configuration, Python, Java, the Java parts, each step of the way to each Kafka (name,
    connection, TLS, token, login), what may be done with each topic, the bus, the state directory and the port; and
    what to do about each that failed. Starts nothing and leaves nothing behind. The exit code is 1 if anything failed.

    - `turnout check -c turnout.yaml`
    """
    console = Console(highlight=False)
    try:
        settings = load_config(config)
    except ConfigError as error:
        _line(console, "failed", "configuration", str(error))
        raise typer.Exit(1) from None
    _line(console, "ok", "configuration", str(config or "no mistakes"))
    from turnout.check import Verdict, findings

    failed = False
    for finding in findings(settings):
        _line(console, finding.verdict, finding.subject, finding.text, finding.remedy)
        failed |= finding.verdict is Verdict.FAILED
    if failed:
        raise typer.Exit(1)


def _line(console: Console, verdict: str, subject: str, text: str, remedy: str = "") -> None:
    """One line for a program that reads them; for a person, as many as it takes, with the remedy on its own."""
    mark, style = _MARKS[verdict]
    head, said, todo = (f"{mark} {verdict:<11} ", style), f"{subject}: {text}", f"→ {remedy}" if remedy else ""
    if not console.is_terminal:
        console.print(Text.assemble(head, f"{said} {todo}".rstrip()), soft_wrap=True)
        return
    console.print(Text.assemble(head, _indented(said, console.width).lstrip()), soft_wrap=True)
    for part in filter(None, _COMMAND.split(todo)):
        # A command stays in one piece, so that it can be copied: the terminal breaks it.
        whole = _COMMAND.fullmatch(part) is not None
        console.print(Text(_INDENT + part if whole else _indented(part, console.width)), soft_wrap=True)


def _indented(text: str, width: int) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def config(config: ConfigFile = None) -> None:
    """Print the configuration that is in force, as YAML.

    That is the file, the environment and the defaults put together. Secrets are masked.

    - `turnout config -c turnout.yaml`
    """
    from turnout.config import to_yaml

    typer.echo(to_yaml(load_config(config).masked()), nl=False)
