"""Waits for what becomes of a control message."""

import asyncio

import polars as pl

from turnout.serve.following import Following
from turnout.tables.delta import ROW
from turnout.tables.registry import Registry


async def outcome_of(registry: Registry, control_table: str, id_: str, seconds: float) -> str | None:
    """The outcome of the control message with this id, None if it takes longer than `seconds`."""
    known: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def look(rows: pl.DataFrame) -> None:
        for outcome in rows.filter(pl.col(ROW) == id_).get_column("outcome").drop_nulls():
            if not known.done():
                known.set_result(outcome)

    following = Following(registry, control_table, lambda event: look(event.delta.upserts))
    try:
        look((await following.begin()).rows)
        return await asyncio.wait_for(known, seconds)
    except TimeoutError:
        return None
    finally:
        following.end()
