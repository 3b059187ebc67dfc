"""WebDriver BiDi, the protocol that Firefox itself speaks over a websocket: commands with answers, and events."""

import itertools
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from websockets.sync.client import ClientConnection, connect

ANSWER_SECONDS = 60
"""The longest command loads a page of several MB on two busy cores."""

Fields = dict[str, Any]


class BidiError(Exception):
    """The browser's refusal of a command."""


def connected(url: str) -> AbstractContextManager[ClientConnection]:
    # No limits: a screenshot is one message, and events pile up while the test does something else.
    return connect(url, max_size=None, max_queue=None, ping_interval=None, proxy=None)


class Bidi:
    """One session, used by one thread: events are heard while an answer is waited for, in the order they came."""

    def __init__(self, socket: ClientConnection, heard: Callable[[str, Fields], None]) -> None:
        self._socket, self._heard = socket, heard
        self._ids = itertools.count(1)

    def command(self, method: str, **params: Any) -> Fields:
        """Its result, once all that was said before it has been heard."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            message: Fields = json.loads(self._socket.recv(timeout=max(0.0, deadline - time.monotonic())))
            if message["type"] == "event":
                self._heard(message["method"], message["params"])
            elif message["type"] == "error":
                raise BidiError(f"{method}: {message['error']}: {message['message']}")
            elif message["id"] == number:
                result: Fields = message["result"]
                return result
