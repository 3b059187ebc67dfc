"""Who uses which topics of a bus that is not our own.

Several Turnouts may write to one Kafka, and one that is gone for good leaves its topics there. So each says on a
compacted topic, now and then, which pipelines are its own: what nobody has claimed for long is a leftover
(turnout.bus.leftovers).
"""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Collection, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from turnout.bus.topics import BusTopics
from turnout.errors import KafkaError, TurnoutError
from turnout.kafka.client import BROKERS_DEFAULT, Cluster, Record

CLAIM_SECONDS = 30.0
"""Between two claims. Leftovers are a matter of hours."""

READ_SECONDS = 10.0
_TOPIC = {"cleanup.policy": "compact"}
_OWNER_FILE = "owner"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    owner: str
    """The id of a state directory: whoever runs with it is the same Turnout."""
    host: str
    state_dir: str
    pipelines: tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """A claim, and when it was made last."""

    claim: Claim
    at_ms: int


_CLAIM = TypeAdapter(Claim)


class Claims:
    """Those that stand on a bus."""

    def __init__(self, bus: Cluster, topics: BusTopics, replication: int = BROKERS_DEFAULT) -> None:
        self._bus, self._topic, self._replication = bus, topics.claims, replication
        self._publisher = bus.publisher()

    def make(self, claim: Claim) -> None:
        if self._bus.missing([self._topic]):
            self._bus.create_topics([self._topic], 1, _TOPIC, self._replication)
        self._publisher.publish(self._topic, _CLAIM.dump_json(claim), claim.owner.encode())

    def withdraw(self, owner: str) -> None:
        self._publisher.publish(self._topic, None, owner.encode())

    def read(self) -> list[Seen]:
        """The last claim of each owner."""
        if self._bus.missing([self._topic]):
            return []
        last: dict[bytes, Record] = {}
        ends = self._bus.end_offsets(self._topic)
        waited = 0.0
        with closing(self._bus.reader([self._topic])) as reader:
            while not reader.reached(self._topic, ends):
                records = reader.poll(1.0)
                waited = 0.0 if records else waited + 1.0
                if waited > READ_SECONDS:
                    raise KafkaError(f"topic {self._topic!r} could not be read in {READ_SECONDS:g} s: {reader.trouble}")
                last |= {record.key or b"": record for record in records}
        return [Seen(claim, record.timestamp_ms) for record in last.values() if (claim := _parsed(record)) is not None]


class Claimant:
    """One thread: claims what there is every now and then, and at once when it is asked to."""

    def __init__(self, claims: Claims, state_dir: Path, pipelines: Callable[[], Iterable[str]]) -> None:
        self._claims, self._state_dir, self._pipelines = claims, state_dir, pipelines
        self._owner = owner_of(state_dir)
        self._failed = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="claims", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """It ends soon: nobody waits for a bus that does not answer."""
        self._stopping.set()

    def claim(self) -> None:
        pipelines = tuple(sorted(self._pipelines()))
        self._claims.make(Claim(self._owner, socket.gethostname(), str(self._state_dir.absolute()), pipelines))

    def _run(self) -> None:
        while not self._stopping.wait(CLAIM_SECONDS):
            try:
                self.claim()
                self._failed = False
            except KafkaError as error:
                if not self._failed:  # once, not every half a minute
                    log.warning("The topics on the bus could not be claimed, trying again: %s", error)
                self._failed = True


def owner_of(state_dir: Path) -> str:
    """The id of a state directory, made up when it is asked for first."""
    file = state_dir / _OWNER_FILE
    try:
        if not file.exists():
            made_up = file.with_suffix(f".{uuid.uuid4().hex[:12]}")
            made_up.write_text(uuid.uuid4().hex[:12])
            with suppress(FileExistsError):  # of several that start at once, the first one counts
                os.link(made_up, file)
            made_up.unlink()
        return file.read_text().strip()
    except OSError as error:
        raise TurnoutError(
            f"{file} cannot be read or written: {error.strerror}. Make the directory writable."
        ) from None


def claimed(seen: Collection[Seen], pipeline: str) -> Seen | None:
    """Who has claimed it last, if anybody has."""
    return max((one for one in seen if pipeline in one.claim.pipelines), key=lambda one: one.at_ms, default=None)


def _parsed(record: Record) -> Claim | None:
    if record.value is None:  # withdrawn
        return None
    try:
        return _CLAIM.validate_json(record.value, strict=True)
    except ValidationError:
        log.warning("%s/%d offset %d holds no claim: ignored", record.topic, record.partition, record.offset)
        return None
