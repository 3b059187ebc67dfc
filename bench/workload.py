"""A backlog: messages made up once, by a seed, and recorded; and what has to come of them, whoever joins them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from confluent_kafka import Producer

from bench.environments import HOME
from bench.messages import message
from bench.peers.peer import CHECK_MODULUS, Check, Join
from turnout.errors import TurnoutError

SEED = 7
HOT_KEYS, HOT_MESSAGES = 0.01, 0.5
"""The share of keys that are hot, and of messages that they get."""

FLUSH_SECONDS = 120
POLL_EVERY = 10_000


@dataclass(frozen=True)
class Workload:
    """So many messages, half of them on either side, on random keys."""

    messages: int
    keys: int
    hot: bool = False

    def recorded(self) -> pl.DataFrame:
        """number (from 1 on; it stands in the message as its time stamp), right (or left), key."""
        file = self._file()
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_suffix(".unfinished")
            self._made_up().write_ipc(unfinished)
            unfinished.rename(file)
        return pl.read_ipc(file.read_bytes())

    def produce(self, bootstrap: str, left: str, right: str) -> None:
        """All of it, a key's messages to one partition, in order."""
        # Idempotent: a request that is sent again must not bring messages twice, or after later ones.
        safe = {"enable.idempotence": True, "log_level": 3}  # not a word on a broker that is not quite ready for it
        queue = {"linger.ms": 20, "queue.buffering.max.messages": self.messages}
        producer = Producer({"bootstrap.servers": bootstrap, **safe, **queue})
        for number, is_right, key in self.recorded().iter_rows():
            producer.produce(right if is_right else left, message(is_right, key, number), b"u%06d" % key)
            if number % POLL_EVERY == 0:
                producer.poll(0)
        if unsent := producer.flush(FLUSH_SECONDS):
            raise TurnoutError(f"Kafka has not taken {unsent} messages within {FLUSH_SECONDS} s")

    def oracle(self, join: Join) -> Check:
        return oracle(self.recorded(), join)

    def _made_up(self) -> pl.DataFrame:
        numbers = pl.int_range(1, self.messages + 1, eager=True)
        keys = pl.Series(list(self._keys()))
        return pl.DataFrame({"number": numbers, "right": numbers % 2 == 0, "key": keys})

    def _keys(self) -> Iterator[int]:
        chance = random.Random(SEED)
        hot = max(1, int(self.keys * HOT_KEYS))
        for _ in range(self.messages):
            is_hot = self.hot and chance.random() < HOT_MESSAGES
            yield chance.randrange(hot) if is_hot else chance.randrange(self.keys)

    def _file(self) -> Path:
        hot = "-hot" if self.hot else ""
        return HOME / "workloads" / f"{self.messages}-messages-{self.keys}-keys{hot}-seed-{SEED}.arrow"


def oracle(messages: pl.DataFrame, join: Join) -> Check:
    """What the join of these messages has to hold, by a plain computation. They are recorded in their order."""
    left = _newest(messages.filter(~pl.col("right")), join.keep).select("key", left="number")
    right = _newest(messages.filter("right"), join.keep if join.inner else 1).select("key", right="number")
    joined = left.join(right, on="key", how="inner" if join.inner else "left").fill_null(0)
    checksum = joined.select(pl.col("left") + pl.col("left") * pl.col("right") % CHECK_MODULUS).to_series().sum()
    return Check(rows=joined.height, checksum=int(checksum))


def _newest(side: pl.DataFrame, keep: int | None) -> pl.DataFrame:
    return side if keep is None else side.group_by("key").tail(keep)
