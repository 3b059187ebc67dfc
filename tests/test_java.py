import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import until
from turnout.errors import SetupError
from turnout.java import IVY_FILE, OLDEST_JAVA, JavaParts, find_java, java_parts

FakeJava = Callable[[str], Path]

A_VERSION = 'openjdk version "17.0.15" 2025-04-15'

# What Ivy does, as far as Turnout can see: it puts jars where -retrieve says, for each configuration.
FETCHES = f"""
case $1 in -version) echo '{A_VERSION}' >&2; exit;; esac
for last; do :; done
root=${{last%%/\\[conf\\]*}}
mkdir -p "$root/spark" "$root/broker"
touch "$root/spark/connector.jar"
%s
touch "$root/broker/kafka.jar"
"""


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJava:
    """Puts a `java` that runs these shell commands into JAVA_HOME."""

    def make(commands: str) -> Path:
        java = tmp_path / "java-home" / "bin" / "java"
        java.parent.mkdir(parents=True, exist_ok=True)
        java.write_text(f"#!/bin/sh\n{commands}\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
        return java

    return make


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for the Java parts."""
    monkeypatch.setenv("TURNOUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def parts_quietly() -> JavaParts:
    return java_parts(lambda _: None)


def test_the_java_of_this_machine_is_found() -> None:
    java = find_java()
    assert java.version >= OLDEST_JAVA
    assert java.path.is_file()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (A_VERSION, 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "22-ea" 2024-03-19', 22),
        (f"Picked up JAVA_TOOL_OPTIONS: -Dx=y\n{A_VERSION}", 17),
    ],
)
def test_the_version_is_read_from_what_java_says(fake_java: FakeJava, said: str, version: int) -> None:
    java = fake_java(f"echo '{said}' >&2")
    assert (find_java().path, find_java().version) == (java, version)


@pytest.mark.parametrize(("said", "version"), [('java version "1.8.0_392"', 8), ('openjdk version "11.0.2"', 11)])
def test_an_old_java_is_refused_with_what_to_install(fake_java: FakeJava, said: str, version: int) -> None:
    java = fake_java(f"echo '{said}' >&2")
    with pytest.raises(SetupError, match=rf"{java} is version {version}, .* too old: install Java 17 or newer"):
        find_java()


def test_a_java_that_only_says_that_there_is_none_is_refused_with_what_it_said(fake_java: FakeJava) -> None:
    fake_java("echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    with pytest.raises(SetupError, match=r"Unable to locate a Java Runtime.*install Java 17"):
        find_java()


def test_no_java_at_all_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Java was not found: install Java 17 or newer"):
        find_java()


def test_a_wrong_java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"JAVA_HOME is {tmp_path}, but there is no bin/java"):
        find_java()


def test_the_parts_are_fetched_once(cache: Path, fake_java: FakeJava) -> None:
    java = fake_java(FETCHES % "")
    first = parts_quietly()
    assert [jar.name for jar in first.spark + first.broker] == ["connector.jar", "kafka.jar"]
    java.unlink()  # from now on nothing can be fetched
    assert parts_quietly() == first
    assert all(cache in jar.parents for jar in first.spark + first.broker)


def test_an_interrupted_fetch_is_not_taken_as_done(cache: Path, fake_java: FakeJava) -> None:
    fake_java(FETCHES % "kill -9 $$")
    with pytest.raises(SetupError):
        parts_quietly()
    fake_java(FETCHES % "")
    assert [jar.name for jar in parts_quietly().broker] == ["kafka.jar"]


@pytest.mark.usefixtures("cache")
def test_a_failed_fetch_shows_what_ivy_said_last_and_what_to_do(fake_java: FakeJava) -> None:
    fake_java(f"[ $1 = -version ] && echo '{A_VERSION}' >&2 && exit\necho 'module not found: a#b;1.0' >&2; exit 1")
    with pytest.raises(SetupError, match=r"(?s)module not found: a#b;1\.0.*Check the network.*TURNOUT_IVY_SETTINGS"):
        parts_quietly()


def test_two_at_once_fetch_only_once(cache: Path, fake_java: FakeJava, tmp_path: Path) -> None:
    runs, go = tmp_path / "runs", tmp_path / "go"
    fake_java(FETCHES % f'echo run >> "{runs}"; while [ ! -e "{go}" ]; do sleep 0.01; done')
    said: list[str] = []
    with ThreadPoolExecutor() as pool:
        first = pool.submit(parts_quietly)
        until(runs.exists, "the first one fetches")
        second = pool.submit(java_parts, said.append)
        until(lambda: said, "the second one waits")
        go.touch()
        assert first.result(10) == second.result(10)
    assert runs.read_text().count("run") == 1
    assert "another process" in said[0]


def test_a_changed_declaration_is_fetched_anew(
    cache: Path, fake_java: FakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(FETCHES % "")
    before = parts_quietly()
    changed = tmp_path / "ivy.xml"
    changed.write_bytes(IVY_FILE.read_bytes() + b"<!-- newer -->")
    monkeypatch.setattr("turnout.java.IVY_FILE", changed)
    assert parts_quietly().broker[0].parent != before.broker[0].parent


def test_pyspark_is_not_imported_to_find_ivy() -> None:
    program = "import sys, turnout.java as java; print(java._ivy_jar().name); sys.exit('pyspark' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("ivy-")


def test_the_declaration_is_that_of_the_checkout() -> None:
    assert IVY_FILE.read_text() == (Path(__file__).parents[1] / "java" / "ivy.xml").read_text()
