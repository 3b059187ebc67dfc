"""The public tables inside a Perspective server, for pages to read.

Perspective does nothing until it is polled. So all that has changed goes in first, of all tables, and then one poll
shows it: a viewer never sees half of a swap.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import perspective
from starlette.websockets import WebSocket

from turnout.serve.audience import Audience, Protocol
from turnout.serve.perspective_session import Session
from turnout.serve.perspective_table import PerspectiveTable
from turnout.serve.shared_lock import SharedLock
from turnout.tables.delta import ROW, Delta, merge
from turnout.tables.registry import Changed, Event, Registry

# Under load an update is shown at most this often; a change that comes alone is shown at once. Rest at least as long
# as the last update took: half the time is left for those who ask.
LEAST_REST_SECONDS = 0.05
# While nobody looks on; whoever comes is shown what there is at once. The longer, the more of what came is gone again
# before it is brought in: rows of a busy key.
UNWATCHED_REST_SECONDS = 5.0
# How long a viewer is made to wait for what is on its way: a swap of 100,000 rows takes a second.
SETTLE_SECONDS = 5.0
log = logging.getLogger(__name__)


class PerspectiveTables:
    """Follows every public table; one thread brings what has changed into the Perspective server."""

    def __init__(self, registry: Registry, audience: Audience, with_ids: Collection[str]) -> None:
        """`with_ids` are the tables of whose rows viewers see the ids."""
        self._registry, self._audience, self._with_ids = registry, audience, with_ids
        self._wake = threading.Event()
        self.server = perspective.Server(on_poll_request=lambda *_: self._wake.set())
        self._client = self.server.new_local_client()
        self._stopping = False
        self._called = threading.Event()
        """Somebody waits: no more rest."""
        self._pending: dict[str, list[Delta]] = {name: [] for name in registry.tables}
        self._tables = {name: self._made(name) for name in registry.tables}
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="perspective")
        self._sessions: dict[str, Session] = {}
        self._asking = SharedLock()
        self._turns = _Turns()
        self._thread = threading.Thread(target=self._run, name="perspective", daemon=True)

    def start(self) -> None:
        for name in self._tables:
            self._subscribe(name)
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._called.set()
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def serve(self, websocket: WebSocket, viewer: str | None) -> None:
        """Until the viewer goes."""
        session = Session(websocket, self.server, self._pool, self._asking)
        with self._audience.member(Protocol.PERSPECTIVE, lambda: session.answers):
            await self._serve(session, viewer)
        if session.fell_behind:
            self._audience.fell_behind[Protocol.PERSPECTIVE] += 1
            await session.dismiss()

    async def _serve(self, session: Session, viewer: str | None) -> None:
        """A viewer that comes back asks for the same views again, under the same names: its old ones go first."""
        # What the tables have now has to be here too: who comes because something is shown must not find nothing.
        turn = self._turns.next()
        self._wake.set()
        self._called.set()
        await asyncio.to_thread(self._turns.wait_for, turn, SETTLE_SECONDS)
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

    @property
    def _watched(self) -> bool:
        return self._audience.viewers(Protocol.PERSPECTIVE) > 0

    def _made(self, name: str) -> PerspectiveTable:
        rows = self._registry.snapshot(name).rows
        return PerspectiveTable(self._client, name, rows.clear(), with_ids=name in self._with_ids)

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
            except Exception:  # a defect, but the viewers must not stand still for it
                log.exception("A change could not be shown to the viewers")
            self._turns.end()
            took = time.monotonic() - began
            self._called.wait(max(LEAST_REST_SECONDS if self._watched else UNWATCHED_REST_SECONDS, took))
            self._called.clear()

    def _bring_up_to_date(self) -> None:
        with self._registry.at_once():
            taken = {self._tables[name]: deltas[:] for name, deltas in self._pending.items() if deltas}
            worn = {table: self._registry.snapshot(table.name).rows for table in taken if table.worn}
            for deltas in self._pending.values():
                deltas.clear()
        # A table is empty while it is filled anew, until the poll: nobody may ask meanwhile.
        with self._asking.alone() if worn else nullcontext():
            for table, deltas in taken.items():
                if table in worn:
                    table.refill(worn[table])
                else:
                    table.change(merge(deltas))
            self.server.poll()
        for table in taken:
            table.tidy()


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
