"""Logins on the page: a signed cookie says who it is, so the server has nothing to remember but who has logged out."""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from turnout.config_access import Role
from turnout.serve.security.oidc import Oidc
from turnout.serve.security.principal import Principal
from turnout.serve.security.refusal import Refusal
from turnout.serve.security.scope import header, is_secure
from turnout.serve.security.seal import Seal
from turnout.serve.security.tokens import Tokens

_PURPOSE = "session"


class Sessions:
    def __init__(
        self, seal: Seal, tokens: Tokens, oidc: Oidc | None, seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._seal, self._tokens, self._seconds, self._clock = seal, tokens, seconds, clock
        self._oidc_mark = None if oidc is None else oidc.mark
        self._ended: dict[str, float] = {}
        """Who has logged out, and until when the cookie would be valid."""
        self._in_use: defaultdict[str, set[asyncio.Timeout]] = defaultdict(set)

    def begin(self, scope: Scope, response: Response, principal: Principal, token: str | None = None) -> None:
        """Log somebody in, by the token of this name or else by the provider."""
        until = min(self._clock() + self._seconds, principal.until or float("inf"))
        said: dict[str, object] = {"name": principal.name, "role": principal.role, "id": secrets.token_urlsafe(16)}
        said |= {"oidc": self._oidc_mark} if token is None else {"token": token, "mark": self._tokens.mark(token)}
        self._set(scope, response, self._seal.seal(_PURPOSE, said, until), int(until - self._clock()))

    def find(self, scope: Scope) -> Principal | None:
        """Who it is by the cookie; None: nobody, or no longer."""
        said = self._seal.open(_PURPOSE, cookie_parser(header(scope, "cookie")).get(self._name(scope), ""))
        if said is None or said["id"] in self._ended:
            return None
        if (token := said.get("token")) is None:
            # The role is the one of the login. What decided it may be gone from the configuration by now, or another.
            if self._oidc_mark is None or said.get("oidc") != self._oidc_mark:
                return None
            return Principal(said["name"], Role(said["role"]), said["until"], said["id"])
        # The token may be gone from the configuration by now, be another one, or have another role.
        if self._tokens.mark(token) != said["mark"]:
            return None
        try:
            return Principal(said["name"], self._tokens.named(token).role, said["until"], said["id"])
        except Refusal:
            return None

    def end(self, scope: Scope, response: Response) -> None:
        """Log out: the cookie is worth nothing any more, and what it is used for is cut off."""
        principal = self.find(scope)
        if principal is not None and principal.session is not None and principal.until is not None:
            now = self._clock()
            self._ended = {id_: until for id_, until in self._ended.items() if until > now}
            self._ended[principal.session] = principal.until
            for use in self._in_use.pop(principal.session, set()):
                use.reschedule(asyncio.get_running_loop().time())
        self._set(scope, response, "", 0)

    @contextmanager
    def using(self, session: str | None, limit: asyncio.Timeout) -> Iterator[None]:
        """As long as something goes on by this session; its end brings the limit forward to now."""
        if session is None:
            yield
            return
        self._in_use[session].add(limit)
        try:
            yield
        finally:
            if session in self._in_use:
                self._in_use[session].discard(limit)
                if not self._in_use[session]:
                    del self._in_use[session]

    def _set(self, scope: Scope, response: Response, value: str, seconds: int) -> None:
        # Lax, not strict: who follows a link to the page from elsewhere is logged in. What changes something is a POST,
        # and those it is not sent with from elsewhere.
        secure = is_secure(scope)
        response.set_cookie(
            self._name(scope), value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
        )

    def _name(self, scope: Scope) -> str:
        return f"{'__Host-' if is_secure(scope) else ''}turnout_{self._seal.mark}"
