"""Someone who has a table open all day: reads its changes, connects again when that breaks, and looks at each."""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tests.torture.messages import tags
from turnout.sse import ServerEvent, events

RECONNECT_SECONDS = 0.3
QUIET_SECONDS = 40.0
"""The service says that it is still there every 15 s."""

Rows = Mapping[str, Mapping[str, Any]]


class Viewer:
    def __init__(self, port: int, table: str, may_be_empty: Callable[[], bool]) -> None:
        self.table = table
        self.problems: list[str] = []
        """What nobody should ever have seen."""
        self.connections = 0
        self._port, self._may_be_empty = port, may_be_empty
        self._held: dict[str, Mapping[str, Any]] = {}
        self._generation = 0
        self._newest = 0  # generation of all that were ever seen
        self._lock = threading.Lock()
        self._reading = threading.Event()
        self._reading.set()
        self._dropped = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name=f"viewer of {table}", daemon=True)
        self._thread.start()

    def state(self) -> tuple[int, Rows]:
        with self._lock:
            return self._generation, dict(self._held)

    def pause(self) -> None:
        """Stop reading: what the service sends fills the buffers between."""
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    def drop(self) -> None:
        self._dropped.set()
        self.resume()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _run(self) -> None:
        while not self._dropped.is_set():
            try:
                self._follow()
            except (OSError, http.client.HTTPException, ValueError):  # also an event that was cut off in its middle
                self._dropped.wait(RECONNECT_SECONDS)

    def _follow(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=QUIET_SECONDS)
        try:
            connection.connect()
            self._socket = connection.sock
            connection.request("GET", f"/api/tables/{self.table}/changes")
            response = connection.getresponse()
            first = True
            for event in events(response):
                self._reading.wait()
                self._take(event, first)
                first = False
            raise OSError("the stream has ended")
        finally:
            connection.close()

    def _take(self, event: ServerEvent, first: bool) -> None:
        self.connections += first
        if first and event.kind != "snapshot":
            self._complain(f"a stream began with {event.kind}")
        generation = event.data["generation"]
        with self._lock:
            before, self._held = self._held, self._after(event)
            if not first:
                self._look(event.kind, generation, before)
            elif self._held:
                self._look_at_tags()
            self._generation, self._newest = generation, max(generation, self._newest)

    def _after(self, event: ServerEvent) -> dict[str, Mapping[str, Any]]:
        held = dict(self._held) if event.kind == "change" else {}
        for row in event.data.get("removes", ()):
            held.pop(row, None)
        held.update({row["_row"]: row for row in event.data["upserts" if event.kind == "change" else "rows"]})
        return held

    def _look(self, kind: str, generation: int, before: Rows) -> None:
        self._look_at_tags()
        if before and not self._held and not self._may_be_empty():
            self._complain(f"{len(before)} rows of generation {self._generation} became none by a {kind}")
        if kind == "change" and generation != self._generation:
            self._complain(f"a change of generation {generation} came after generation {self._generation}")
        if kind == "swap" and generation <= self._newest:
            self._complain(f"a swap to generation {generation} came after generation {self._newest}")

    def _look_at_tags(self) -> None:
        if len(found := tags(self._held.values())) > 1:
            self._complain(f"a mix of pairs {sorted(found)}")

    def _complain(self, text: str) -> None:
        self.problems.append(f"{time.strftime('%H:%M:%S')} viewer of {self.table}: {text}")
