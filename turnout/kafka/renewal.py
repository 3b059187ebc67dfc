"""Which login to a cluster is used: the one that was read first, until the files hold another that works."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from turnout.errors import TurnoutError
from turnout.kafka.credentials import Credentials, Traces
from turnout.kafka.link import Link
from turnout.properties import Properties

TRY_SECONDS = 4.0
"""For a broker to answer to a new login."""
RETRY_SECONDS = 5.0
"""A password may be in its file before the brokers know it. So what does not work is tried again."""

log = logging.getLogger(__name__)


@dataclass
class _Attempt:
    """A login that has not worked yet."""

    traces: Traces
    link: Link | None = None
    reason: str | None = None
    next_at: float = 0.0


class Renewal:
    """Thread-safe. One thread tries a new login, the others go on with the old one meanwhile."""

    def __init__(self, written: Properties) -> None:
        self._written = written
        self.link = Link(Credentials.read(written))
        self._attempt: _Attempt | None = None
        self._trying = threading.Lock()

    @property
    def trouble(self) -> str | None:
        """Why a login that has changed is not used."""
        attempt = self._attempt
        if attempt is None or attempt.reason is None:
            return None
        return f"the login to {self.link.bootstrap} has changed, and does not work: {attempt.reason}"

    def look(self, topics: Sequence[str]) -> None:
        """Look whether the login has changed, which costs next to nothing, and if so try it by asking for topics."""
        if not topics or not self._trying.acquire(blocking=False):
            return
        try:
            traces = self.link.credentials.traced()
            if traces == self.link.credentials.traces:
                self._attempt = None
                return
            if self._attempt is None or self._attempt.traces != traces:
                self._attempt = _Attempt(traces)
            if time.monotonic() >= self._attempt.next_at:
                self._try(self._attempt, topics)
        finally:
            self._trying.release()

    def _try(self, attempt: _Attempt, topics: Sequence[str]) -> None:
        try:
            if attempt.link is None:
                attempt.link = Link(Credentials.read(self._written))
            attempt.link.describe(topics, TRY_SECONDS)
        except TurnoutError as error:
            if attempt.reason is None:
                log.warning("The login to %s has changed, and does not work yet: %s", self.link.bootstrap, error)
            attempt.reason, attempt.next_at = str(error), time.monotonic() + RETRY_SECONDS
            return
        self.link, self._attempt = attempt.link, None
        log.info("The login to %s has changed, and is used from now on", self.link.bootstrap)
