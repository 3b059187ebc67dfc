"""Two pairs of topics that somebody sends to all the time, and what a service must show of them by the oracle."""

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Self

from tests.live.rig import Sender
from tests.oracle import Message, Oracle, Table
from tests.torture.process import ServiceProcess, Unreachable
from tests.waiting import until
from turnout.kafka.client import Cluster

READY_SECONDS = 240.0
"""For Spark to start and a generation to be shown, or another one, on a machine that is busy with other things."""

PARTITIONS, KEYS, KEEP = 2, 20, 3

COLUMNS = {
    "users": {"userId": "string", "name": "string", "age": "long"},
    "accounts": {"userId": "string", "balance": "double"},
}
PAIRS = (("users", "accounts"), ("users_b", "accounts_b"))


def create_topics(bootstrap: str) -> Cluster:
    admin = Cluster({"bootstrap.servers": bootstrap})
    admin.create_topics([topic for pair in PAIRS for topic in pair], PARTITIONS)
    admin.create_topics(["control"])
    return admin


def config(bootstrap: str, port: int, **more: object) -> Mapping[str, object]:
    """Of a Turnout on these topics, whose bus is the same Kafka."""
    settings = {"keep": KEEP, "start": "earliest"}
    return {
        "kafka": {"bootstrap.servers": bootstrap},
        "bus": {"bootstrap.servers": bootstrap},
        "tables": {name: {"topic": name, "columns": columns, **settings} for name, columns in COLUMNS.items()},
        "join": {"left": "users", "right": "accounts", "on": "userId"},
        "switch": {"ready_timeout_seconds": READY_SECONDS},
        "serve": {"port": port},
        **more,
    }


class Load:
    """Sends to all pairs of topics, and knows what it has sent."""

    def __init__(self, bootstrap: str, pairs: Sequence[tuple[str, str]] = PAIRS) -> None:
        self._sender, self._random = Sender(bootstrap), Random(7)
        self.sent: dict[tuple[str, str], list[Message]] = {pair: [] for pair in pairs}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def send(self, count: int) -> None:
        for _ in range(count):
            pair = self._random.choice([*self.sent])
            side = self._random.choice(("left", "right"))
            row: dict[str, str | int | float | None] = {"userId": f"key {self._random.randrange(KEYS)}"}
            row |= (
                {"name": pair[0], "age": self._random.randrange(99)}
                if side == "left"
                else {"balance": self._random.random()}
            )
            topic, partition = pair[0 if side == "left" else 1], self._random.randrange(PARTITIONS)
            message = self._sender.send(topic, json.dumps(row).encode(), partition)
            offset, (_, timestamp) = message.offset(), message.timestamp()
            assert offset is not None
            self.sent[pair].append(Message(side, timestamp, partition, offset, row))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="load")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        assert self._thread is not None
        self._thread.join()
        self._stopping.clear()

    def _run(self) -> None:
        while not self._stopping.wait(0.02):
            self.send(2)


def rows(service: ServiceProcess) -> Table | None:
    columns = [*COLUMNS["users"], "balance"]
    with suppress(Unreachable):
        return Counter(tuple(row[name] for name in columns) for row in service.table("final_ui")[1])
    return None


def shows(service: ServiceProcess, load: Load, pair: tuple[str, str], join: str) -> None:
    oracle = Oracle(list(COLUMNS["users"]), list(COLUMNS["accounts"]), "userId", KEEP, KEEP)
    expected = oracle.tables(load.sent[pair], join, "latest")["joined"]
    try:
        until(lambda: rows(service) == expected, "", READY_SECONDS)
    except AssertionError:
        assert rows(service) == expected, f"{pair}, {join}: {service.log.read_text()[-3000:]}"


def switch(service: ServiceProcess, pair: tuple[str, str], join: str) -> str:
    message = {"usersTopic": pair[0], "accountsTopic": pair[1], "joinType": join}
    return outcome(service, "/api/control", json.dumps(message).encode())


def undo(service: ServiceProcess) -> str:
    return outcome(service, "/api/undo")


def outcome(service: ServiceProcess, path: str, body: bytes = b"") -> str:
    """What becomes of the control message that this publishes: the answer says it, unless it takes too long for one."""
    status, answer = service.post(path, body)
    assert status in (200, 202, 422), f"POST {path} {body!r}: {status} {answer}"

    def is_known() -> bool:
        nonlocal answer
        with suppress(Unreachable):  # a message that has not been read yet is not found
            answer = service.get(f"/api/control/{answer['id']}")
        return answer.get("outcome") is not None

    if status == 202:
        until(is_known, f"the outcome of {body!r}", READY_SECONDS)
    return str(answer["outcome"])
