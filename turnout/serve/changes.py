"""Server-sent events: a table's rows, then every change to them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache

import orjson
import polars as pl

from turnout.serve.audience import Audience, Protocol
from turnout.serve.following import Following
from turnout.serve.outbox import FellBehind, Outbox
from turnout.tables.registry import Event, Registry, Snapshot, Swapped

# For one client; one that falls behind so far gets a new snapshot instead.
QUEUED_EVENTS = 1_000
QUEUED_ROWS = 50_000
KEEP_ALIVE_SECONDS = 15.0  # so that proxies do not take a quiet table for a dead connection
# An event with more rows goes out in pieces, each when the one before has been read: rows as Python objects and as text
# take many times the memory that the table takes.
PIECE_ROWS = 1_000

State = Snapshot | Event


class Changes:
    """One client's stream."""

    def __init__(self, registry: Registry, name: str, audience: Audience | None = None) -> None:
        self._registry, self._name, self._audience = registry, name, audience or Audience()
        self._follow()

    async def stream(self) -> AsyncIterator[bytes]:
        with self._audience.member(Protocol.SSE, lambda: self._events):
            try:
                state: State | None = await self._following.begin()
                while True:
                    if state is None:
                        yield b": still here\n\n"
                    elif _is_small(state) and not isinstance(state, Snapshot):
                        yield _whole(state)
                    else:
                        pieces = _pieces(state)
                        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                            yield piece
                    state = await self._next()
            finally:
                if self._events.behind.is_set():  # it left, or was cut, before it could be told
                    self._fell_behind()
                self._following.end()

    def _fell_behind(self) -> None:
        self._audience.fell_behind[Protocol.SSE] += 1

    async def _next(self) -> State | None:
        """None: nothing has come for a while."""
        try:
            async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                return await self._events.take()
        except TimeoutError:
            return None
        except FellBehind:
            self._fell_behind()
            await asyncio.to_thread(self._following.end)
            self._follow()
            return await self._following.begin()

    def _follow(self) -> None:
        events = self._events = Outbox[Event](QUEUED_EVENTS, QUEUED_ROWS)

        def note(event: Event) -> None:
            swapped = isinstance(event, Swapped)
            # The rows of a swap are the table's own, and there is never more than one waiting.
            events.put(event, 0 if swapped else _count(event), instead=swapped)

        self._following = Following(self._registry, self._name, note)


def _lists(state: State) -> dict[str, pl.DataFrame | pl.Series]:
    """The lists of an event, by name."""
    if isinstance(state, Snapshot | Swapped):
        return {"rows": state.rows}
    return {"upserts": state.delta.upserts, "removes": state.delta.removes}


def _count(state: State) -> int:
    return sum(map(len, _lists(state).values()))


def _is_small(state: State) -> bool:
    return _count(state) <= PIECE_ROWS


@lru_cache(maxsize=64)
def _whole(event: Event) -> bytes:
    """The text of a small event. It is everybody's, and encoded once: so it is no work for a thread, which to go to and
    come back from would take longer, for each client anew."""
    return b"".join(_text(event))


def _pieces(state: State) -> Iterator[bytes]:
    """The text of a snapshot, or of a large event: a small one whole, a large one bit by bit."""
    if _is_small(state):
        yield b"".join(_text(state))
    else:
        yield from _text(state)


def _text(state: State) -> Iterator[bytes]:
    # A snapshot is one client's own. An event is everybody's: encode it once.
    kind, encode = ("snapshot", _encoded) if isinstance(state, Snapshot) else (_kind(state), _encoded_once)
    yield f'event: {kind}\ndata: {{"generation":{state.generation}'.encode()
    for name, items in _lists(state).items():
        yield f',"{name}":['.encode()
        for start in range(0, len(items), PIECE_ROWS):
            yield b"," * (start > 0) + encode(state, name, start)
        yield b"]"
    yield b"}\n\n"


def _kind(event: Event) -> str:
    return "swap" if isinstance(event, Swapped) else "change"


def _encoded(state: State, name: str, start: int) -> bytes:
    """Some items of a list, without its brackets."""
    items = _lists(state)[name][start : start + PIECE_ROWS]
    return orjson.dumps(items.to_dicts() if isinstance(items, pl.DataFrame) else items.to_list())[1:-1]


_encoded_once = lru_cache(maxsize=64)(_encoded)
