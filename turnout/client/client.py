"""A running Turnout, over HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self
from weakref import WeakSet

from turnout.client.changes import Changes
from turnout.client.server import Server
from turnout.client.switching import OUTCOME_SECONDS, Outcome, publish, switch_message
from turnout.client.table import Table

DEFAULT_URL = "http://127.0.0.1:8400"


@dataclass(frozen=True, slots=True)
class TableInfo:
    name: str
    columns: dict[str, str]
    """Their types by their names: string, long, double or boolean."""
    rows: int


class Status(dict[str, Any]):
    """The status as the server tells it; what every server has is also there by name."""

    @property
    def state(self) -> str:
        return str(self["state"])

    @property
    def generation(self) -> int:
        return int(self["generation"])

    @property
    def join(self) -> str:
        return str(self["joinType"])

    @property
    def topics(self) -> dict[str, str]:
        """By table: the left one, then the right one."""
        return {field.removesuffix("Topic"): topic for field, topic in self.items() if field.endswith("Topic")}

    @property
    def message(self) -> str | None:
        text = self["message"]
        return None if text is None else str(text)

    @property
    def last_applied(self) -> datetime | None:
        moment = self["lastApplied"]
        return None if moment is None else datetime.fromisoformat(moment)

    @property
    def lag(self) -> dict[str, int | None]:
        """By topic: how many of its messages are not in the tables yet. None: not known."""
        return dict(self["lag"])


class Client:
    """All calls wait for their answer. It may be used by many threads at once."""

    def __init__(
        self, url: str = DEFAULT_URL, *, token: str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`token` is what to log in with, where the server asks for it. `headers` go with each request: what a proxy
        before Turnout may ask for."""
        self._server = Server(url, {**({"Authorization": f"Bearer {token}"} if token else {}), **headers})
        self._streams: WeakSet[Changes] = WeakSet()

    @property
    def url(self) -> str:
        return self._server.url

    def tables(self) -> list[TableInfo]:
        """All tables, with their columns and how many rows they have now."""
        return [
            TableInfo(table["name"], table["columns"], table["rows"])
            for table in self._server.json("/api/tables")["tables"]
        ]

    def table(self, name: str) -> Table:
        """One by its name. Nothing is asked of the server yet."""
        return Table(self._server, name, self._streams.add)

    def status(self) -> Status:
        return Status(self._server.json("/api/status"))

    def switch(
        self, *, join: str | None = None, wait_seconds: float = OUTCOME_SECONDS, **topics: str | None
    ) -> Outcome:
        """Switch to other topics or another type of join, and wait for the outcome.

        A topic is named by its table, as the server's configuration has it: `switch(users_topic="users_b")`. What is
        not given stays as it is. Raises SwitchRejected with the reason, and OutcomeUnknown if it takes too long.
        """
        return self.control(switch_message(self.status(), topics, join), wait_seconds)

    def undo(self, wait_seconds: float = OUTCOME_SECONDS) -> Outcome:
        """Go back to what was shown before; otherwise as `switch`. Raises NothingToUndo if nothing was."""
        return publish(self._server, "/api/undo", b"", wait_seconds)

    def control(self, message: Mapping[str, str], wait_seconds: float = OUTCOME_SECONDS) -> Outcome:
        """Publish a control message as it is; otherwise as `switch`."""
        return publish(self._server, "/api/control", json.dumps(message).encode(), wait_seconds)

    def close(self) -> None:
        """End all that follows a table."""
        for stream in list(self._streams):
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"
