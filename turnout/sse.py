"""Reads server-sent events."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ServerEvent:
    kind: str
    data: Any
    """Parsed from JSON."""


def events(lines: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The events in the lines of a response; comments, which only keep the connection alive, are left out."""
    kind, data = "message", b""
    for line in lines:
        field, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            kind = value.decode()
        elif field == b"data":
            data += b"\n" + value if data else value
        elif not field and not value and data:  # a blank line ends the event; a comment begins with a colon
            yield ServerEvent(kind, json.loads(data))
            kind, data = "message", b""
