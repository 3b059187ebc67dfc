"""`turnout switch` and `turnout undo`: what the tables show is changed by a control message."""

import argparse
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from turnout.commands.options import ConfigFile, Token, Url, client_of, load_config
from turnout.commands.steps import follow
from turnout.commands.words import topic_option
from turnout.errors import TurnoutError
from turnout.schema import JoinType

OUTCOME_SECONDS = 90.0
"""More than a build may take before it is given up (switch.ready_timeout_seconds, 60 by default)."""

Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the outcome.", min=0.1)
]


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
    timeout: Timeout = OUTCOME_SECONDS,
    config: ConfigFile = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Switch to other topics or another type of join, while people watch.

    Publishes a control message, shows each step as it happens, and then its outcome. What is not given stays as it is.

    The exit code is 0 if what was asked for is in force (applied, or no change), else 1.

    - `turnout switch --join inner`

    `turnout undo` goes back.
    """
    from turnout.tables.public import control_fields

    settings = load_config(config)
    fields = control_fields(settings)
    asked = {fields.left: left_topic, fields.right: right_topic, fields.join: join}
    message = {field: value for field, value in asked.items() if value is not None}
    if not message:
        options = ", ".join(topic_option(table) for table in (settings.join.left, settings.join.right))
        raise TurnoutError(f"There is nothing to switch to: give one or more of {options}, --join.")
    client = client_of(url, config, token)
    follow(client, settings.public_names, lambda seconds: client.control(message, seconds), timeout)


def undo(timeout: Timeout = OUTCOME_SECONDS, config: ConfigFile = None, url: Url = None, token: Token = None) -> None:
    """Go back to the topics and the type of join that were shown before.

    Publishes them as a control message, shows each step as it happens, and then its outcome. Another undo goes forth
    again. A switch that is still under way is given up.

    The exit code is 0 if what was shown before is in force (applied, or no change), else 1: also if there is nothing
    to undo.
    """
    client = client_of(url, config, token)
    follow(client, load_config(config).public_names, client.undo, timeout)
