"""The seven public tables, made from the configuration before anything else runs."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from turnout.changelog.store import Changelog
from turnout.config import Config
from turnout.control.message import ControlFields, ControlMessage
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.tables.delta import ROW
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Registry
from turnout.tables.system import (
    CONTROL_COLUMNS,
    LOG_COLUMNS,
    NEWEST,
    REJECTED_COLUMNS,
    LogTable,
    RowTable,
    iso,
    rejected_rows,
    status_columns,
)
from turnout.views.view import View

STATUS_ROW = "status"


def control_fields(config: Config) -> ControlFields:
    return ControlFields(f"{config.join.left}Topic", f"{config.join.right}Topic")


class Source(Protocol):
    """Where the rows come from."""

    @property
    def changelog(self) -> Changelog: ...


class PublicTables:
    def __init__(self, config: Config) -> None:
        self._config, self._schema = config, config.join_schema()
        self.fields = control_fields(config)
        self.names = config.public_names
        columns = {
            self.names.left: self._schema.left.columns,
            self.names.right: self._schema.right.columns,
            self.names.joined: self._schema.joined_columns,
            self.names.control: CONTROL_COLUMNS,
            self.names.status: status_columns(self.fields.left, self.fields.right),
            self.names.logs: LOG_COLUMNS,
            self.names.rejected: REJECTED_COLUMNS,
        }
        tables = {name: LiveTable(name, its_columns) for name, its_columns in columns.items()}
        self.registry = Registry(tables.values())
        self._control = RowTable(self.registry, tables[self.names.control], NEWEST)
        self._status = RowTable(self.registry, tables[self.names.status])
        self._rejected = RowTable(self.registry, tables[self.names.rejected], NEWEST)
        self.rejections: Counter[str] = Counter()
        """Topic -> its rejected records since the start; those that a restarted pipeline sends again count once."""
        logs = RowTable(self.registry, tables[self.names.logs], NEWEST)
        self.log_handler = LogTable(logs)
        self._about_turnout = {
            self.names.control: self._control,
            self.names.status: self._status,
            self.names.logs: logs,
        }
        self._shown: Changelog | None = None

    def outcome(self, message: ControlMessage, outcome: str | None) -> None:
        row = {
            "ts": iso(message.timestamp_ms),
            "partition": message.partition,
            "offset": message.offset,
            "value": message.value.decode(errors="replace"),
            "outcome": outcome,
        }
        self._control.put({message.id: row})

    def status(self, status: Status) -> None:
        row = {
            self.fields.left: status.desired.topics.left,
            self.fields.right: status.desired.topics.right,
            self.fields.join: str(status.desired.join),
            "lastApplied": None if status.last_applied_ms is None else iso(status.last_applied_ms),
            "state": str(status.state),
            "generation": status.generation,
            "message": status.message,
        }
        self._status.put({STATUS_ROW: row})

    def show(self, generation: int, pipeline: Source, desired: Desired) -> None:
        match = self._config.join.match
        view = View(self.registry, self.names, self._schema, desired.join, match, generation)
        pipeline.changelog.watch(view, view.show)
        if self._shown is not None and self._shown is not pipeline.changelog:
            self._shown.unwatch()
        self._shown = pipeline.changelog

    def rejected(self, records: Iterable[Mapping[str, object]]) -> None:
        rows = rejected_rows(records)
        with self.registry.at_once():
            self.rejections.update(str(rows[id_]["topic"]) for id_ in self._rejected.put(rows))

    @property
    def about_turnout(self) -> Collection[str]:
        """The tables that tell what Turnout does: all but those with users' data."""
        return self._about_turnout.keys()

    def copy(self, name: str, rows: Mapping[str, Mapping[str, object]], *, anew: bool = False) -> None:
        """Put rows of a table about Turnout as another Turnout has them; `anew`: these, and no others."""
        table = self._about_turnout[name]
        if anew:
            table.replace(rows)
        else:
            table.put(rows)

    def fitting(self, name: str, row: Mapping[str, object]) -> Mapping[str, object] | None:
        """A row of a table about Turnout as another Turnout tells it, so that it can be copied; None: it cannot."""
        return self._about_turnout[name].fitting(row)

    def forget(self) -> None:
        """Empty the log and the control messages, which another Turnout has told."""
        for name in (self.names.control, self.names.logs):
            self._about_turnout[name].replace({})

    def status_row(self) -> dict[str, object]:
        return self.registry.snapshot(self.names.status).rows.drop(ROW).row(0, named=True)
