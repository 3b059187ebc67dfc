"""Makes the broker start in half the time: an archive of its classes, as the JVM has them in memory.

A start without one spends most of its time on reading and checking eight thousand classes. Set-up makes it once
(`python -m turnout.kafka.class_archive`, by a trial run of a broker), beside the jars. It is an extra: without it, or
with one that the JVM finds not to fit, all works as well, only slower.
"""

import hashlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from turnout.errors import TurnoutError
from turnout.java import Java, find_java, java_parts

DUMP_SECONDS = 60.0
"""Writing the archive at the end of the trial run takes about three."""


def archive_flags(java: Java, jars: Sequence[Path]) -> list[str]:
    """JVM flags that use the archive, if there is one for this Java and these jars."""
    file = _archive_file(java, jars)
    return [f"-XX:SharedArchiveFile={file}", "-Xshare:auto"] if file.exists() else []


def make_archive(jars: Sequence[Path], progress: Callable[[str], None]) -> None:
    """Does nothing if it is there."""
    file = _archive_file(find_java(), jars)
    if file.exists():
        return
    progress("Preparing a fast start for Kafka (once) …")
    unfinished = file.with_suffix(f".{os.getpid()}")
    try:
        _trial_run(jars, unfinished)
        if unfinished.exists():
            unfinished.rename(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _archive_file(java: Java, jars: Sequence[Path]) -> Path:
    """An archive fits one build of Java and one class path only."""
    fits = hashlib.sha256("\n".join([java.build, *map(str, jars)]).encode()).hexdigest()[:16]
    return jars[0].parent.parent / f"broker-{fits}.jsa"


def _trial_run(jars: Sequence[Path], archive: Path) -> None:
    from turnout.kafka.embedded import EmbeddedBroker  # it uses this module itself

    with tempfile.TemporaryDirectory(prefix="turnout-") as folder:
        broker = EmbeddedBroker(Path(folder), jars, jvm_flags=[f"-XX:ArchiveClassesAtExit={archive}"])
        with broker:
            # Not by stop(), which would not wait for the archive to be written.
            os.kill(broker.pid, signal.SIGTERM)
            deadline = time.monotonic() + DUMP_SECONDS
            while broker.alive and time.monotonic() < deadline:
                time.sleep(0.1)


def main() -> int:
    def say(text: str) -> None:
        print(text, flush=True)

    try:
        make_archive(java_parts(say).broker, say)
    except TurnoutError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
