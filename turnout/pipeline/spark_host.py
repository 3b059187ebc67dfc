"""The Spark session, and another one after its process has died."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pyspark import SparkContext
from pyspark.sql import SparkSession

from turnout.errors import TurnoutError

log = logging.getLogger(__name__)


class SparkHost:
    """Whoever needs Spark asks here each time, and waits while it starts."""

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        self._start = start
        self._session: SparkSession | None = None
        self._lock = threading.Lock()
        self._stopped = False
        self.restarts = 0
        """How often another one had to be started."""

    @property
    def pid(self) -> int | None:
        """Of Spark's process; None: there is none yet, or it is not ours, as on a cluster that is connected to."""
        session = self._session  # without the lock, which is held while Spark starts
        process = getattr(session.sparkContext._gateway, "proc", None) if session is not None else None
        return process.pid if process is not None and process.poll() is None else None

    def session(self) -> SparkSession:
        """The session that runs; a new one if there is none, or if the process of the last one is gone."""
        with self._lock:
            if self._session is not None and not _runs(self._session):
                log.warning("Spark's process is gone: starting another one")
                _forget(self._session)
                self._session = None
                self.restarts += 1
            if self._stopped:
                raise TurnoutError("Turnout is stopping")
            if self._session is None:
                self._session = self._started()
            return self._session

    def stop(self) -> None:
        """Stop Spark, unless it is just starting: then it stops as soon as it has started."""
        self._stopped = True
        if self._lock.acquire(blocking=False):
            try:
                self._stop_session()
            finally:
                self._lock.release()

    def _started(self) -> SparkSession:
        log.info("Starting Spark")
        began = time.monotonic()
        try:
            session = self._start()
        except Exception as cause:  # whatever it is, whoever waits for Spark has to know
            raise TurnoutError(f"Spark does not start: {cause}") from cause
        log.info("Spark started in %.1f s", time.monotonic() - began)
        if self._stopped:
            session.stop()
            raise TurnoutError("Turnout is stopping")
        return session

    def _stop_session(self) -> None:
        if self._session is not None and _runs(self._session):
            self._session.stop()
        self._session = None


def _runs(session: SparkSession) -> bool:
    """Does the process of its JVM run? Nobody tells: PySpark only finds its connection refused."""
    process = getattr(session.sparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def _forget(session: SparkSession) -> None:
    """Make room for another session: PySpark keeps one per process, and would hand out the dead one again."""
    with suppress(Exception):  # it can no longer be reached, which is why we are here
        session.stop()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
