"""Archives of the classes of Kafka and of Spark, as a JVM has them in memory: with them both start in half the time.

A start without one spends most of its time on reading and checking classes: eight thousand of the broker's, twenty-five
thousand of Spark's. An archive is an extra: without it, or with one that the JVM finds not to fit, all works as well,
only slower. Set-up makes them, once (turnout/fast_start.py).
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from turnout.java import Java

# Of classes that cannot be archived, and of an archive that does not fit, the JVM would tell on its output.
_QUIET = "-Xlog:cds*=error"

_FORM = "2"
"""Part of the names: raised when class paths are put together in another way, which earlier archives do not fit."""


@dataclass(frozen=True)
class ClassArchive:
    file: Path

    @property
    def flags(self) -> list[str]:
        """For a JVM to use it, if it is there."""
        return [f"-XX:SharedArchiveFile={self.file}", "-Xshare:auto", _QUIET] if self.file.exists() else []

    def make(self, trial_run: Callable[[Sequence[str]], None]) -> None:
        """By a run of a JVM with these flags, which ends by itself or by SIGTERM, not by SIGKILL."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.file.with_suffix(f".{os.getpid()}")
        try:
            trial_run([f"-XX:ArchiveClassesAtExit={unfinished}", _QUIET])
            if unfinished.exists():
                self._forget_earlier_ones()
                unfinished.rename(self.file)
        finally:
            unfinished.unlink(missing_ok=True)

    def _forget_earlier_ones(self) -> None:
        """They are large, and fit nothing any more."""
        name = self.file.name.split("-")[0]
        for earlier in self.file.parent.glob(f"{name}-*.jsa"):
            with suppress(FileNotFoundError):
                earlier.unlink()


def class_archive(folder: Path, name: str, java: Java, jars: Iterable[Path]) -> ClassArchive:
    """It fits one build of Java, and one class path as it is now, only."""
    files = [f"{jar} {jar.stat().st_mtime_ns}" for jar in jars]
    fits = hashlib.sha256("\n".join([_FORM, java.build, *files]).encode()).hexdigest()[:16]
    return ClassArchive(folder / f"{name}-{fits}.jsa")
