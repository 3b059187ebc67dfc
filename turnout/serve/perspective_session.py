"""The socket through which one page reads the tables in a Perspective server."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

import perspective
from starlette.websockets import WebSocket, WebSocketDisconnect

from turnout.serve.outbox import FellBehind, Outbox
from turnout.serve.perspective_requests import reads_only, unused_port
from turnout.serve.security.refusal import POLICY_VIOLATION
from turnout.serve.shared_lock import SharedLock

# To one viewer; one that falls behind so far is told to start over.
QUEUED_MESSAGES = 1_000
QUEUED_BYTES = 64 * 1024 * 1024
TRY_AGAIN_LATER = 1013  # WebSocket's own code for it


class _PerspectiveSession(Protocol):
    def handle_request(self, request: bytes) -> None: ...

    def close(self) -> None: ...


class Session:
    """One viewer's socket. Perspective answers from threads of its own."""

    def __init__(
        self, websocket: WebSocket, server: perspective.Server, pool: ThreadPoolExecutor, asking: SharedLock
    ) -> None:
        """It shares the lock while it asks."""
        self._websocket, self._server, self._pool, self._asking = websocket, server, pool, asking
        self._loop = asyncio.get_running_loop()
        self.answers = Outbox[bytes](QUEUED_MESSAGES, QUEUED_BYTES)
        self._unwanted, self._ended = asyncio.Event(), asyncio.Event()

    async def end(self) -> None:
        """Returns when it is over, and its views are deleted."""
        self._unwanted.set()
        await self._ended.wait()

    async def run(self) -> None:
        await self._websocket.accept()
        session = self._server.new_session(self._emit)
        work = (self._receive(session), self._send(), self.answers.behind.wait(), self._unwanted.wait())
        tasks = [asyncio.create_task(task) for task in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._loop.run_in_executor(self._pool, session.close)
            self._ended.set()

    @property
    def fell_behind(self) -> bool:
        return self.answers.behind.is_set()

    async def dismiss(self) -> None:
        """Last of all: it waits until the viewer reads on, which may be never."""
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._websocket.close(TRY_AGAIN_LATER, "too slow: start over")

    def _emit(self, message: bytes) -> None:
        self.answers.put(bytes(message), len(message))

    async def _receive(self, session: _PerspectiveSession) -> None:
        try:
            while True:
                request = await self._websocket.receive_bytes()
                if (answer := unused_port(request)) is not None:
                    self._emit(answer)
                    continue
                if not reads_only(request):
                    await self._websocket.close(POLICY_VIOLATION, "tables can only be read here")
                    return
                await self._loop.run_in_executor(self._pool, self._handle, session, request)
        except (WebSocketDisconnect, KeyError):  # KeyError: text where bytes belong
            return

    def _handle(self, session: _PerspectiveSession, request: bytes) -> None:
        with self._asking.shared():
            session.handle_request(request)

    async def _send(self) -> None:
        try:
            while True:
                await self._websocket.send_bytes(await self.answers.take())
        except (WebSocketDisconnect, RuntimeError, FellBehind):  # RuntimeError: the socket was closed meanwhile
            return
