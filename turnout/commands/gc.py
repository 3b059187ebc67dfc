"""`turnout gc`: topics on a shared bus that nobody needs any more."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from turnout.commands.options import ConfigFile, load_config
from turnout.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.bus.leftovers import Found

HOUR_MS = 3_600_000

UnseenFor = Annotated[
    float,
    typer.Option(
        "--unseen-for",
        metavar="HOURS",
        min=0.1,
        help="How long its Turnout must not have given a sign of life, until what it has left is a leftover.",
    ),
]
Delete = Annotated[bool, typer.Option("--delete", metavar="", help="Delete the leftovers; without it they are listed.")]


def gc(config: ConfigFile = None, unseen_for: UnseenFor = 24.0, delete: Delete = False) -> None:
    """Clean up what Turnouts that are gone have left on the bus.

    Looks at the topics on the bus that begin with `changelog.prefix`. Those that belong to a pipeline of this
    Turnout's own, or to a Turnout elsewhere that has given a sign of life, are in use; a running one gives it twice a
    minute. All others are leftovers. Nothing is deleted unless `--delete` is given.

    A Turnout that is stopped needs its topics to go on where it was: choose `--unseen-for` longer than that may take.

    - `turnout gc -c turnout.yaml`
    - `turnout gc -c turnout.yaml --unseen-for 168 --delete`
    """
    settings = load_config(config)
    if not settings.bus:
        raise TurnoutError(
            "The bus is Turnout's own embedded broker, which nobody else writes to: each start cleans it up. There is "
            "something to do for `turnout gc` only where `bus` names a Kafka."
        )
    from turnout.bus.leftovers import Leftovers, Use
    from turnout.bus.topics import BusTopics
    from turnout.kafka.client import Cluster
    from turnout.pipeline.manifest_store import store_of

    bus = Cluster(settings.bus)
    leftovers = Leftovers(bus, BusTopics(settings.changelog.prefix), store_of(settings, bus).ids)
    found = leftovers.find(int(time.time() * 1000 - unseen_for * HOUR_MS))
    unused = [one for one in found if one.use is Use.LEFTOVER]
    console = Console(highlight=False)
    if found:
        console.print(_table(found))
    if delete:
        gone = leftovers.delete(unused)
        console.print(f"Deleted {len(gone)} topics of {len(unused)} pipelines that nobody uses.")
    elif unused:
        console.print(f"{len(unused)} of {len(found)} pipelines have left their topics. With --delete they go.")
    else:
        console.print(f"No leftovers: pipelines in use {len(found)}, topics beginning with {settings.changelog.prefix}")


def _table(found: "list[Found]") -> Table:
    seen, owner_at = Column("last sign of life", no_wrap=True), Column("of", overflow="fold")  # whole, to be copied
    table = Table("pipeline", "topics", "use", seen, owner_at, box=None, pad_edge=False)
    for one in found:
        owner = f"{one.owner.claim.host}:{one.owner.claim.home}" if one.owner is not None else "unknown"
        table.add_row(one.pipeline, str(len(one.topics)), one.use, _when(one.seen_ms), owner)
    return table


def _when(ms: int | None) -> str:
    return "none" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
