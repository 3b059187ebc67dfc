"""Pages from elsewhere: a browser says which page asks, and only our own and those that are listed may.

No cookie has to be sent for it to matter: a page from anywhere could open a socket to a server on the visitor's own
machine, or post to it.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from turnout.serve.security.refusal import Refusal
from turnout.serve.security.scope import header

_PORTS = {"http": 80, "https": 443}


class OriginCheck:
    """Programs that are no browsers send no origin, and are none of its business."""

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        self._app, self._origins = app, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._may(scope):
            refusal = Refusal(403, "a page from another origin may not ask this: serve.origins lists those that may")
            await refusal.answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _may(self, scope: Scope) -> bool:
        origin = header(scope, "origin").lower()
        return not origin or origin in self._origins or is_same_origin(origin, header(scope, "host"))


def is_same_origin(origin: str, host: str) -> bool:
    """By host and port. The scheme is not compared: behind a proxy that ends TLS it is another one here."""
    address = urlsplit(origin)
    try:
        asked = urlsplit(f"{address.scheme}://{host}")
        port = _PORTS.get(address.scheme)
        same = (address.hostname, address.port or port) == (asked.hostname, asked.port or port)
        return same and address.hostname is not None  # "null" is a page that hides where it comes from
    except ValueError:  # a port that is none
        return False
