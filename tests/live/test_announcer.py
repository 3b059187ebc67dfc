"""What the leader tells on the bus, as a server elsewhere reads it."""

import uuid

import polars as pl
import pytest

from tests.waiting import until
from turnout.bus.announcer import Announcer
from turnout.bus.bulletin import LARGEST_ENTRY_BYTES, Begin, Entry, Row, Undo, read
from turnout.bus.topics import BusTopics
from turnout.kafka.client import DEFAULT_LARGEST_BYTES, Cluster, Reader
from turnout.kafka.embedded import EmbeddedBroker
from turnout.schema import ColumnType
from turnout.tables.delta import ROW, Delta
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Registry


@pytest.fixture
def bus(broker: EmbeddedBroker) -> Cluster:
    return Cluster({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topics() -> BusTopics:
    return BusTopics(f"told-{uuid.uuid4().hex[:8]}-")


def entries(reader: Reader, count: int) -> list[Entry]:
    found: list[Entry] = []

    def all_there() -> bool:
        found.extend(told[1] for record in reader.poll(0.1) if (told := read(record)) is not None)
        return len(found) >= count

    until(all_there, f"{count} entries", 20)
    return found


def put(registry: Registry, removed: list[str], **rows: str) -> None:
    upserts = pl.DataFrame({ROW: list(rows), "text": list(rows.values())}, schema={ROW: pl.String, "text": pl.String})
    registry.change({"logs": Delta(upserts, pl.Series(ROW, removed, pl.String))})


def test_a_table_is_told_as_it_is_and_as_it_changes(bus: Cluster, topics: BusTopics) -> None:
    registry = Registry([LiveTable("logs", {"text": ColumnType.STRING})])
    put(registry, [], a="before")
    announcer = Announcer(bus, topics, "the leader", 3)
    announcer.follow(registry, "logs")
    put(registry, ["a"], b="after")
    announcer.tell(Undo(None))
    announcer.start()
    until(lambda: not bus.missing([topics.bulletin]), "the topic is there", 20)
    reader = bus.reader([topics.bulletin])
    told = [Begin("the leader"), Row("logs", "b", {"text": "after"}), Row("logs", "a", None), Undo(None)]
    assert entries(reader, len(told)) == told, "of a row that has changed before it could be told, the last word"
    largest = "\0" * DEFAULT_LARGEST_BYTES  # six bytes each, in JSON
    put(registry, [], c=largest)
    announcer.stop()
    assert entries(reader, 1) == [Row("logs", "c", {"text": largest})]
    reader.close()


def test_the_largest_that_is_told_whole_is_taken_by_the_bus_and_what_is_larger_is_cut(
    bus: Cluster, topics: BusTopics
) -> None:
    announcer = Announcer(bus, topics, "the leader", 3)
    announcer.start()
    around = len(b"3 ") + len(b'{"text":""}') + len(b"row/logs/largest")
    largest = "x" * (LARGEST_ENTRY_BYTES - around)
    announcer.tell(Row("logs", "largest", {"text": largest}))
    announcer.tell(Row("logs", "larger.", {"text": largest + "x"}), Undo(None))
    until(lambda: not bus.missing([topics.bulletin]), "the topic is there", 20)
    reader = bus.reader([topics.bulletin])
    rows = [Row("logs", "largest", {"text": largest}), Row("logs", "larger.", {"text": "x" * 1024})]
    assert entries(reader, 4) == [Begin("the leader"), *rows, Undo(None)]
    announcer.stop()
    reader.close()
