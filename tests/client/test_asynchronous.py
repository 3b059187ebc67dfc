"""The client for asyncio: the same, awaited."""

import asyncio

import pytest

from tests.client.fed import Fed
from tests.client.wire import Wire
from tests.waiting import until
from turnout.client import AsyncClient, Change, Snapshot, Swap, TableMissing, Unreachable

pytestmark = pytest.mark.usefixtures("quick")


def test_snapshots_and_status(fed: Fed) -> None:
    fed.swap(1, [("a", 1), ("b", 2)])

    async def ask() -> None:
        async with AsyncClient(fed.url) as client:
            users = client.table("users_ui")
            assert await users.rows(filter="age>1", columns=["age"]) == [{"age": 2}]
            assert (await users.to_polars()).height == 2
            assert (await users.to_arrow()).num_rows == 2
            assert len(await users.to_pandas()) == 2
            assert (await client.status()).state == "starting"
            assert "users_ui" in [table.name for table in await client.tables()]
            with pytest.raises(TableMissing):
                await client.table("nosuch").rows()

    asyncio.run(ask())


def test_changes_come_one_by_one_and_go_on_after_a_cut(fed: Fed, wire: Wire) -> None:
    fed.swap(1, [("a", 1)])

    async def follow() -> None:
        async with AsyncClient(wire.url) as client, client.table("users_ui").changes() as changes:
            assert isinstance(await anext(changes), Snapshot)
            fed.change([("b", 1)])
            change = await anext(changes)
            assert isinstance(change, Change)
            assert list(change.upserts) == ["b"]
            wire.cut()
            assert await anext(changes) == Snapshot(1, fed.held())
            fed.swap(2, [("c", 1)])
            assert await anext(changes) == Swap(2, fed.held())
            assert changes.problem is None

    asyncio.run(follow())


def test_a_wait_that_was_given_up_loses_nothing(fed: Fed) -> None:
    async def follow() -> None:
        changes = AsyncClient(fed.url).table("users_ui").changes()
        await anext(changes)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(changes), 0.05)
        fed.change([("a", 1)])
        assert isinstance(await anext(changes), Change)

    asyncio.run(follow())
    until(lambda: fed.followers == 0, "what nobody holds is disconnected")


def test_a_task_that_is_cancelled_leaves_nothing_open(fed: Fed) -> None:
    async def forever() -> None:
        async for _ in AsyncClient(fed.url).table("users_ui").follow():
            pass

    async def run() -> None:
        task = asyncio.create_task(forever())
        await asyncio.to_thread(until, lambda: fed.followers == 1, "it follows")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    until(lambda: fed.followers == 0, "it is disconnected")


def test_a_consumer_that_is_slow_gets_everything_in_the_end(fed: Fed) -> None:
    async def follow() -> int:
        async with AsyncClient(fed.url).table("users_ui").live() as live:
            for number in range(200):
                fed.change([(str(number), number)])
            while len(live) < 200:
                assert await live.changed(30)
            return len(live)

    assert asyncio.run(follow()) == 200


def test_a_live_table_changes_by_itself_and_says_why_it_ends(fed: Fed, wire: Wire) -> None:
    fed.swap(1, [("a", 1)])

    async def follow() -> None:
        async with AsyncClient(wire.url).table("users_ui").live(reconnect=False) as live:
            assert live.by_id == fed.held()
            assert not await live.changed(0)
            fed.swap(2, [("b", 1)])
            assert await live.changed(30)
            assert (live.generation, [row["userId"] for row in live.rows]) == (2, ["ub"])
            wire.cut()
            with pytest.raises(Unreachable):
                await live.changed(30)
            assert isinstance(live.problem, Unreachable)
            assert len(live) == 1

    asyncio.run(follow())


def test_a_table_that_is_not_there_is_an_error_at_once(fed: Fed) -> None:
    async def follow() -> None:
        async with AsyncClient(fed.url).table("nosuch").live():
            pass

    with pytest.raises(TableMissing):
        asyncio.run(follow())
