"""Switches a service back and forth, and watches as a remote viewer does."""

import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from confluent_kafka import Producer

from bench.messages import CONTROL_TOPIC
from turnout.client import Change, Client, Snapshot, Swap
from turnout.errors import TurnoutError
from turnout.kafka.client import Cluster
from turnout.schema import JoinType
from turnout.service import Service
from turnout.tables.registry import Event, Swapped

SWITCH_SECONDS = 60.0
SHOWN_LINES = 20


@dataclass(frozen=True)
class Pair:
    users: str
    accounts: str

    def messages(self, key: int) -> list[tuple[str, bytes]]:
        """A message for each side; the name tells the pair."""
        user = {"userId": f"u{key:06d}", "name": self.users, "email": "user@example.com", "age": key % 90}
        account = {"userId": f"u{key:06d}", "accountType": "standard", "balance": key / 8}
        return [(self.users, json.dumps(user).encode()), (self.accounts, json.dumps(account).encode())]


def fill(bootstrap: str, pair: Pair, keys: int) -> None:
    """Create the topics, with a message for each key on either side."""
    Cluster({"bootstrap.servers": bootstrap}).create_topics([pair.users, pair.accounts])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for key in range(keys):
        for topic, value in pair.messages(key):
            producer.produce(topic, value)
    producer.flush()


class Switcher:
    """Sends control messages to the topic, and waits for the swap in the public tables."""

    def __init__(self, service: Service, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._swapped = threading.Event()
        self._at = 0.0
        self._registry = service.tables.registry
        self._logs = service.tables.names.logs
        self._registry.subscribe(service.tables.names.joined, self._note)

    @property
    def generation(self) -> int:
        return self._registry.generation

    def to(self, pair: Pair, join: JoinType) -> float:
        """Seconds from sending the message to the swap."""
        message = {"usersTopic": pair.users, "accountsTopic": pair.accounts, "joinType": str(join)}
        self._swapped.clear()
        began = time.monotonic()
        self._producer.produce(CONTROL_TOPIC, json.dumps(message).encode())
        self._producer.flush()
        if not self._swapped.wait(SWITCH_SECONDS):
            said = self._registry.snapshot(self._logs).rows["msg"].to_list()[-SHOWN_LINES:]
            raise TurnoutError("\n  ".join([f"no swap to {message} within {SWITCH_SECONDS:g} s; the log says:", *said]))
        return self._at - began

    def _note(self, event: Event) -> None:
        if isinstance(event, Swapped):
            self._at = time.monotonic()
            self._swapped.set()


@dataclass(frozen=True)
class Seen:
    """What a viewer saw of the joined table."""

    events: int
    swaps: int
    empty: int
    """Moments without a row."""
    mixed: int
    """Moments with rows of two pairs."""
    longest_pause: float
    """Seconds between two events; under load that is how long the rows stood still."""


class Viewer:
    """A remote client that holds the table by its events, from now on until the server ends."""

    def __init__(self, url: str, table: str) -> None:
        self._stream = Client(url).table(table).changes(reconnect=False)
        self._held: dict[str, str] = {}
        self._generation = 0
        self._lock = threading.Condition()
        self._seen: list[tuple[float, str, int, int]] = []  # time, kind, rows, pairs
        threading.Thread(target=self._follow, name="viewer", daemon=True).start()

    def begin(self) -> None:
        with self._lock:
            self._seen.clear()

    def wait_for(self, generation: int) -> None:
        """Returns when it has seen this generation."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._generation >= generation, SWITCH_SECONDS):
                raise TurnoutError(f"the viewer has not seen generation {generation} within {SWITCH_SECONDS:g} s")

    def end(self) -> Seen:
        """What it saw since `begin`."""
        with self._lock:
            seen = list(self._seen)
        times = [at for at, *_ in seen]
        return Seen(
            len(seen),
            sum(kind == "swap" for _, kind, _, _ in seen),
            sum(rows == 0 for _, _, rows, _ in seen),
            sum(pairs > 1 for _, _, _, pairs in seen),
            max((later - earlier for earlier, later in pairwise(times)), default=0.0),
        )

    def _follow(self) -> None:
        with suppress(TurnoutError):  # the server has ended
            for event in self._stream:
                with self._lock:
                    self._take(event)
                    self._generation = event.generation
                    kind = type(event).__name__.lower()
                    self._seen.append((time.monotonic(), kind, len(self._held), len(set(self._held.values()))))
                    self._lock.notify_all()

    def _take(self, event: Snapshot | Change | Swap) -> None:
        if isinstance(event, Change):
            for id_ in event.removes:
                self._held.pop(id_, None)
            self._held.update({id_: row["name"] for id_, row in event.upserts.items()})
        else:
            self._held = {id_: row["name"] for id_, row in event.rows.items()}
