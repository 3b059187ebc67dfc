"""A child process with many remote clients of a table's server-sent changes, which read them and look at nothing.

`python -m bench.followers HOST PORT PATH`; then a question per line (see `Question`), an answer per line. A stream that
the server ends ends the process: the parent sees it.
"""

import asyncio
import os
import sys
import threading
from typing import TypedDict

from bench.child import answer_questions

NICENESS = 10
READ_BYTES = 1 << 16
CONNECT_SECONDS = 60.0
END = b"\n\n"


class Question(TypedDict):
    followers: int
    """So many are to be connected from now on; never fewer than before."""


class Followers:
    def __init__(self, host: str, port: int, path: str) -> None:
        self._host, self._port, self._path = host, port, path
        self._count = self._events = 0
        self._streams: list[asyncio.Task[None]] = []  # the loop alone would let them go
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="followers", daemon=True).start()

    def answer(self, question: Question) -> dict[str, object]:
        """How many events all of them have had together, and how many of them still read."""
        new = question["followers"] - self._count
        self._count += new
        asyncio.run_coroutine_threadsafe(self._connect(new), self._loop).result(CONNECT_SECONDS)
        return {"events": self._events, "open": sum(not stream.done() for stream in self._streams)}

    async def _connect(self, count: int) -> None:
        for _ in range(count):
            reader, writer = await asyncio.open_connection(self._host, self._port)
            writer.write(f"GET {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode())
            status = await reader.readline()
            if b" 200 " not in status:
                raise RuntimeError(f"{self._path}: {status.decode().strip()}")
            self._streams.append(self._loop.create_task(self._follow(reader, writer)))

    async def _follow(self, reader: asyncio.StreamReader, _kept_open: asyncio.StreamWriter) -> None:
        while piece := await reader.read(READ_BYTES):
            self._events += piece.count(END)
        print("the server has ended a stream", file=sys.stderr)
        os._exit(1)


if __name__ == "__main__":
    os.nice(NICENESS)
    answer_questions(Followers(sys.argv[1], int(sys.argv[2]), sys.argv[3]).answer)
