"""The vital signs to whoever listens: each second, and at once when the status changes.

A page can tell by it that the connection is alive: one that was cut without a word, as by a laptop's sleep, is silent.
"""

import asyncio
from contextlib import suppress

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from turnout.serve.audience import Audience, Protocol
from turnout.serve.following import Following
from turnout.serve.vitals import VitalSigns
from turnout.tables.registry import Event, Registry

BEAT_SECONDS = 1.0


class Pulse:
    """One beat for all listeners, as long as there are any."""

    def __init__(
        self, vitals: VitalSigns, registry: Registry, status_table: str, page: str, audience: Audience
    ) -> None:
        """`page` is the fingerprint of the page that fits this server: one that is open may be another."""
        self._vitals, self._registry, self._status_table, self._page = vitals, registry, status_table, page
        self._audience = audience
        self._beating: list[asyncio.Task[None]] = []
        self._lag: dict[str, int | None] = {}
        self._last = b""
        self._beat = asyncio.Condition()

    async def follow(self, websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            with self._audience.member(Protocol.PULSE):
                await self._follow(websocket)
        finally:
            self._end()

    async def _follow(self, websocket: WebSocket) -> None:
        self._begin()
        sending = asyncio.create_task(self._send(websocket))
        try:
            while True:  # there is nothing to say, but it is heard here that the other end is gone
                await websocket.receive_text()
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes, which nobody should send either
            pass
        finally:
            sending.cancel()

    @property
    def _listeners(self) -> int:
        return self._audience.viewers(Protocol.PULSE)

    async def _send(self, websocket: WebSocket) -> None:
        """A client that is slow misses beats; none wait for it."""
        with suppress(WebSocketDisconnect, RuntimeError):  # it was closed meanwhile
            if self._last:
                await websocket.send_text(self._last.decode())  # of this second, and the next beat is soon
            while True:
                async with self._beat:
                    await self._beat.wait()
                await websocket.send_text(self._last.decode())

    def _begin(self) -> None:
        if self._listeners == 1:
            self._beating = [asyncio.create_task(self._measure_lag()), asyncio.create_task(self._run())]

    def _end(self) -> None:
        if self._listeners == 0:
            for task in self._beating:
                task.cancel()
            self._last = b""

    async def _measure_lag(self) -> None:
        """Apart from the rest: a broker that is silent takes ten seconds to be given up."""
        while True:
            self._lag = await asyncio.to_thread(self._vitals.lag)
            await asyncio.sleep(BEAT_SECONDS)

    async def _run(self) -> None:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def note(_: Event) -> None:
            loop.call_soon_threadsafe(changed.set)

        following = Following(self._registry, self._status_table, note)
        await following.begin()
        try:
            while True:
                vitals = await asyncio.to_thread(self._vitals.read, self._lag)
                self._last = orjson.dumps({**vitals, "page": self._page})
                async with self._beat:
                    self._beat.notify_all()
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), BEAT_SECONDS)
                changed.clear()
        finally:
            following.end()
