"""What Turnout needs in order to run with a config, looked at piece by piece. Nothing is started, nothing is kept."""

import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NoReturn

from turnout.address import listen
from turnout.config import Config
from turnout.errors import KafkaError, SetupError, TurnoutError
from turnout.java import find_java, java_parts
from turnout.kafka.client import Cluster

OLDEST_PYTHON = (3, 11)
READ_SECONDS = 10.0
"""For the first record of a topic that has any."""


class Verdict(StrEnum):
    OK = "ok"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """What became of one check."""

    subject: str
    verdict: Verdict
    text: str
    """What was found; for a failure also what to do."""


def findings(config: Config) -> Iterator[Finding]:
    """One finding after the other, as they are made."""
    yield _find("Python", _python)
    yield _find("Java", _java)
    yield _find("Java parts", _parts)
    yield from _kafka(config)
    yield _find("bus", lambda: _bus(config))
    yield _find("state directory", lambda: _state_dir(config.state_dir))
    yield _find("port", lambda: _port(config))


def _find(subject: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, Verdict.OK, look())
    except TurnoutError as error:
        return Finding(subject, Verdict.FAILED, str(error))


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        raise SetupError(f"{version} is too old: install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return version


def _java() -> str:
    java = find_java()
    return f"{java.version} ({java.path})"


def _parts() -> str:
    parts = java_parts(_refuse_to_fetch)
    return f"{len(parts.spark) + len(parts.broker)} jars in {parts.broker[0].parent.parent}"


def _refuse_to_fetch(_: str) -> NoReturn:
    """Called when there is something to fetch, before it is: a check fetches nothing."""
    raise SetupError(f"not there yet: run `{sys.executable} -m turnout.java`, which fetches them (about 55 MB, once)")


def _kafka(config: Config) -> Iterator[Finding]:
    topics = {
        f"topic {topic} ({use})": topic
        for topic, use in (
            *((config.tables[name].topic, name) for name in (config.join.left, config.join.right)),
            (config.control.topic, "control messages"),
        )
    }
    answers = _find("Kafka", lambda: _answers(config))
    yield answers
    for subject, topic in topics.items():
        if answers.verdict is Verdict.OK:
            yield _find(subject, partial(_topic, config, topic))
        else:
            yield Finding(subject, Verdict.NOT_CHECKED, "Kafka does not answer")


def _answers(config: Config) -> str:
    cluster = Cluster(config.kafka)
    return f"{cluster.bootstrap} answers, {len(cluster.topics())} topics can be seen"


def _topic(config: Config, topic: str) -> str:
    """There, and readable: a record is fetched if there is one."""
    cluster = Cluster(config.kafka)
    starts, ends = cluster.start_offsets(topic), cluster.end_offsets(topic)
    records = sum(ends.values()) - sum(starts.values())
    if records:
        with closing(cluster.reader([topic])) as reader:
            if not reader.poll(READ_SECONDS):
                raise KafkaError(f"no record came in {READ_SECONDS:.0f} s, though there are some")
    found = f"{records} records, readable" if records else "no records"
    return f"{found} (partitions: {len(ends)})"


def _bus(config: Config) -> str:
    if not config.bus:
        return f"embedded, in {config.state_dir / 'kafka'}"
    cluster, topic = Cluster(config.bus), f"turnout-check-{uuid.uuid4().hex}"
    cluster.topics()  # says so if it does not answer
    cluster.create_topics([topic])
    cluster.delete_topics([topic])
    return f"{cluster.bootstrap}: topics can be created and deleted"


def _state_dir(directory: Path) -> str:
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise SetupError(f"{directory} cannot be written ({error.strerror}): choose another `state_dir`") from None
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()
    return f"{directory.absolute()} can be written"


def _port(config: Config) -> str:
    with listen(config.serve):
        return f"{config.serve.port} on {config.serve.host} is free"
