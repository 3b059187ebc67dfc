"""A remote client of a table's server-sent changes, in a process of its own.

`python -m bench.client HOST PORT PATH`; then a question per line (see `bench.seen.Question`), an answer per line.

An event counts as there when its last byte is. What is in it is looked up only when asked, after the load: a remote
client would do that on a machine of its own.
"""

import http.client
import os
import sys
import threading
from collections import deque

import orjson

from bench.child import answer_questions
from bench.messages import LEFT_STAMP, RIGHT_STAMP
from bench.seen import Question, Update, answer, now_us

END = b"\n\n"
READ_BYTES = 1 << 16


class SseClient:
    def __init__(self, host: str, port: int, path: str) -> None:
        self._events: deque[tuple[int, bytes]] = deque()
        self._connection = http.client.HTTPConnection(host, port)
        self._connection.request("GET", path, headers={"Accept": "text/event-stream"})
        self._response = self._connection.getresponse()
        if self._response.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {self._response.status} {self._response.reason}")
        threading.Thread(target=self._follow, name="follow", daemon=True).start()

    def tell(self, question: Question) -> dict[str, int]:
        return answer(self._take, question)

    def _follow(self) -> None:
        text = bytearray()
        while piece := self._response.read1(READ_BYTES):
            now = now_us()
            searched = max(0, len(text) - len(END) + 1)
            text += piece
            while (end := text.find(END, searched)) >= 0:
                self._events.append((now, bytes(text[:end])))
                del text[: end + len(END)]
                searched = 0
        print("the server has ended the stream", file=sys.stderr)
        os._exit(1)  # the parent sees it; the main thread may wait for a question for ever

    def _take(self) -> list[Update]:
        events = [self._events.popleft() for _ in range(len(self._events))]
        return [update for arrived, text in events if (update := _update(arrived, text)) is not None]


def _update(arrived: int, text: bytes) -> Update | None:
    fields = dict(line.split(b": ", 1) for line in text.split(b"\n"))
    if b"data" not in fields:  # a comment that keeps the connection alive
        return None
    data = orjson.loads(fields[b"data"])
    changed = fields[b"event"] == b"change"
    rows = data["upserts" if changed else "rows"]
    return Update(arrived, [row[LEFT_STAMP] for row in rows], [row[RIGHT_STAMP] for row in rows], not changed)


if __name__ == "__main__":
    answer_questions(SseClient(sys.argv[1], int(sys.argv[2]), sys.argv[3]).tell)
