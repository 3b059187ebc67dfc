"""A real server over tables fed by hand, for a client's tests in any language: `python -m tests.clients.fed_server`.

The tests write a line of JSON and read one. Each order is a method of `Orders`, with the line's other fields as its
arguments; `{"order": "change", "rows": [["1", 10]]}` is answered with `{"answer": null}`. It ends with its input.
"""

import argparse
import json
import logging
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterable

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

import turnout.serve.changes
import turnout.serve.control_api
from tests.serve.feeding import change, swap
from tests.serve.publishing import Published
from tests.waiting import until
from turnout.config import load
from turnout.control.message import ControlMessage
from turnout.serve.app import create_app
from turnout.service import Service

Rows = Iterable[tuple[str, int | None]]


class Streams:
    """Counts the streams of changes that are open, by their path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get("path", "").endswith("/changes"):
            return await self._app(scope, receive, send)
        self.open[scope["path"]] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self.open[scope["path"]] -= 1


class FedServer:
    """One life of the server: it knows nothing of the one before."""

    def __init__(self, port: int) -> None:
        self.service = Service(load(None, env={}))
        self.published = Published(self.service, "applied")
        self.service.publish_control = self.published  # type: ignore[method-assign]  # there is no Kafka behind it
        self.streams = Streams(create_app(self.service))
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(self.streams, log_config=None, timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],))
        self._thread.start()
        until(lambda: self._server.started, "the server answers")

    def cut(self) -> None:
        """Break every connection, as a network does."""
        for connection in list(self._server.server_state.connections):
            connection.loop.call_soon_threadsafe(connection.transport.abort)

    def stop(self) -> None:
        self._server.should_exit = True
        self.cut()
        self._thread.join()
        self._listener.close()


class Orders:
    def __init__(self, port: int) -> None:
        self._fed = FedServer(port)
        self.port = self._fed.port

    def change(self, rows: Rows, removes: Iterable[str] = ()) -> None:
        change(self._fed.service, rows, removes)

    def fill(self, count: int) -> None:
        change(self._fed.service, [(str(number), number) for number in range(count)])

    def swap(self, generation: int, rows: Rows) -> None:
        swap(self._fed.service, generation, rows)

    def cut(self) -> None:
        self._fed.cut()

    def stop(self) -> None:
        self._fed.stop()

    def start(self) -> None:
        """Another server, in the place of the one that was stopped."""
        self._fed = FedServer(self.port)

    def streams(self, table: str) -> int:
        return self._fed.streams.open[f"/api/tables/{table}/changes"]

    def outcome(self, outcome: str | None) -> None:
        """What becomes of control messages from now on."""
        published = Published(self._fed.service, outcome)
        self._fed.service.publish_control = published  # type: ignore[method-assign]
        self._fed.published = published

    def conclude(self, offset: int, outcome: str) -> None:
        message = ControlMessage(0, offset, 0, self._fed.published.values[offset])
        self._fed.service.tables.outcome(message, outcome)

    def published(self) -> list[str]:
        return [value.decode() for value in self._fed.published.values]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--keep-alive-seconds", type=float, default=turnout.serve.changes.KEEP_ALIVE_SECONDS)
    options.add_argument("--outcome-seconds", type=float, default=turnout.serve.control_api.OUTCOME_SECONDS)
    given = options.parse_args()
    turnout.serve.changes.KEEP_ALIVE_SECONDS = given.keep_alive_seconds
    turnout.serve.control_api.OUTCOME_SECONDS = given.outcome_seconds
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # streams that are cut at a stop are meant
    orders = Orders(given.port)
    print(json.dumps({"port": orders.port}), flush=True)
    for line in sys.stdin:
        arguments = json.loads(line)
        answer = getattr(orders, arguments.pop("order"))(**arguments)
        print(json.dumps({"answer": answer}), flush=True)
    orders.stop()


if __name__ == "__main__":
    main()
