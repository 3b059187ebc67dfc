"""Options that several commands share, and what they lead to."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # loading a config takes a third of a second
    from turnout.client import Client
    from turnout.config import Config

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="The configuration. Without it: ./turnout.yaml if there is one, else the built-in one.",
        envvar="TURNOUT_CONFIG",
    ),
]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="The Turnout to ask. Without it: the host and port in the configuration.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="What to log in with, where Turnout asks for it. Better set as a variable: options are seen by others.",
        envvar="TURNOUT_TOKEN",
    ),
]


def load_config(file: Path | None, flags: Mapping[str, object] = MappingProxyType({})) -> "Config":
    """The config, with the flags that were given laid over it, by dotted path."""
    from turnout.config import load

    return load(file, overrides={name: value for name, value in flags.items() if value is not None})


def default_url(file: Path | None) -> str:
    """Where the config says that Turnout is."""
    from turnout.address import url_of

    serve = load_config(file).serve
    return url_of(serve.host, serve.port, serve.scheme)


def client_of(url: str | None, file: Path | None, token: str | None) -> "Client":
    from turnout.client import Client

    return Client(url or default_url(file), token=token)
