"""Headers by which a browser keeps to itself what it gets from here. Every answer has them, refusals too."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnout.serve.security.scope import is_secure

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    # Other pages cannot put ours into a frame of theirs and have it clicked on. The first is for older browsers.
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'",
    # Not no-referrer: with it a browser hides the origin of our own forms too, which has to be checked.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_DATA = ("/api/", "/metrics", "/login", "/logout")
HSTS = "max-age=31536000"


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                add_to(MutableHeaders(scope=message), scope)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] != "lifespan" else send)


def add_to(headers: MutableHeaders, scope: Scope) -> None:
    """What an answer says itself stays."""
    for name, value in _ALWAYS.items():
        headers.setdefault(name, value)
    if scope["path"].startswith(_DATA):
        headers.setdefault("Cache-Control", "no-store")
    if is_secure(scope):
        headers.setdefault("Strict-Transport-Security", HSTS)
