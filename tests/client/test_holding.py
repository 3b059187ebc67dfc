"""What a client holds, after whatever happened to the table, to the wire and to the server, is what the table has."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.client.fed import Fed
from tests.client.wire import Wire
from tests.waiting import until
from turnout.client import AsyncClient, AsyncLive, Client, Live

TABLE = "users_ui"
IDS = st.sampled_from([f"r{number}" for number in range(4)])
ROWS = st.dictionaries(IDS, st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=4)


@dataclass
class World:
    """A server that may be replaced, behind a wire that may be cut."""

    fed: Fed = field(default_factory=Fed)
    generation: int = 0

    def __post_init__(self) -> None:
        self.wire = Wire(self.fed.port)

    def change(self, rows: dict[str, int | None], removes: set[str]) -> None:
        self.fed.change(rows.items(), removes - rows.keys())

    def swap(self, rows: dict[str, int | None]) -> None:
        self.generation += 1
        self.fed.swap(self.generation, rows.items())

    def cut(self) -> None:
        self.wire.cut()

    def restart(self) -> None:
        """The next server begins with nothing, as every server does."""
        gone, self.fed = self.fed, Fed()
        self.wire.lead(self.fed.port)
        gone.stop()

    def stop(self) -> None:
        self.wire.close()
        self.fed.stop()


Action = Callable[[World], None]
CHANGES: st.SearchStrategy[Action] = st.builds(
    lambda rows, removes: lambda world: world.change(rows, removes), ROWS, st.sets(IDS, max_size=3)
)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    *[CHANGES] * 4,  # each of the others hides what came before it
    st.builds(lambda rows: lambda world: world.swap(rows), ROWS),
    st.just(World.cut),
    st.just(World.restart),
)
BURSTS = st.lists(st.lists(ACTIONS, min_size=1, max_size=4), min_size=4, max_size=8)
"""What happens before anyone looks."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.stop()


@contextmanager
def awaited(url: str) -> Iterator[AsyncLive]:
    """A table that is held on an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    live = AsyncClient(url).table(TABLE).live()
    try:
        asyncio.run_coroutine_threadsafe(live.__aenter__(), loop).result(30)
        yield live
    finally:
        asyncio.run_coroutine_threadsafe(live.__aexit__(None, None, None), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.usefixtures("quick")
@settings(
    max_examples=20,
    phases=[Phase.generate],  # each example that fails takes as long as one waits: too long to look for a smaller one
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(bursts=BURSTS)
def test_clients_hold_what_the_table_has(world: World, bursts: list[list[Action]]) -> None:
    world.swap({"r0": 0})
    with Client(world.wire.url).table(TABLE).live() as live, awaited(world.wire.url) as other:
        for burst in bursts:
            for action in burst:
                action(world)
            if world.fed.generation == 0:  # it has just started: until it shows something, clients hold what they held
                world.swap({"r1": 1})
            for held in (live, other):
                until(partial(same, held, world.fed), f"{type(held).__name__} holds the table")
        rest = httpx.get(f"{world.wire.url}/api/tables/{TABLE}").json()
        assert rest == {"generation": live.generation, "rows": live.rows}
        assert rest == {"generation": other.generation, "rows": other.rows}


def same(held: Live | AsyncLive, fed: Fed) -> bool:
    return held.generation == fed.generation and list(held.by_id.items()) == list(fed.held().items())
