"""The command line: `turnout`."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from turnout import __version__
from turnout.commands import running, setup, showing
from turnout.commands.gc import gc
from turnout.commands.samples import samples
from turnout.commands.switch import SwitchCommand, switch, undo
from turnout.commands.token import token
from turnout.errors import TurnoutError


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """What Turnout tells a person about is told in its own words: no traceback."""
        try:
            return super().invoke(ctx)
        except TurnoutError as error:
            text = Text.assemble(("Error: ", "bold red"), str(error))
            Console(stderr=True, highlight=False).print(text, soft_wrap=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,  # they may hold secrets
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with `turnout demo`. Each command has its own help, such as `turnout switch --help`.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"turnout {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Show the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Live joins of two Kafka topics, computed by Spark, that switch to other topics while people watch."""


_RUN, _WATCH, _SETUP = "Run it", "Switch and watch a running one", "Set it up"

app.command(rich_help_panel=_RUN)(running.demo)
app.command(rich_help_panel=_RUN)(running.run)
app.command(rich_help_panel=_RUN)(running.serve)
app.command(rich_help_panel=_RUN)(samples)
app.command(rich_help_panel=_WATCH, cls=SwitchCommand)(switch)
app.command(rich_help_panel=_WATCH)(undo)
app.command(rich_help_panel=_WATCH)(showing.status)
app.command(rich_help_panel=_WATCH)(showing.tail)
app.command(rich_help_panel=_WATCH)(showing.logs)
app.command(rich_help_panel=_SETUP)(setup.check)
app.command(rich_help_panel=_SETUP)(setup.config)
app.command(rich_help_panel=_SETUP)(token)
app.command(rich_help_panel=_SETUP)(gc)

if __name__ == "__main__":
    app(prog_name="turnout")
