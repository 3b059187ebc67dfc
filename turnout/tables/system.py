"""The tables about Turnout itself: control messages, status, log lines, rejected records."""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl

from turnout.schema import Columns, ColumnType
from turnout.tables.delta import ROW, Delta
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Registry

NEWEST = 10_000  # rows that the log and the rejected records are kept for
SHOWN_VALUE_BYTES = 1024
_EPOCH = datetime.fromtimestamp(0, UTC)

CONTROL_COLUMNS: Columns = {
    "ts": ColumnType.STRING,
    "partition": ColumnType.LONG,
    "offset": ColumnType.LONG,
    "value": ColumnType.STRING,
    "outcome": ColumnType.STRING,
}
LOG_COLUMNS: Columns = {"ts": ColumnType.STRING, "level": ColumnType.STRING, "msg": ColumnType.STRING}
REJECTED_COLUMNS: Columns = {
    "ts": ColumnType.STRING,
    "topic": ColumnType.STRING,
    "partition": ColumnType.LONG,
    "offset": ColumnType.LONG,
    "reason": ColumnType.STRING,
    "value": ColumnType.STRING,
}


def status_columns(left_field: str, right_field: str) -> Columns:
    return {
        left_field: ColumnType.STRING,
        right_field: ColumnType.STRING,
        "joinType": ColumnType.STRING,
        "lastApplied": ColumnType.STRING,
        "state": ColumnType.STRING,
        "generation": ColumnType.LONG,
        "message": ColumnType.STRING,
    }


def iso(timestamp_ms: int) -> str:
    """ISO 8601 in UTC. A producer may give its messages any time: one that no calendar has stays a number."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RowTable:
    """A table that is written row by row, each under an id; beyond `newest` rows the oldest go."""

    def __init__(self, registry: Registry, table: LiveTable, newest: int | None = None) -> None:
        self._registry, self._table, self._newest = registry, table, newest
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._schema = table.rows().schema

    def fitting(self, row: Mapping[str, object]) -> dict[str, object] | None:
        """A row that others tell, as this table takes it: without columns that it does not have, and nothing for those
        that are not told. None: it cannot be taken."""
        try:
            return pl.DataFrame([row], schema=self._schema).drop(ROW).row(0, named=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
            return None

    def put(self, rows: Mapping[str, Mapping[str, object]]) -> list[str]:
        """Put rows by id: new ones, or in place of those that are there; the ids of those that are new."""
        with self._registry.at_once():
            return self._put(rows, [])

    def replace(self, rows: Mapping[str, Mapping[str, object]]) -> None:
        """These rows, and no others, in one step."""
        with self._registry.at_once():
            gone = [id_ for id_ in self._ids if id_ not in rows]
            for id_ in gone:
                del self._ids[id_]
            self._put(rows, gone)

    def _put(self, rows: Mapping[str, Mapping[str, object]], gone: Sequence[str]) -> list[str]:
        new = [id_ for id_ in rows if id_ not in self._ids]
        self._ids.update(dict.fromkeys(rows))
        excess = max(0, len(self._ids) - self._newest) if self._newest else 0
        removed = [self._ids.popitem(last=False)[0] for _ in range(excess)]
        kept = [{ROW: id_, **row} for id_, row in rows.items() if id_ in self._ids]
        upserts = pl.DataFrame(kept, schema=self._schema)
        removes = pl.Series(ROW, [*gone, *removed], dtype=pl.String)
        self._registry.change({self._table.name: Delta(upserts, removes)})
        return new


class LogTable(logging.Handler):
    """Log lines of the product as rows."""

    def __init__(self, table: RowTable) -> None:
        super().__init__()
        self._rows = table
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        # The handler's own lock is held here, so the count is safe.
        self._count += 1
        # What others sent may hold half of a surrogate pair, which is no text: show it as an escape.
        message = record.getMessage().encode(errors="backslashreplace").decode()
        row = {"ts": iso(int(record.created * 1000)), "level": record.levelname, "msg": message}
        # Padded: lines of the same millisecond sort by it.
        self._rows.put({f"{self._count:012d}": row})


def rejected_rows(records: Iterable[Mapping[str, object]]) -> dict[str, dict[str, object]]:
    """Rejected records as rows; one that a restarted pipeline sends again has the same id."""
    return {
        f"{record['topic']}/{record['partition']}/{record['offset']}": {
            **record,
            "ts": iso(int(str(record["ts"]))),
            "value": cut(str(record.get("value") or "")),
        }
        for record in records
    }


def cut(text: str) -> str:
    """At most 1 KiB of a text, in whole characters."""
    return text.encode()[:SHOWN_VALUE_BYTES].decode(errors="ignore")
