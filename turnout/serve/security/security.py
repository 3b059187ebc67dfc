"""All of it, for one configuration: what lies around the application, and the pages to log in by."""

from fastapi import APIRouter
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from turnout.config import Config
from turnout.serve.security.gate import Gate
from turnout.serve.security.guard import Guard
from turnout.serve.security.headers import SecurityHeaders
from turnout.serve.security.host import HostCheck
from turnout.serve.security.limits import Limits
from turnout.serve.security.login import login_pages, no_login
from turnout.serve.security.oidc import Oidc
from turnout.serve.security.origin import OriginCheck
from turnout.serve.security.principal import ANYONE, LOCAL
from turnout.serve.security.seal import Seal, kept_key, shared_key
from turnout.serve.security.session import Sessions
from turnout.serve.security.tokens import Tokens


class Security:
    def __init__(self, config: Config) -> None:
        self._serve, auth = config.serve, config.serve.auth
        self.asks = auth.asks
        """Whether anyone has to say who they are."""
        self._guard: Guard | None = None
        self._sessions: Sessions | None = None
        self.pages: APIRouter = no_login()
        if not auth.asks:
            return
        key = shared_key(auth.session_key.read()) if auth.session_key else kept_key(config.state_dir)
        tokens, seal = Tokens(auth.tokens), Seal(key)
        oidc = Oidc(auth.oidc) if auth.oidc.issuer else None
        self._guard, self._sessions = Guard(tokens, oidc), Sessions(seal, tokens, oidc, auth.session_seconds)
        self.pages = login_pages(tokens, oidc, seal, self._sessions)

    def around(self, app: ASGIApp) -> ASGIApp:
        """From the inside out: an answer of each layer passes those around it."""
        app = Gate(app, self._guard, self._sessions, ANYONE if self._serve.auth.open else LOCAL)
        if self._serve.origins:
            # No credentials: a page from elsewhere sends a token of its own, never the cookie of whoever looks at it.
            app = CORSMiddleware(
                app,
                allow_origins=self._serve.origins,
                allow_methods=("GET", "POST"),
                allow_headers=("Authorization", "Content-Type"),
                expose_headers=("Turnout-Generation", "Retry-After"),
            )
        app = OriginCheck(app, self._serve.origins)
        if not (self.asks or self._serve.auth.open):
            app = HostCheck(app, self._serve.origins)
        return SecurityHeaders(Limits(app, self._serve.limits))
