"""`turnout token`: a way in for somebody, and what the configuration has to say about it."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from turnout.errors import TurnoutError


def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose it is: the log says so of each switch.")
    ] = "somebody",
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="viewer reads everything, operator also switches.")
    ] = "viewer",
    days: Annotated[
        int | None, typer.Option("--days", metavar="COUNT", min=1, help="How long it is valid. Without it: for ever.")
    ] = None,
) -> None:
    """Make a token, by which somebody comes in over HTTP.

    It is shown once and kept nowhere: the configuration has its hash alone, which is of no use to who reads it. Turnout
    knows it from its next start on.

    - `turnout token wall-screen`
    - `turnout token --role operator --days 90 deploy-bot`
    """
    from turnout.config_access import Role
    from turnout.serve.security.tokens import hash_of, new_token

    if role not in list(Role):
        raise TurnoutError(f"{role!r} is not a role; there are {' and '.join(Role)}.")
    made = new_token()
    entry = f'{{role: {role}, hash: "{hash_of(made)}"{_expiry(days)}}}'
    typer.echo(
        f"""\
The token of {name}, shown this once:

  {made}

In the configuration:

serve:
  auth:
    tokens:
      {name}: {entry}

It is sent as `Authorization: Bearer <token>`, entered on the login page, or set as TURNOUT_TOKEN for these commands."""
    )


def _expiry(days: int | None) -> str:
    if days is None:
        return ""
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    return f', expires: "{moment.isoformat().replace("+00:00", "Z")}"'
