"""Starts the embedded broker again when it dies: it is Turnout's own, so nobody else will."""

import logging
import threading

from turnout.errors import KafkaError
from turnout.kafka.embedded import EmbeddedBroker

LOOK_SECONDS = 0.5
FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0

log = logging.getLogger(__name__)


class Keeper:
    """One thread that looks after a broker, from `start` to `stop`."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.restarts = 0
        """How often the broker was started again."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="broker keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """After this the broker may be stopped for good."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        retry_seconds = FIRST_RETRY_SECONDS
        while not self._stopping.wait(LOOK_SECONDS):
            if self._broker.alive:
                retry_seconds = FIRST_RETRY_SECONDS
            elif not self._started_again():
                self._stopping.wait(retry_seconds)
                retry_seconds = min(2 * retry_seconds, LONGEST_RETRY_SECONDS)

    def _started_again(self) -> bool:
        log.error("The embedded Kafka broker has died: starting it again")
        try:
            self._broker.start()
        except KafkaError as error:
            log.error("The embedded Kafka broker does not start again, will try later: %s", error)
            return False
        self.restarts += 1
        log.info("The embedded Kafka broker runs again")
        return True
