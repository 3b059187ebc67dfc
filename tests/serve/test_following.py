import asyncio
from contextlib import suppress

import polars as pl

from turnout.schema import ColumnType
from turnout.serve.following import Following
from turnout.tables.delta import ROW, Delta
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Event, Registry


def table() -> Registry:
    return Registry([LiveTable("t", {"value": ColumnType.LONG})])


def put(registry: Registry, id_: str) -> None:
    rows = pl.DataFrame([(id_, 1)], schema=registry.snapshot("t").rows.schema, orient="row")
    registry.change({"t": Delta(rows, pl.Series(ROW, [], dtype=pl.String))})


def ids(events: list[Event]) -> list[str]:
    return [id_ for event in events for id_ in event.delta.upserts.get_column(ROW)]


async def soon() -> None:
    """Until what other threads have handed to the event loop has been taken."""
    await asyncio.sleep(0)


def test_the_rows_come_first_and_then_each_event() -> None:
    registry, taken = table(), list[Event]()

    async def follow() -> None:
        following = Following(registry, "t", taken.append)
        put(registry, "before")
        assert (await following.begin()).rows.get_column(ROW).to_list() == ["before"]
        put(registry, "a")
        put(registry, "b")
        assert ids(taken) == ["a", "b"]

    asyncio.run(follow())


def test_after_the_end_nothing_is_taken() -> None:
    registry, taken = table(), list[Event]()

    async def follow() -> None:
        following = Following(registry, "t", taken.append)
        await following.begin()
        following.end()
        put(registry, "a")
        await soon()

    asyncio.run(follow())
    put(registry, "b")  # the event loop is closed by now
    assert taken == []


def test_who_ends_before_beginning_is_never_told() -> None:
    registry, taken = table(), list[Event]()

    async def follow() -> None:
        following = Following(registry, "t", taken.append)
        following.end()
        assert (await following.begin()).rows.height == 0
        put(registry, "a")
        await soon()

    asyncio.run(follow())
    assert taken == []


def test_who_is_cancelled_while_the_tables_are_busy_leaves_nothing_behind() -> None:
    registry, taken = table(), list[Event]()

    async def follow() -> None:
        following = Following(registry, "t", taken.append)
        with registry.at_once():  # as a swap does
            beginning = asyncio.create_task(following.begin())
            await asyncio.sleep(0.01)  # its thread waits for the tables by now, or will
            beginning.cancel()
            with suppress(asyncio.CancelledError):
                await beginning
            following.end()

    asyncio.run(follow())  # waits for the thread
    put(registry, "a")  # told to nobody: the event loop is closed
    assert taken == []
