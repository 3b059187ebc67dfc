"""The one door: nothing behind it is reached, by request or by socket, without its leave.

It is closed unless a path is listed here as open. Reading takes a viewer; whatever changes something takes an operator,
unless it is listed as reading.
"""

import asyncio
import time
from contextlib import suppress
from typing import Protocol
from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnout.serve.security import audit
from turnout.serve.security.principal import ANYONE, Principal, attach
from turnout.serve.security.refusal import POLICY_VIOLATION, Refusal, not_logged_in
from turnout.serve.security.scope import header, is_page
from turnout.serve.security.session import Sessions

LOGIN = "/login"
# Probes ask without a token, and learn nothing but up and live. The rest is what the login page is made of.
OPEN = frozenset(
    {
        "/healthz",
        "/readyz",
        LOGIN,
        "/login/oidc",
        "/login/callback",
        "/logout",
        "/web/colours.css",
        "/web/login.css",
        "/web/icon.svg",
    }
)
ENDED = "the login has ended"
READING_METHODS = ("GET", "HEAD", "OPTIONS")
READING_POSTS = frozenset({"/api/preview"})  # nothing is published


class Guard(Protocol):
    """Knows who somebody is by what they send in a header."""

    async def bearer(self, token: str) -> Principal: ...


class Gate:
    def __init__(
        self, app: ASGIApp, guard: Guard | None, sessions: Sessions | None, unasked: Principal = ANYONE
    ) -> None:
        """Without a guard nobody is asked who they are, and all of them are `unasked`."""
        self._app, self._guard, self._sessions, self._unasked = app, guard, sessions, unasked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if self._guard is None or self._sessions is None or scope["path"] in OPEN:
            attach(scope, self._unasked)
            await self._app(scope, receive, send)
            return
        principal = None
        try:
            principal = await self._identified(scope, self._guard, self._sessions)
            _authorise(scope, principal)
        except Refusal as refusal:
            if audit.is_switch(scope):
                audit.denied(scope, principal, refusal.text)
            if refusal.status == 401 and is_page(scope):
                await RedirectResponse(_login_of(scope), 303)(scope, receive, send)
            else:
                await refusal.answer(scope, receive, send)
            return
        attach(scope, principal)
        await self._let_in(principal, self._sessions, scope, receive, send)

    async def _identified(self, scope: Scope, guard: Guard, sessions: Sessions) -> Principal:
        if authorization := header(scope, "authorization"):
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer":
                raise not_logged_in("only `Authorization: Bearer <token>` is understood", wrong=True)
            return await guard.bearer(token.strip())
        if (principal := sessions.find(scope)) is not None:
            if not _reads(scope) and not header(scope, "origin"):
                raise Refusal(403, "a login by cookie counts only with the header Origin; programs send a token")
            return principal
        raise not_logged_in(f"a login is needed: send `Authorization: Bearer <token>`, or open {LOGIN} in a browser")

    async def _let_in(
        self, principal: Principal, sessions: Sessions, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Until whoever it is may no longer stay: streams and sockets have no end of their own."""
        if principal.until is None:
            await self._app(scope, receive, send)
            return
        ending = _Ending(scope, receive, send)
        when = asyncio.get_running_loop().time() + principal.until - time.time()
        limit = asyncio.timeout_at(when)
        try:
            async with limit:
                with sessions.using(principal.session, limit):
                    await self._app(scope, receive, ending.send)
        except TimeoutError:
            if not limit.expired():
                raise
            await ending.end()


class _Ending:
    """Ends an answer or a socket that has begun, as it would have ended by itself."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._begun = self._over = False

    async def send(self, message: Message) -> None:
        self._begun = True
        self._over = self._over or (message["type"] == "http.response.body" and not message.get("more_body", False))
        await self._send(message)

    async def end(self) -> None:
        with suppress(RuntimeError, OSError):  # the other end is gone
            if self._scope["type"] == "websocket":
                await self._send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": ENDED})
            elif not self._begun:
                await not_logged_in(ENDED, wrong=True).answer(self._scope, self._receive, self._send)
            elif not self._over:
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _reads(scope: Scope) -> bool:
    return scope["type"] == "websocket" or scope["method"] in READING_METHODS or scope["path"] in READING_POSTS


def _authorise(scope: Scope, principal: Principal) -> None:
    if not (_reads(scope) or principal.may_switch):
        raise Refusal(
            403, f"{principal.name} is a {principal.role}: only an operator may switch; ask whoever runs this server"
        )


def _login_of(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    asked = scope["path"] + (f"?{query}" if query else "")
    return LOGIN if asked == "/" else f"{LOGIN}?next={quote(asked, safe='')}"
