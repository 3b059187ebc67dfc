"""What a table's stream tells: all rows, or what changed. Rows come by their ids."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from turnout.sse import ServerEvent

Row: TypeAlias = dict[str, Any]
"""Values by column."""

_ID = "_row"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All rows of the table at one moment: what a stream begins with, and begins anew with."""

    generation: int
    rows: dict[str, Row]


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that are new or changed, and the ids of those that are gone."""

    generation: int
    upserts: dict[str, Row]
    removes: list[str]


@dataclass(frozen=True, slots=True)
class Swap:
    """Another generation is shown: these rows, in place of all others."""

    generation: int
    rows: dict[str, Row]


Event: TypeAlias = Snapshot | Change | Swap


def event_of(said: ServerEvent) -> Event | None:
    """The event as the server said it; None if it is of a kind that a later server may have."""
    read = _KINDS.get(said.kind)
    return None if read is None else read(said.data)


_KINDS: Mapping[str, Callable[[Any], Event]] = {
    "snapshot": lambda data: Snapshot(data["generation"], _by_id(data["rows"])),
    "change": lambda data: Change(data["generation"], _by_id(data["upserts"]), data["removes"]),
    "swap": lambda data: Swap(data["generation"], _by_id(data["rows"])),
}


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.pop(_ID): row for row in rows}
