"""Names that this machine goes by. Where nobody is asked who they are, no other name is answered to.

A page can make its own name lead to 127.0.0.1 (DNS rebinding). By all that the browser says it is then of the server's
own origin, and could read and switch.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from turnout.config_access import is_loopback
from turnout.serve.security.refusal import Refusal
from turnout.serve.security.scope import header


class HostCheck:
    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        """Those that are listed may be of a proxy on this machine, by whose name people come."""
        self._app = app
        self._names = {urlsplit(origin).hostname for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_known(header(scope, "host")):
            text = (
                "this server answers to the names of its own machine alone, such as localhost; for others say who may"
                " come in (serve.auth), or list https://<name> in serve.origins"
            )
            await Refusal(421, text).answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # an address in brackets that is none
            return False
        return is_loopback(name) or name.endswith(".localhost") or name in self._names
