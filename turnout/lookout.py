"""Looks at the topics now and then, so that whoever asks whether the tables are stale need not wait for Kafka."""

import logging
import threading
from collections.abc import Callable

LOOK_SECONDS = 2.0

log = logging.getLogger(__name__)


class Lookout:
    """One thread, from `start` to `stop`."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """It ends soon: nobody waits for a Kafka that does not answer."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self._look()
            except Exception:  # a defect, but readiness must not stand still for it
                log.exception("Looking after the topics failed in an unexpected way")
