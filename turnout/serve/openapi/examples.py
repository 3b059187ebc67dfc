"""Examples of this very configuration: whoever copies one finds that it works here."""

import json
from functools import cached_property

from turnout.schema import Columns, ColumnType, JoinType
from turnout.service import Service

TIME = "2026-01-31T12:00:00.000Z"
ID = "0:17"

_SAMPLES = {ColumnType.STRING: "abc", ColumnType.LONG: 42, ColumnType.DOUBLE: 12.5, ColumnType.BOOLEAN: True}


class Examples:
    """They are about the joined table."""

    def __init__(self, service: Service) -> None:
        self._config = service.config
        self.fields = service.tables.fields
        self.tables = list(service.tables.registry.tables)
        self.table = service.tables.names.joined
        self.columns: Columns = service.tables.registry.table(self.table).columns

    @cached_property
    def row(self) -> dict[str, object]:
        return {name: _SAMPLES[kind] for name, kind in self.columns.items()}

    @cached_property
    def csv(self) -> str:
        values = (value if isinstance(value, str) else json.dumps(value) for value in self.row.values())
        return f"{','.join(self.row)}\n{','.join(values)}\n"

    @cached_property
    def key(self) -> str:
        return self._config.join.on

    @cached_property
    def number(self) -> str:
        """A column with numbers, or the key if there is none."""
        numbers = [name for name, kind in self.columns.items() if kind in (ColumnType.LONG, ColumnType.DOUBLE)]
        return numbers[-1] if numbers else self.key

    @cached_property
    def filter(self) -> str:
        sample = self.row[self.number]
        return f"{self.number}>={sample}"

    @cached_property
    def shown(self) -> dict[str, str]:
        """What is shown at first, as a control message would say it."""
        join, tables = self._config.join, self._config.tables
        return {
            self.fields.left: tables[join.left].topic,
            self.fields.right: tables[join.right].topic,
            self.fields.join: str(join.type),
        }

    @cached_property
    def switched(self) -> dict[str, str]:
        return {**self.shown, self.fields.join: str(JoinType.INNER)}

    @cached_property
    def message(self) -> str:
        return json.dumps({self.fields.join: str(JoinType.INNER)})
