"""Reads the bulletin with the login of this moment, and knows when it has to be opened anew."""

import threading
import time
from collections.abc import Callable

from turnout.kafka.client import Cluster, Record
from turnout.kafka.topic_watch import ANSWER_SECONDS, ASK_SECONDS, TopicWatch

DOUBT_SECONDS = ASK_SECONDS + ANSWER_SECONDS + 1.0
"""Until a reader in trouble is replaced: by then the watch has said whether the bus answers anybody at all."""


class BulletinReader:
    """One reader, from the topic's beginning, and the watch over its topic and its login."""

    def __init__(self, bus: Cluster, topic: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._topic, self._clock = topic, clock
        states, credentials = bus.states([topic]), bus.credentials  # before it is opened: a change since then is seen
        self.topic_id = states[topic].id
        self._ends = bus.end_offsets(topic)
        self._changed = threading.Event()
        self._unanswered: str | None = None
        self._caught_up = False
        self._troubled_since: float | None = None
        self._reader = bus.reader([topic])
        self._watch = TopicWatch(bus, credentials, states, lambda _: self._changed.set(), self._note)
        self._watch.start()

    def poll(self, seconds: float) -> list[Record]:
        records = self._reader.poll(seconds)
        self._caught_up = self._caught_up or self._reader.reached(self._topic, self._ends)
        if self._reader.trouble is None or self._unanswered is not None:
            self._troubled_since = None
        elif self._troubled_since is None:
            self._troubled_since = self._clock()
        return records

    @property
    def caught_up(self) -> bool:
        """Has all been read that was there when this began?"""
        return self._caught_up

    @property
    def is_over(self) -> bool:
        """The topic or the login is no longer the same; or the reader was in trouble, of which it does not tell whether
        it is over where nothing comes."""
        since = self._troubled_since
        is_doubtful = self._caught_up and since is not None and self._clock() - since >= DOUBT_SECONDS
        return self._changed.is_set() or is_doubtful

    @property
    def trouble(self) -> str | None:
        """Why nothing can be read, or is not read with the login that it ought to be."""
        return self._unanswered or (None if self._caught_up else self._reader.trouble)

    def close(self) -> None:
        self._watch.stop()
        self._reader.close()

    def _note(self, trouble: str | None) -> None:
        """On the watch's thread."""
        self._unanswered = trouble
