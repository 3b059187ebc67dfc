"""An answer that is no, the same to requests and to sockets."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

POLICY_VIOLATION = 1008  # WebSocket's own code for it


class Refusal(Exception):
    """Why somebody is not let in; the text is for them to read, and holds no secret."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, headers

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the handshake, which is answered now
            if "websocket.http.response" not in scope.get("extensions", {}):
                await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": self.text})
                return
        response = JSONResponse({"error": self.text}, self.status, dict(self.headers))
        await response(scope, receive, send)


def not_logged_in(text: str, *, wrong: bool = False) -> Refusal:
    """A 401; `wrong`: something was shown, and it is not good."""
    challenge = 'Bearer realm="Turnout"' + (', error="invalid_token"' if wrong else "")
    return Refusal(401, text, {"WWW-Authenticate": challenge})
