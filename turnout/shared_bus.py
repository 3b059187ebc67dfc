"""A bus that several Turnouts share: one of them leads, and the others follow it; those that may lead stand by."""

import logging
import threading
from typing import Protocol

from turnout.bus.announcer import Announcer
from turnout.bus.home import Home, home_of
from turnout.bus.lease import Lease, Tenure
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.config import Config
from turnout.errors import TurnoutError
from turnout.follower import Follower
from turnout.kafka.client import Cluster
from turnout.schema import Topics
from turnout.tables.public import PublicTables

STAND_BY_SECONDS = 0.1

log = logging.getLogger(__name__)


class Understudy(Protocol):
    """What hears of it while it stands by."""

    def follows(self, follower: Follower) -> None: ...
    def knows(self, topics: Topics) -> None:
        """What the leader shows: told once, to get ready to take over."""
        ...

    def waits(self, trouble: str | None) -> None:
        """Nobody leads that could be followed; and why, if that is known."""
        ...

    def deposed(self, error: TurnoutError) -> None: ...


class SharedBus:
    def __init__(
        self, config: Config, name: str, tables: PublicTables, intake: Intake, data: Cluster, bus: Cluster
    ) -> None:
        """`name` is what this server calls itself."""
        self._config, self._name, self._tables, self._intake = config, name, tables, intake
        self._data, self._bus, self._topics = data, bus, BusTopics(config.changelog.prefix)
        self._lease: Lease | None = None
        self.follower: Follower | None = None

    def follow(self) -> Follower:
        """Whoever leads, for ever."""
        lease = self._lease = Lease(self._bus, self._topics, self._name)
        lease.start()
        return self._followed(lease)

    def stand_by(self, understudy: Understudy, stopping: threading.Event) -> Announcer | None:
        """Until this is the one that leads, and tells the others what it shows; None: it is stopped before. If another
        one leads, that is followed meanwhile."""
        held, home = threading.Event(), home_of(self._config)
        replication = self._config.changelog.replication
        lease = self._lease = Lease(
            self._bus,
            self._topics,
            self._name,
            home.id,
            held.set,
            lambda leader: understudy.deposed(_deposed(leader)),
            replication,
        )
        lease.start()
        told, knows = None, False
        while not held.wait(STAND_BY_SECONDS) and not stopping.is_set():
            if self.follower is not None:
                if not knows and (live := self.follower.live) is not None:
                    understudy.knows(live.showing.topics)
                    knows = True
            elif (leader := lease.leader) is not None:
                self._check(leader, home)
                log.info("Standing by: %s leads", leader.name)
                understudy.follows(self._followed(lease))
            elif (trouble := lease.trouble) != told:
                understudy.waits(trouble)
                told = trouble
        if stopping.is_set():
            return None
        if self.follower is not None:
            self.follower.stop()  # its rows stay, until the first generation of our own is there
            self.follower = None  # and what it has read of the changelog does not
            self._tables.forget()
        return Announcer(self._bus, self._topics, self._name, lease.term, replication)

    @property
    def leads_for_sure(self) -> bool:
        return self._lease is not None and self._lease.is_sure

    def stop(self) -> None:
        """No longer follow. The lease is let go of last: see `release`."""
        if self.follower is not None:
            self.follower.stop()

    def release(self) -> None:
        """Another one may lead."""
        if self._lease is not None:
            self._lease.stop()

    def _followed(self, lease: Lease) -> Follower:
        follower = self.follower = Follower(
            self._config, self._bus, self._data, self._tables, self._intake, lambda: lease.leader is not None
        )
        follower.start()
        return follower

    def _check(self, leader: Tenure, home: Home) -> None:
        if leader.owner != home.id:
            raise TurnoutError(
                f"Another Turnout leads on this bus with the prefix {self._topics.prefix!r}: {leader.name}. It does "
                f"not go on from {home.place}, as this one would. To stand by for it, share its state directory "
                "(`state_dir`) or its checkpoints (`spark.checkpoints`); to run beside it, take a `changelog.prefix` "
                "of your own; to serve what it shows, use `turnout serve`."
            )


def _deposed(leader: str) -> TurnoutError:
    return TurnoutError(
        f"Another Turnout leads now: {leader}. This one was silent for too long, and ends, so that two do not lead. "
        "Start it again: it then stands by."
    )
