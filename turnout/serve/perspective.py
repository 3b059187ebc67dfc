"""The public tables inside a Perspective server, and the socket through which pages read them.

Perspective does nothing until it is polled. So all that has changed goes in first, of all tables, and then one poll
shows it: a viewer never sees half of a swap.
"""

import asyncio
import io
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

import perspective
import polars as pl
import polars.selectors as cs
from starlette.websockets import WebSocket, WebSocketDisconnect

from turnout.serve.outbox import FellBehind, Outbox
from turnout.tables.delta import ROW, Delta, merge
from turnout.tables.registry import Changed, Event, Registry

# Under load an update is shown at most this often; a change that comes alone is shown at once. Rest at least as long
# as the last update took: half the time is left for those who ask.
LEAST_REST_SECONDS = 0.05
# How long a viewer is made to wait for what is on its way: a swap of 100,000 rows takes a second.
SETTLE_SECONDS = 5.0
# To one viewer; one that falls behind so far is told to start over.
QUEUED_MESSAGES = 1_000
QUEUED_BYTES = 64 * 1024 * 1024
TRY_AGAIN_LATER = 1013  # WebSocket's own code for it
POLICY_VIOLATION = 1008

# What a reader may ask for, by the number of the request's field in Perspective's protocol (perspective.proto, 5.6).
# Whatever is not here, known or unknown, is refused: making, changing, deleting tables, and opening ports to do so.
READING = frozenset(
    {
        3,  # features
        4,  # hosted tables
        6,  # make a view of a table
        7,  # a table's schema
        8,  # its size
        10,  # a view's column paths
        11,  # delete a view
        12,  # dimensions
        13,  # expression schema
        14,  # config
        15,  # schema
        16,  # rows as Arrow
        17,  # memory in use
        18,  # collapse a group
        19,  # expand a group
        20,  # smallest and largest value
        21,  # tell about updates
        22,  # no longer
        23,  # depth of groups
        24,  # rows as columns
        25,  # rows as CSV
        26,  # rows as JSON
        29,  # tell when a table is deleted
        30,  # no longer
        34,  # tell when a view is deleted
        35,  # no longer
        36,  # rows as NDJSON
        37,  # no longer tell about hosted tables
        39,  # tell about removed rows
        40,  # no longer
        41,  # validate expressions, and describe the view that a configuration would give
    }
)
_ADDRESS = frozenset({1, 2})  # the request's own number, and the table or view it is about

# A viewer asks for a port to write through as soon as it opens a table, and waits for its number. It gets one that is
# nobody's: Perspective would keep a real one for ever, and go through all of them at every update.
MAKE_PORT = 5
_PORT_ASKED = bytes([MAKE_PORT << 3 | 2, 0])  # an empty message
_PORT_GIVEN = bytes([MAKE_PORT << 3 | 2, 2, 1 << 3, 1])  # a message whose field 1, the port, is 1

log = logging.getLogger(__name__)


class PerspectiveTables:
    """Follows every public table; one thread brings what has changed into the Perspective server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._wake = threading.Event()
        self.server = perspective.Server(on_poll_request=lambda *_: self._wake.set())
        self._client = self.server.new_local_client()
        self._stopping = False
        self._pending: dict[str, list[Delta]] = {name: [] for name in registry.tables}
        self._tables = {name: self._make(name) for name in registry.tables}
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="perspective")
        self._sessions: dict[str, Session] = {}
        self._turns = _Turns()
        self._thread = threading.Thread(target=self._run, name="perspective", daemon=True)

    def start(self) -> None:
        for name in self._tables:
            self._subscribe(name)
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def serve(self, websocket: WebSocket, viewer: str | None) -> None:
        """A viewer that comes back asks for the same views again, under the same names: its old ones go first."""
        # What the tables have now has to be here too: who comes because something is shown must not find nothing.
        turn = self._turns.next()
        self._wake.set()
        await asyncio.to_thread(self._turns.wait_for, turn, SETTLE_SECONDS)
        session = Session(websocket, self.server, self._pool)
        if viewer is None:
            await session.run()
            return
        earlier, self._sessions[viewer] = self._sessions.get(viewer), session
        if earlier is not None:
            await earlier.end()
        try:
            await session.run()
        finally:
            if self._sessions.get(viewer) is session:
                del self._sessions[viewer]

    def _make(self, name: str) -> perspective.Table:
        # From Arrow: a column declared as integer would have 32 bits and wrap.
        empty = self._registry.snapshot(name).rows.clear()
        return self._client.table(_arrow(empty), index=ROW, name=name)

    def _subscribe(self, name: str) -> None:
        pending = self._pending[name]

        def note(event: Event) -> None:
            pending.append(event.delta)
            self._wake.set()

        with self._registry.at_once():
            snapshot = self._registry.subscribe(name, note)
            note(Changed(snapshot.generation, Delta(snapshot.rows, snapshot.rows.get_column(ROW).clear())))

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait()
            self._wake.clear()
            began = time.monotonic()
            self._turns.begin()
            try:
                self._bring_up_to_date()
                self.server.poll()
            except Exception:  # a defect, but the viewers must not stand still for it
                log.exception("A change could not be shown to the viewers")
            self._turns.end()
            took = time.monotonic() - began
            time.sleep(max(LEAST_REST_SECONDS, took))  # a pace, not a wait for something

    def _bring_up_to_date(self) -> None:
        with self._registry.at_once():
            taken = {name: deltas[:] for name, deltas in self._pending.items() if deltas}
            for name in taken:
                self._pending[name].clear()
        for name, deltas in taken.items():
            delta = merge(deltas)
            if not delta.upserts.is_empty():
                self._tables[name].update(_arrow(delta.upserts))
            if not delta.removes.is_empty():
                self._tables[name].remove(delta.removes.to_list())


class _Turns:
    """Counts the times that changes are brought in, so that one can wait for one that begins after now."""

    def __init__(self) -> None:
        self._begun = self._ended = 0
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._begun += 1

    def end(self) -> None:
        with self._changed:
            self._ended = self._begun
            self._changed.notify_all()

    def next(self) -> int:
        with self._changed:
            return self._begun + 1

    def wait_for(self, turn: int, seconds: float) -> None:
        """Until it has ended, if that takes no longer."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended >= turn, seconds)


class _PerspectiveSession(Protocol):
    def handle_request(self, request: bytes) -> None: ...

    def close(self) -> None: ...


class Session:
    """One viewer's socket. Perspective answers from threads of its own."""

    def __init__(self, websocket: WebSocket, server: perspective.Server, pool: ThreadPoolExecutor) -> None:
        self._websocket, self._server, self._pool = websocket, server, pool
        self._loop = asyncio.get_running_loop()
        self._answers = Outbox[bytes](QUEUED_MESSAGES, QUEUED_BYTES)
        self._unwanted, self._ended = asyncio.Event(), asyncio.Event()

    async def end(self) -> None:
        """Returns when it is over, and its views are deleted."""
        self._unwanted.set()
        await self._ended.wait()

    async def run(self) -> None:
        await self._websocket.accept()
        session = self._server.new_session(self._emit)
        behind = self._answers.behind
        work = (self._receive(session), self._send(), behind.wait(), self._unwanted.wait())
        tasks = [asyncio.create_task(task) for task in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._loop.run_in_executor(self._pool, session.close)
            self._ended.set()
        if behind.is_set():
            # Last: it waits until the viewer reads on, which may be never.
            with suppress(WebSocketDisconnect, RuntimeError):
                await self._websocket.close(TRY_AGAIN_LATER, "too slow: start over")

    def _emit(self, message: bytes) -> None:
        self._answers.put(bytes(message), len(message))

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
                await self._loop.run_in_executor(self._pool, session.handle_request, request)
        except (WebSocketDisconnect, KeyError):  # KeyError: text where bytes belong
            return

    async def _send(self) -> None:
        try:
            while True:
                await self._websocket.send_bytes(await self._answers.take())
        except (WebSocketDisconnect, RuntimeError, FellBehind):  # RuntimeError: the socket was closed meanwhile
            return


def reads_only(request: bytes) -> bool:
    """Is this one whole request, and one that only reads?"""
    fields = asked(request)
    return bool(fields) and all(field in READING for field in fields)


def unused_port(request: bytes) -> bytes | None:
    """The answer to a request for a port, None to any other."""
    if asked(request) != [MAKE_PORT] or not request.endswith(_PORT_ASKED):
        return None
    return request.removesuffix(_PORT_ASKED) + _PORT_GIVEN


def asked(request: bytes) -> list[int]:
    """The fields that say what is asked for, usually one; none if this is not a whole request."""
    try:
        return [field for field in _fields(request) if field not in _ADDRESS]
    except ValueError:
        return []


def _fields(message: bytes) -> Iterator[int]:
    """The numbers of a protobuf message's fields, from its wire format."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                at += length
            case 5:
                at += 4
            case kind:
                raise ValueError(f"wire type {kind} is not used")
        if at > len(message):
            raise ValueError("a field is cut off")
        yield tag >> 3


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(message):
            raise ValueError("a number is cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise ValueError("a number is too long")


def _arrow(rows: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    # Perspective would end a text where a NUL is: it gets the sign for one.
    # This makes a frame of its own, too, and it has to: Polars locks the one it writes, and then waits for Python's
    # lock to write to a Python stream. Whoever holds Python's lock and reads the same frame would wait for ever.
    shown = rows.with_columns(cs.string().str.replace_all("\0", "␀", literal=True))
    shown.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()
