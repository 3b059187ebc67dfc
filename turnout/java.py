"""Java itself, and the Java parts (Spark's Kafka connector, the embedded broker) that java/ivy.xml declares.

The parts are fetched once, by the Ivy that PySpark ships, into a cache outside the checkout. From then on neither
network nor Java is needed to find them. `python -m turnout.java` does that and shows how far it is.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from turnout.errors import SetupError

OLDEST_JAVA = 17
"""PySpark 4 and Kafka 4 need it."""

INSTALL_JAVA = f"install Java {OLDEST_JAVA} or newer (JDK or JRE), or set JAVA_HOME to one"

IVY_FILE = Path(__file__).with_name("ivy.xml")

PROGRESS_SECONDS = 2
"""How often a fetch says how far it is: nobody should look at a silent screen for longer."""

TAIL_LINES = 15
"""Of Ivy's output in an error: its summary of what could not be had is at the end."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class JavaParts:
    """The jars for each of the two class paths."""

    spark: tuple[Path, ...]
    broker: tuple[Path, ...]


@dataclass(frozen=True)
class Java:
    """A Java that is new enough."""

    path: Path
    version: int
    build: str
    """All that it says of itself, one line."""


def find_java() -> Java:
    """The Java to run. JAVA_HOME comes first, as it does for Spark."""
    path = _java_on_this_machine()
    said = _ask_version(path)
    # "17.0.15", "21", "22-ea"; before Java 9 it was "1.8.0_392".
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None:
        raise SetupError(f"{path} does not say its version ({said[:200]}): {INSTALL_JAVA}.")
    java = Java(path, int(match[1]), said)
    if java.version < OLDEST_JAVA:
        raise SetupError(f"Java at {path} is version {java.version}, which is too old: {INSTALL_JAVA}.")
    return java


def java_parts(progress: Progress) -> JavaParts:
    """The Java parts, fetched if they are not in the cache yet."""
    declared = IVY_FILE.read_bytes()
    home = _cache_dir() / "java"
    # A changed declaration is a new place, so a cache never holds the jars of another version of Turnout.
    place = home / hashlib.sha256(declared).hexdigest()[:16]
    if not place.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with _only_one(home / ".lock", progress):
            if not place.is_dir():  # whoever held the lock may have fetched it
                _fetch(place, progress)
    return JavaParts(spark=_jars(place / "spark"), broker=_jars(place / "broker"))


def _java_on_this_machine() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not java.is_file():
            raise SetupError(f"JAVA_HOME is {home}, but there is no bin/java in it: {INSTALL_JAVA}.")
        return java
    if found := shutil.which("java"):
        return Path(found)
    raise SetupError(f"Java was not found: {INSTALL_JAVA}.")


@cache  # a start asks several times, and each takes a JVM
def _ask_version(java: Path) -> str:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{java} does not run ({error}): {INSTALL_JAVA}.") from error
    said = " ".join(answer.stderr.split())
    if answer.returncode != 0:  # macOS has a /usr/bin/java that only says that there is none
        raise SetupError(f"{java} does not run ({said[:200]}): {INSTALL_JAVA}.")
    return said


def _cache_dir() -> Path:
    if chosen := os.environ.get("TURNOUT_CACHE"):
        return Path(chosen).absolute()
    return Path.home() / ".cache" / "turnout"


def _jars(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.jar")))


@contextmanager
def _only_one(lock_file: Path, progress: Progress) -> Iterator[None]:
    """Held by one process at a time; the system lets go of it when that process ends, however it ends."""
    with lock_file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("Waiting for another process that is fetching the Java parts …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(place: Path, progress: Progress) -> None:
    """Resolves into a directory beside `place` and renames it, so that a half-done fetch is never taken as done."""
    progress("Fetching the Java parts (once; about 55 MB) …")
    unfinished = place.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    # Kept when a fetch fails: the next try goes on with what is there.
    downloads = place.with_suffix(".downloads")
    _run_ivy(unfinished, downloads, progress)
    unfinished.rename(place)
    shutil.rmtree(downloads, ignore_errors=True)
    progress(f"Java parts are ready in {place}")


def _run_ivy(target: Path, downloads: Path, progress: Progress) -> None:
    command: list[str | Path] = [find_java().path, "-jar", _ivy_jar(), "-ivy", IVY_FILE, "-cache", downloads]
    if settings := os.environ.get("TURNOUT_IVY_SETTINGS"):
        command += ["-settings", settings]
    command += ["-retrieve", f"{target}/[conf]/[artifact]-[revision].[ext]"]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        code = _run_with_progress(command, output, lambda: progress(_how_far(downloads)))
        output.seek(0)
        lines = output.read().splitlines()
    if code != 0 or not _jars(target / "spark") or not _jars(target / "broker"):
        tail = "\n".join(f"  {line}" for line in lines[-TAIL_LINES:])
        raise SetupError(
            f"The Java parts could not be fetched; Ivy said:\n{tail}\n"
            "Check the network and try again; what has arrived is kept. If this machine reaches Maven packages only "
            "through a mirror, set TURNOUT_IVY_SETTINGS to an Ivy settings file that names it."
        )


def _run_with_progress(command: list[str | Path], output: IO[str], tick: Callable[[], None]) -> int:
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            while True:
                try:
                    return process.wait(PROGRESS_SECONDS)
                except subprocess.TimeoutExpired:
                    tick()
        finally:
            process.kill()  # only alive here if we are being interrupted


def _how_far(downloads: Path) -> str:
    """Ivy first finds out what is needed (a description each), then fetches the jars."""
    descriptions = sum(1 for _ in downloads.rglob("ivy-*.xml"))
    jars = sum(1 for _ in downloads.rglob("*.jar"))
    return f"  {descriptions} descriptions, {jars} jars so far …"


def _ivy_jar() -> Path:
    # Found without importing PySpark, which is slow and belongs to turnout/pipeline alone.
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("PySpark is not installed: run `make demo`, which sets everything up.")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar"))
    if not found:
        raise SetupError(f"There is no jars/ivy-*.jar in {Path(spec.origin).parent}: install PySpark again.")
    return found[-1]


def main(arguments: list[str]) -> int:
    """Fetches the parts; with --check it only looks for Java, which needs nothing but Python itself."""
    try:
        find_java()
        if arguments != ["--check"]:
            java_parts(lambda text: print(text, flush=True))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
