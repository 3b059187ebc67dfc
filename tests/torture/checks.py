"""What is looked at when all faults are lifted: soon everything must be as the model says."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.oracle import Table
from tests.torture.messages import DATA_TOPICS
from tests.torture.model import ACCOUNTS, USERS, Verdict, Want, expected_rejects, expected_tables
from tests.torture.process import BROKER, SPARK, Unreachable
from tests.torture.users_kafka import Held
from tests.torture.world import CONTROL, DATA_TABLES, Failure, World

SETTLE_SECONDS = 300.0
"""Enough for a service, its Spark and its broker to start (a dozen seconds on a quiet machine, minutes on a busy
one), and for a build that is not ready in time and has to be tried again. Longer than that is a defect."""

POLL_SECONDS = 0.25

MOST_THREADS, MOST_FILES = 120, 150
"""Of the service: about twice of what it has with one pipeline, six viewers and a few requests at once."""

SHOWN_ROWS = 5

COLUMNS: Mapping[str, list[str]] = {
    "users_ui": list(USERS),
    "accounts_ui": list(ACCOUNTS),
    "final_ui": [*USERS, *(name for name in ACCOUNTS if name != "userId")],
}


def settle(world: World) -> None:
    """Lift all faults; returns when all is as it must be."""
    world.heal()
    began = time.monotonic()
    _eventually(world, lambda: _difference(world))
    world.calm, world.may_be_empty = True, False
    generation = world.service.status()["generation"]
    world.note(
        f"  all is well after {time.monotonic() - began:.1f} s: {world.desired.seen}, generation {generation},"
        f" {len(world.viewers)} viewers"
    )


def nothing_piles_up(world: World) -> None:
    """Once what lingers is gone, only the live pipeline is left."""
    _eventually(world, lambda: _leftovers(world))
    counts = world.service.counts()
    world.note(f"  {counts['threads']} threads, {counts['files']} files")
    if counts["threads"] > MOST_THREADS or counts["files"] > MOST_FILES:
        raise Failure(f"the service has more and more of something: {counts}")


def _eventually(world: World, difference: Callable[[], str | None]) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while found := _or_unreachable(difference):
        if not world.service.running:
            raise Failure("the service has ended by itself")
        for viewer in world.viewers:
            if viewer.problems:
                raise Failure("\n".join(viewer.problems))
        if time.monotonic() > deadline:
            raise Failure(f"not within {SETTLE_SECONDS:g} s: {found}")
        time.sleep(POLL_SECONDS)


def _or_unreachable(difference: Callable[[], str | None]) -> str | None:
    try:
        return difference()
    except (Unreachable, KafkaException) as error:
        return str(error)


def _difference(world: World) -> str | None:
    """The first thing that is not as it must be."""
    status = world.service.status()
    if found := _not_live(world, status):
        return found
    messages = world.kafka.held(CONTROL)
    verdict = world.desired.judged(messages, _outcomes(world), DATA_TOPICS)
    if verdict.problem is not None:
        return verdict.problem
    shown = Want(status["usersTopic"], status["accountsTopic"], status["joinType"])
    if shown not in verdict.acceptable:
        return f"shown is {shown}, but must be {' or '.join(map(str, verdict.acceptable))}"
    # The state once more: a fault that nobody had noticed at first is no good end.
    found = (
        _data_differ(world, shown) or _lag(status) or _viewers_differ(world) or _not_live(world, world.service.status())
    )
    if found is None:
        _settled(world, shown, verdict, len(messages))
    return found


def _not_live(world: World, status: Mapping[str, Any]) -> str | None:
    if status["state"] != "live":
        return f"the state is {status['state']!r}: {status['message']}"
    dead = [name for name in (SPARK, BROKER) if not world.service.java(name)]
    return f"the state is 'live', but there is no {' and no '.join(dead)}" if dead else None


def _settled(world: World, shown: Want, verdict: Verdict, messages: int) -> None:
    for viewer in world.viewers:
        if viewer.problems:
            raise Failure("\n".join(viewer.problems))
    world.desired = world.desired.settled(shown, verdict, messages)


def _outcomes(world: World) -> dict[int, str | None]:
    return {row["offset"]: row["outcome"] for row in world.service.table("control_raw")[1]}


def _data_differ(world: World, shown: Want) -> str | None:
    users, accounts = world.kafka.held(shown.users), world.kafka.held(shown.accounts)
    for name, table in expected_tables(users, accounts, shown.join).items():
        found = _counted(name, world.service.table(name)[1])
        if found != table:
            return f"{name} is not what the topics say: {_compared(found, table)}"
    rejected = world.service.table("rejected_ui")[1]
    return _rejects_differ(world, rejected, shown.users, users, USERS) or _rejects_differ(
        world, rejected, shown.accounts, accounts, ACCOUNTS
    )


def _compared(found: Table, expected: Table) -> str:
    missing, surplus = list((expected - found).elements()), list((found - expected).elements())
    return (
        f"{found.total()} rows instead of {expected.total()};"
        f" {len(missing)} missing {missing[:SHOWN_ROWS]}, {len(surplus)} too many {surplus[:SHOWN_ROWS]}"
    )


def _rejects_differ(
    world: World, rejected: list[dict[str, Any]], topic: str, records: list[Held], columns: Mapping[str, str]
) -> str | None:
    rows = [row for row in rejected if row["topic"] == topic]
    found = {(row["partition"], row["offset"]) for row in rows}
    expected = expected_rejects(records, columns)
    if not expected <= found or (topic not in world.recreated and found != expected):
        return (
            f"rejected_ui of {topic}: missing {sorted(expected - found)[:SHOWN_ROWS]},"
            f" too many {sorted(found - expected)[:SHOWN_ROWS]}"
        )
    return None if topic in world.recreated else _wrong_values(rows, records)


def _wrong_values(rows: list[dict[str, Any]], records: list[Held]) -> str | None:
    values = {(record.partition, record.offset): record.value or b"" for record in records}
    for row in rows:
        value = values[row["partition"], row["offset"]].decode(errors="replace")[:1024]
        if row["value"] != value:
            return f"rejected_ui shows {row} for {value!r}"
    return None


def _lag(status: Mapping[str, Any]) -> str | None:
    if any(status["lag"].values()) or len(status["lag"]) != 2:
        return f"all is shown, but the lag is {status['lag']}"
    return None


def _viewers_differ(world: World) -> str | None:
    for name in DATA_TABLES:
        viewers = [viewer for viewer in world.viewers if viewer.table == name]
        generation, rows = world.service.table(name) if viewers else (0, [])
        for viewer in viewers:
            its_generation, held = viewer.state()
            if its_generation != generation:
                return f"a viewer of {name} is at generation {its_generation}, the table at {generation}"
            if (found := _counted(name, held.values())) != (expected := _counted(name, rows)):
                return f"a viewer of {name} (connection {viewer.connections}) holds {_compared(found, expected)}"
    return None


def _counted(name: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    return Counter(tuple(row[column] for column in COLUMNS[name]) for row in rows)


def _leftovers(world: World) -> str | None:
    directories = [path.name for path in (world.directory / "state" / "pipelines").glob("*")]
    if len(directories) != 1:
        return f"pipelines on disk: {directories}"
    properties = (world.directory / "state" / "kafka" / "server.properties").read_text()
    address = re.search(r"listeners=PLAINTEXT://([\d.:]+)", properties)
    assert address is not None, properties
    on_bus = AdminClient({"bootstrap.servers": address[1], "log_level": 0}).list_topics(timeout=10).topics
    topics = sorted(topic for topic in on_bus if topic.startswith("turnout-"))
    if topics != [f"turnout-{directories[0]}-{kind}" for kind in ("changelog", "rejected")]:
        return f"topics on the bus beside pipeline {directories[0]}: {topics}"
    return None
