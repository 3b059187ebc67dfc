"""A running Turnout from Python: its tables as they are, their changes as they come, and switches.

    from turnout.client import Client

    with Client("http://127.0.0.1:8400") as client:
        frame = client.table("final_ui").to_polars(filter="balance>100", sort="balance:desc")

Everything here has its twin for asyncio: `AsyncClient`. It needs nothing but Python's own library, and Polars for
`to_polars`: it loads in a fraction of the time that a command may take to answer.
"""

from typing import TYPE_CHECKING

from turnout.client.changes import Changes, Options
from turnout.client.client import Client, Status, TableInfo
from turnout.client.errors import (
    NothingToUndo,
    NotLoggedIn,
    NotPermitted,
    OutcomeUnknown,
    QueryRefused,
    SwitchRejected,
    TableMissing,
    TurnoutError,
    Unavailable,
    Unreachable,
)
from turnout.client.events import Change, Event, Row, Snapshot, Swap
from turnout.client.held import Held
from turnout.client.live import Live
from turnout.client.query import Query
from turnout.client.switching import Outcome
from turnout.client.table import Table

if TYPE_CHECKING:
    from turnout.client.asynchronous import AsyncChanges, AsyncClient, AsyncLive, AsyncTable

__all__ = [
    "AsyncChanges",
    "AsyncClient",
    "AsyncLive",
    "AsyncTable",
    "Change",
    "Changes",
    "Client",
    "Event",
    "Held",
    "Live",
    "NotLoggedIn",
    "NotPermitted",
    "NothingToUndo",
    "Options",
    "Outcome",
    "OutcomeUnknown",
    "Query",
    "QueryRefused",
    "Row",
    "Snapshot",
    "Status",
    "Swap",
    "SwitchRejected",
    "Table",
    "TableInfo",
    "TableMissing",
    "TurnoutError",
    "Unavailable",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    """The twins for asyncio, when they are asked for: who does without asyncio does not wait for its import."""
    if name in __all__:
        from turnout.client import asynchronous

        return getattr(asynchronous, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
