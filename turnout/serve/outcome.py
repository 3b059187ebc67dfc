"""Waits for what becomes of a control message."""

import asyncio

import polars as pl

from turnout.serve.following import Following
from turnout.tables.delta import ROW
from turnout.tables.registry import Event, Registry


async def outcome_of(registry: Registry, control_table: str, id_: str, seconds: float) -> str | None:
    """The outcome of the control message with this id, None if it takes longer than `seconds`."""
    loop = asyncio.get_running_loop()
    known: asyncio.Future[str] = loop.create_future()

    def look(rows: pl.DataFrame) -> None:
        for outcome in rows.filter(pl.col(ROW) == id_).get_column("outcome").drop_nulls():
            if not known.done():
                known.set_result(outcome)

    def note(event: Event) -> None:
        loop.call_soon_threadsafe(look, event.delta.upserts)

    following = Following(registry, control_table, note)
    try:
        look((await following.begin()).rows)
        return await asyncio.wait_for(known, seconds)
    except TimeoutError:
        return None
    finally:
        following.end()
