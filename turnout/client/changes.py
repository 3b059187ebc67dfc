"""A table's events, for ever: through cut connections and restarts of the server."""

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Self, TypedDict, Unpack

from turnout.client.continuity import Continuity
from turnout.client.errors import TurnoutError, Unavailable, Unreachable
from turnout.client.events import Event, event_of
from turnout.client.server import ANSWER_SECONDS, Server
from turnout.sse import events

QUIET_SECONDS = 40.0
"""How long a stream may be silent before it is taken for dead: the server says that it is still there every 15 s."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 8.0
"""Before connecting again: twice as long each time. A server that is back is found before anyone looks twice."""


class Options(TypedDict, total=False):
    """How a table is followed."""

    reconnect: bool
    """False: when the connection breaks off, that is raised."""
    quiet_seconds: float
    """How long it may be silent before it is taken for dead: 40 s."""
    on_connection: Callable[[TurnoutError | None], None]
    """Told what is wrong when the connection is lost, and None when it is back; by the thread that reads."""


class Changes(Iterator[Event]):
    """First a `Snapshot`, then each `Change` and `Swap` as it comes.

    When the connection breaks it connects again, as often as it takes, and goes on with a new `Snapshot`; rows that are
    held stay until a server that has just started shows something (see `Continuity`). It ends when it is closed, or
    dropped, and raises if the server cannot be reached at first, or refuses (there is no such table).
    """

    def __init__(self, server: Server, path: str, **options: Unpack[Options]) -> None:
        # Neither refers back to this: so it all ends as soon as nobody holds this any more.
        self._line = _Line(server, path, **options)
        self._events = self._line.events()

    def __next__(self) -> Event:
        return next(self._events)

    @property
    def problem(self) -> TurnoutError | None:
        """What is wrong with the connection now; None: nothing."""
        return self._line.problem

    @property
    def starting(self) -> bool:
        """The server was restarted and shows nothing yet: what is held is from before."""
        return self._line.continuity.withholding

    def close(self) -> None:
        """End it, from any thread, also while another waits for the next event."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Line:
    """One connection after the other."""

    def __init__(
        self,
        server: Server,
        path: str,
        reconnect: bool = True,
        quiet_seconds: float = QUIET_SECONDS,
        on_connection: Callable[[TurnoutError | None], None] = lambda _: None,
    ) -> None:
        self.problem: TurnoutError | None = None
        self.continuity = Continuity()
        self._server, self._path = server, path
        self._reconnect, self._quiet_seconds, self._on_connection = reconnect, quiet_seconds, on_connection
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def events(self) -> Iterator[Event]:
        been_connected, pause = False, FIRST_PAUSE_SECONDS
        while not self._closed.is_set():
            try:
                for event in self._connected():
                    been_connected, pause = True, FIRST_PAUSE_SECONDS
                    self._note(None)
                    if (told := self.continuity.passed_on(event)) is not None:
                        yield told
            except (Unreachable, Unavailable) as error:
                if self._closed.is_set():
                    return
                if not (self._reconnect and been_connected):
                    raise
                self._note(error)
            # Not all clients at the same moment.
            self._closed.wait(pause * random.uniform(0.7, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _connected(self) -> Iterator[Event]:
        """The events of one connection, which ends by an error."""
        with self._server.explained(ANSWER_SECONDS):
            connection = self._server.connection(ANSWER_SECONDS)
        stream: socket.socket = connection.sock
        try:
            with self._lock:
                self._socket = stream
            with self._server.explained(ANSWER_SECONDS):
                response = self._server.answer(connection, self._path)
            stream.settimeout(self._quiet_seconds)
            with self._server.explained(self._quiet_seconds):
                for said in events(response):
                    if self._closed.is_set():
                        break
                    if (event := event_of(said)) is not None:
                        yield event
        finally:
            with self._lock:
                self._socket = None
            connection.close()
        raise Unreachable(f"The connection to {self._server.url} was ended from there.")

    def _note(self, problem: TurnoutError | None) -> None:
        before, self.problem = self.problem, problem
        if (before is None) != (problem is None):
            self._on_connection(problem)
