"""Who asked for a switch over HTTP, told in the headers of its control message.

Any server may be asked, and one of them leads: so it is written down in the log of the one that leads too, which all of
them show. Whoever may write to the control topic could say anything here, and could switch without saying it.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

HEADER = "turnout-asked"
SHOWN_BYTES = 1024
"""Of anything that somebody sends, in a line of the log."""

Headers = Iterable[tuple[str, bytes | None]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    by: str
    address: str
    """Where the request came from."""
    server: str = ""
    """That took it."""

    def header(self) -> tuple[str, bytes]:
        return HEADER, _ASKED.dump_json(self)


_ASKED = TypeAdapter(Asked)


def asked_in(headers: Headers) -> Asked | None:
    """What the headers of a message say; None if that is nothing, or nothing that Turnout has written."""
    for name, value in headers:
        if name == HEADER:
            try:
                return _ASKED.validate_json(value or b"", strict=True)
            except ValidationError:
                return None
    return None


def in_one_line(value: bytes) -> str:
    """As text of bounded length, without what a terminal would act on: it may hold anything."""
    text = value[:SHOWN_BYTES].decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def write_down(asked: Asked, message: bytes) -> None:
    """That a switch was asked for at another server."""
    by, address, server = (in_one_line(said.encode()) for said in (asked.by, asked.address, asked.server))
    log.info("Switch over HTTP by %s from %s: accepted by %s: %s", by, address, server, in_one_line(message))
