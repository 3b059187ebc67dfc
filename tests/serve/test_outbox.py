import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from turnout.serve.outbox import FellBehind, Outbox


def on_a_loop(work: Callable[[], Awaitable[None]]) -> None:
    async def within_time() -> None:
        async with asyncio.timeout(10):
            await work()

    asyncio.run(within_time())


async def taken(outbox: Outbox[str], count: int) -> list[str]:
    return [await outbox.take() for _ in range(count)]


def test_items_come_out_in_their_order() -> None:
    async def work() -> None:
        outbox = Outbox[str](3, 100)
        for item in "abc":
            outbox.put(item, 1)
        assert await taken(outbox, 3) == ["a", "b", "c"]

    on_a_loop(work)


def test_who_waits_gets_what_another_thread_puts_in() -> None:
    async def work() -> None:
        outbox = Outbox[str](1_000, 1_000)

        def put() -> None:
            for number in range(1_000):
                outbox.put(str(number), 1)

        thread = threading.Thread(target=put)
        thread.start()
        assert await taken(outbox, 1_000) == [str(number) for number in range(1_000)]
        thread.join()

    on_a_loop(work)


@pytest.mark.parametrize(("items", "weight"), [(2, 100), (100, 2)], ids=["items", "weight"])
def test_where_more_comes_than_there_is_room_for_all_of_it_is_dropped(items: int, weight: int) -> None:
    async def work() -> None:
        outbox = Outbox[str](items, weight)
        outbox.put("a", 1)
        outbox.put("b", 1)
        assert await outbox.take() == "a"
        outbox.put("c", 1)
        outbox.put("too much", 1)
        outbox.put("later", 1)
        outbox.put("instead", 1, instead=True)
        await outbox.behind.wait()
        for _ in range(2):
            with pytest.raises(FellBehind):
                await outbox.take()

    on_a_loop(work)


def test_who_waits_while_too_much_comes_hears_of_it() -> None:
    async def work() -> None:
        outbox = Outbox[str](1, 100)
        waiting = asyncio.create_task(outbox.take())
        await asyncio.sleep(0)  # it waits now
        outbox.put("a", 1)
        outbox.put("b", 1)
        with pytest.raises(FellBehind):
            await waiting

    on_a_loop(work)


def test_one_item_alone_may_weigh_more_than_all_may_together() -> None:
    async def work() -> None:
        outbox = Outbox[str](10, 5)
        outbox.put("heavy", 50)
        assert await outbox.take() == "heavy"
        assert not outbox.behind.is_set()

    on_a_loop(work)


def test_an_item_may_take_the_place_of_all_that_waits() -> None:
    async def work() -> None:
        outbox = Outbox[str](2, 2)
        outbox.put("a", 1)
        outbox.put("b", 1)
        outbox.put("c", 1, instead=True)
        outbox.put("d", 1)
        assert await taken(outbox, 2) == ["c", "d"]

    on_a_loop(work)


def test_a_busy_event_loop_is_told_once_however_much_comes() -> None:
    async def work() -> None:
        outbox, told = Outbox[str](1_000, 1_000), list[object]()
        loop = asyncio.get_running_loop()
        call = loop.call_soon_threadsafe

        def note(callback: Callable[..., object], *arguments: object) -> asyncio.Handle:
            told.append(callback)
            return call(callback, *arguments)

        loop.call_soon_threadsafe = note  # type: ignore[assignment,method-assign]
        for number in range(1_000):
            outbox.put(str(number), 1)
        assert len(told) == 1
        assert len(await taken(outbox, 1_000)) == 1_000

    on_a_loop(work)
