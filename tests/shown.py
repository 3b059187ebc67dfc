"""The way from messages to the public tables, without Kafka and Spark."""

import polars as pl

from tests.histories import records_of
from tests.oracle import Message
from turnout.changelog.store import Store
from turnout.config import PublicNames
from turnout.schema import Columns, ColumnType, JoinSchema, JoinType, Match, TableSchema
from turnout.tables.live_table import LiveTable
from turnout.tables.registry import Event, Registry
from turnout.views.view import View

NAMES = PublicNames("left_ui", "right_ui")
SCHEMA = JoinSchema(
    TableSchema("users", {"id": ColumnType.LONG, "name": ColumnType.STRING}, keep=2),
    TableSchema("accounts", {"id": ColumnType.LONG, "balance": ColumnType.LONG}, keep=2),
    key="id",
)


class Shown:
    """A store, a view on it and the public tables, fed with messages."""

    def __init__(self, schema: JoinSchema = SCHEMA) -> None:
        self._schema = schema
        columns: dict[str, Columns] = {
            NAMES.left: schema.left.columns,
            NAMES.right: schema.right.columns,
            NAMES.joined: schema.joined_columns,
        }
        self.registry = Registry(LiveTable(name, its_columns) for name, its_columns in columns.items())
        self.events: dict[str, list[Event]] = {name: [] for name in columns}
        for name, events in self.events.items():
            self.registry.subscribe(name, events.append)
        self.store = Store(schema)
        self._messages: list[Message] = []
        self._view: View | None = None

    def show(self, join: JoinType, match: Match = Match.LATEST, generation: int = 1) -> View:
        self._view = View(self.registry, NAMES, self._schema, join, match, generation)
        self._view.show(self.store.bind(self._view.bound))
        return self._view

    def send(self, *messages: Message) -> None:
        self._messages += messages
        sent = {message.row[self._schema.key] for message in messages}
        records = enumerate(records_of(self._messages, self._schema).items())
        change = self.store.take((str(number).encode(), record) for number, (key, record) in records if key in sent)
        if change is not None and self._view is not None:
            self._view.changed(change)

    def rows(self, name: str = NAMES.joined) -> pl.DataFrame:
        return self.registry.snapshot(name).rows

    def heights(self) -> list[int]:
        """Of the left, the right and the joined table."""
        return [self.rows(name).height for name in (NAMES.left, NAMES.right, NAMES.joined)]
