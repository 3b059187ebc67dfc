"""What whoever leads shows, told on the bus, so that servers elsewhere can show the same.

A compacted topic of one partition. Its records are, by their keys:

- `begin`: another process leads from here on; what stands before it about Turnout itself is over.
- `row/<table>/<id>`: a row of a table about Turnout itself (control messages, status, log), or that it is gone.
- `showing`: from here on the public tables show this generation.
- `undo`: where an undo leads.

The order is that of what happened: who has read that a message was applied has read before what is shown since. Each
value begins with the term of the leader (turnout.bus.lease): one that was frozen may go on telling for a moment after
another has begun, and is not listened to.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from turnout.bus.compacted import COMPACTED
from turnout.bus.topics import BusTopics
from turnout.errors import TurnoutError
from turnout.kafka.client import DEFAULT_LARGEST_BYTES, Record
from turnout.orchestrator.desired import Desired
from turnout.schema import Topics

LARGEST_BYTES = 8 * DEFAULT_LARGEST_BYTES
"""The largest control message as a text in JSON, where a byte may take six."""

TOPIC = {**COMPACTED, "max.message.bytes": str(LARGEST_BYTES)}

LARGEST_ENTRY_BYTES = LARGEST_BYTES - 1024
"""Its key and its value: what Kafka adds to a record is below a hundred bytes, and counts for it."""

_BEGIN, _SHOWING, _UNDO, _ROW = b"begin", b"showing", b"undo", "row/"

log = logging.getLogger(__name__)

Wire = tuple[bytes, bytes | None]
"""Key and value of a record."""


@dataclass(frozen=True)
class Begin:
    leader: str
    """Its name, for people."""


@dataclass(frozen=True)
class Row:
    table: str
    id: str
    values: Mapping[str, Any] | None
    """None: it is gone."""


@dataclass(frozen=True)
class Showing:
    """A generation, and where its rows are."""

    generation: int
    desired: Desired
    pipeline: str
    prefix: str
    starts: Mapping[str, Mapping[str, int]]
    """Of its data topics, as in its manifest."""
    fingerprint: str
    """Of the tables: a server whose tables have other columns cannot show it."""

    @property
    def topics(self) -> Topics:
        return self.desired.topics

    @property
    def changelog_topic(self) -> str:
        return BusTopics(self.prefix).changelog(self.pipeline)

    @property
    def rejected_topic(self) -> str:
        return BusTopics(self.prefix).rejected(self.pipeline)


@dataclass(frozen=True)
class Undo:
    leads_to: Desired | None


Entry = Begin | Row | Showing | Undo

_BEGINNING, _GENERATION, _LEADS_TO = TypeAdapter(Begin), TypeAdapter(Showing), TypeAdapter(Undo)
_ADAPTERS: Mapping[bytes, TypeAdapter[Any]] = {_BEGIN: _BEGINNING, _SHOWING: _GENERATION, _UNDO: _LEADS_TO}


def written(entry: Entry, term: int) -> Wire:
    key, value = _written(entry)
    return key, None if value is None else b"%d %b" % (term, value)


def _written(entry: Entry) -> Wire:
    match entry:
        case Begin():
            return _BEGIN, _BEGINNING.dump_json(entry)
        case Showing():
            return _SHOWING, _GENERATION.dump_json(entry)
        case Undo():
            return _UNDO, _LEADS_TO.dump_json(entry)
        case Row():
            value = None if entry.values is None else orjson.dumps(entry.values)
            return f"{_ROW}{entry.table}/{entry.id}".encode(), value


def read(record: Record, *, is_news: bool = True) -> tuple[int, Entry] | None:
    """The term, and what is told; None if it is nothing that is known: a newer Turnout may tell more. Of a row that is
    gone nobody says who told it. `is_news`: it is read for the first time, so what is ignored is to be told."""
    try:
        term, _, value = (record.value or b"").partition(b" ")
        entry = _read(record.key or b"", None if record.value is None else value)
        return None if entry is None else (int(term) if term.isdigit() else 0, entry)
    except (ValidationError, ValueError):
        if is_news:
            log.warning("%s/%d offset %d is not of a bulletin: ignored", record.topic, record.partition, record.offset)
        return None


def _read(key: bytes, value: bytes | None) -> Entry | None:
    if key.startswith(_ROW.encode()):
        table, _, id_ = key.decode().removeprefix(_ROW).partition("/")
        return Row(table, id_, None if value is None else _fields(value))
    if key in _ADAPTERS and value is not None:
        entry: Entry = _ADAPTERS[key].validate_json(value)
        return entry
    return None


def _fields(value: bytes) -> Mapping[str, Any]:
    fields = orjson.loads(value)
    if not isinstance(fields, dict):
        raise ValueError("not an object")
    return fields


def foreign(showing: Showing) -> TurnoutError:
    return TurnoutError(
        f"Generation {showing.generation} has other columns than the tables of this server's configuration: give it "
        "the `tables` and the `join` of the Turnout that leads."
    )
