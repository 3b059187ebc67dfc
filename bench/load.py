"""A steady stream of messages while something else is measured."""

import itertools
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from bench.switches import Pair

TICK_SECONDS = 0.02
KEYS = 500


class Load:
    """A context that sends to both topics of each pair, `rate` messages a second in all."""

    def __init__(self, bootstrap: str, pairs: Sequence[Pair], rate: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
        self._messages = itertools.cycle(
            [message for key in range(KEYS) for pair in pairs for message in pair.messages(key)]
        )
        self._rate = rate
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush()

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        while not self._stopping.wait(TICK_SECONDS):
            due = int((time.monotonic() - began) * self._rate)
            for topic, value in itertools.islice(self._messages, due - sent):
                self._producer.produce(topic, value)
            sent = due
            self._producer.poll(0)
