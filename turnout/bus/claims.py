"""Who uses which topics of a bus that is not our own.

Several Turnouts may write to one Kafka, and one that is gone for good leaves its topics there. So each says on a
compacted topic, now and then, which pipelines are its own: what nobody has claimed for long is a leftover
(turnout.bus.leftovers).
"""

import logging
import socket
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from turnout.bus.compacted import COMPACTED, last_records
from turnout.bus.home import Home
from turnout.bus.topics import BusTopics
from turnout.errors import KafkaError
from turnout.kafka.client import BROKERS_DEFAULT, Cluster, Record

CLAIM_SECONDS = 30.0
"""Between two claims. Leftovers are a matter of hours."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    owner: str
    """The id of its home: whoever runs with that is the same Turnout."""
    host: str
    home: str
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
            self._bus.create_topics([self._topic], 1, COMPACTED, self._replication)
        self._publisher.publish(self._topic, _CLAIM.dump_json(claim), claim.owner.encode())

    def withdraw(self, owner: str) -> None:
        self._publisher.publish(self._topic, None, owner.encode())

    def read(self) -> list[Seen]:
        """The last claim of each owner."""
        found = [(_parsed(record), record.timestamp_ms) for record in last_records(self._bus, self._topic)]
        return [Seen(claim, at_ms) for claim, at_ms in found if claim is not None]


class Claimant:
    """One thread: claims what there is every now and then, and at once when it is asked to."""

    def __init__(self, claims: Claims, home: Home, pipelines: Callable[[], Iterable[str]]) -> None:
        self._claims, self._home, self._pipelines = claims, home, pipelines
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
        self._claims.make(Claim(self._home.id, socket.gethostname(), self._home.place, pipelines))

    def _run(self) -> None:
        while not self._stopping.wait(CLAIM_SECONDS):
            try:
                self.claim()
                self._failed = False
            except KafkaError as error:
                if not self._failed:  # once, not every half a minute
                    log.warning("The topics on the bus could not be claimed, trying again: %s", error)
                self._failed = True
            except Exception:  # a defect; but what nobody claims is a leftover one day
                if not self._failed:
                    log.exception("The topics on the bus could not be claimed, for an unexpected reason, trying again")
                self._failed = True


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
