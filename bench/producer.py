"""Sends messages at a given rate, in a process of its own so that it takes no time from those it measures.

`python -m bench.producer BOOTSTRAP`; then a question per line on stdin (see `Question`), an answer per line.
"""

import sys
import time
from array import array
from collections.abc import Sequence
from typing import TypedDict

import polars as pl
from confluent_kafka import KafkaError, Message, Producer

from bench.child import answer_questions
from bench.messages import Plan

TICK_SECONDS = 0.001
"""The shortest sleep: at 10,000 messages a second, ten go out together."""

FLUSH_SECONDS = 60

BUSY_RATE = 1_000
"""From so many messages a second on, a producer bundles them."""

BUSY_LINGER_MS = 5
"""The default of Kafka's clients, and part of what is measured then. Without it, this producer's requests alone would
take half of a core from the broker at 10,000 messages a second; one that waits for nothing is for low rates."""


class Question(TypedDict):
    """Send messages `first` to `first + count`, `rate` a second, and write their times to `file`."""

    keys: int
    topics: tuple[str, str]
    """Of the left messages, and of the right ones."""
    first: int
    count: int
    rate: int
    file: str


class PacedProducer:
    def __init__(self, bootstrap: str) -> None:
        self._at_once, self._bundling = (_producer(bootstrap, linger_ms) for linger_ms in (0, BUSY_LINGER_MS))
        self._last_stamp = 0

    def send(self, question: Question) -> dict[str, object]:
        producer = self._at_once if question["rate"] < BUSY_RATE else self._bundling
        for topic in question["topics"]:  # so that not the first message finds out where they are
            producer.list_topics(topic)
        plan, stamps = Plan(question["keys"]), array("q")
        began = time.monotonic()
        while len(stamps) < question["count"]:
            due = min(question["count"], int((time.monotonic() - began) * question["rate"]) + 1)
            for number in range(question["first"] + len(stamps), question["first"] + due):
                stamps.append(self._send_one(producer, question["topics"], plan, number))
            producer.poll(0)
            next_is_due = began + len(stamps) / question["rate"]
            time.sleep(max(TICK_SECONDS, next_is_due - time.monotonic()))
        unsent = producer.flush(FLUSH_SECONDS)
        if unsent:
            raise RuntimeError(f"Kafka has not taken {unsent} messages within {FLUSH_SECONDS} s")
        pl.DataFrame({"stamp": pl.Series(stamps, dtype=pl.Int64)}).write_ipc(question["file"])
        return {}

    def _send_one(self, producer: Producer, topics: Sequence[str], plan: Plan, number: int) -> int:
        stamp = self._last_stamp = max(time.time_ns() // 1000, self._last_stamp + 1)
        producer.produce(topics[number % 2], plan.value(number, stamp), on_delivery=_fail)
        return stamp


def _producer(bootstrap: str, linger_ms: int) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": linger_ms,
            "queue.buffering.max.messages": 1_000_000,
            "delivery.report.only.error": True,
        }
    )


def _fail(error: KafkaError | None, message: Message) -> None:
    raise RuntimeError(f"Kafka has not taken a message to topic {message.topic()!r}: {error}")


if __name__ == "__main__":
    answer_questions(PacedProducer(sys.argv[1]).send)
