"""A child process with viewers that do not draw: what pages on other machines ask of the service, and nothing else.

`python -m bench.viewers URL [SORTED_BY]`; then a question per line (see `Question`), an answer per line. A viewer has
the views of the page's first layout, or one of the joined table that is sorted by a column. It fetches what a panel
shows of each one that has changed, once a frame at most.
"""

import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypedDict

import perspective
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from bench.child import answer_questions

NICENESS = 10
FRAME_SECONDS = 1 / 30
"""No page of six panels draws more often."""
PANEL_ROWS = 40

PANELS: dict[str, list[dict[str, Any]]] = {
    "final_ui": [
        {},
        {"group_by": ["accountType"], "columns": ["balance"], "aggregates": {"balance": "sum"}},
    ],
    "users_ui": [{}],
    "accounts_ui": [{}],
    "orchestrator_logs": [{"sort": [["ts", "desc"]]}],
    "orchestrator_status": [{}],
}


class Question(TypedDict):
    viewers: int
    """So many are to be open from now on."""


class Viewer:
    def __init__(self, url: str, panels: Mapping[str, list[dict[str, Any]]]) -> None:
        self.fetched = 0
        self._socket = connect(url, max_size=None)
        self._client = perspective.Client(self._send)
        self._changed: set[int] = set()
        self._news, self._closed = threading.Event(), threading.Event()
        threading.Thread(target=self._receive, name="receive", daemon=True).start()
        self._views = [self._client.open_table(name).view(**how) for name, all_ in panels.items() for how in all_]
        for number, view in enumerate(self._views):
            view.on_update(lambda *_, number=number: self._note(number))
        self._changed.update(range(len(self._views)))
        self._news.set()
        threading.Thread(target=self._show, name="show", daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        self._news.set()
        self._socket.close()

    def _send(self, request: bytes) -> None:
        with suppress(ConnectionClosed):  # of a viewer that is being closed
            self._socket.send(bytes(request))

    def _receive(self) -> None:
        with suppress(ConnectionClosed):
            for answer in self._socket:
                assert isinstance(answer, bytes)
                self._client.handle_response(answer)
        if not self._closed.is_set():
            print("the server has closed the connection", file=sys.stderr)
            os._exit(1)  # the parent sees it

    def _note(self, number: int) -> None:
        self._changed.add(number)
        self._news.set()

    def _show(self) -> None:
        while self._news.wait() and not self._closed.is_set():
            self._news.clear()
            while self._changed:
                self._views[self._changed.pop()].to_arrow(start_row=0, end_row=PANEL_ROWS)
                self.fetched += 1
            self._closed.wait(FRAME_SECONDS)


class Viewers:
    def __init__(self, url: str, sorted_by: str | None = None) -> None:
        self._url = url
        self._panels = PANELS if sorted_by is None else {"final_ui": [{"sort": [[sorted_by, "desc"]]}]}
        self._open: list[Viewer] = []

    def answer(self, question: Question) -> dict[str, object]:
        fetched = sum(viewer.fetched for viewer in self._open)
        while len(self._open) > question["viewers"]:
            self._open.pop().close()
        while len(self._open) < question["viewers"]:
            self._open.append(Viewer(self._url, self._panels))
        return {"fetched": fetched}


if __name__ == "__main__":
    os.nice(NICENESS)
    answer_questions(Viewers(*sys.argv[1:]).answer)
