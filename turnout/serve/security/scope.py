"""What a request or a socket says about itself."""

from starlette.datastructures import Headers
from starlette.types import Scope


def header(scope: Scope, name: str) -> str:
    """Empty if there is none."""
    return Headers(scope=scope).get(name, "")


def is_secure(scope: Scope) -> bool:
    """Whether the browser came by TLS, to here or to a proxy that is believed."""
    return scope["scheme"] in ("https", "wss")


def client_of(scope: Scope) -> str:
    """The address it comes from."""
    client = scope.get("client")
    return client[0] if client else "unknown"


def is_page(scope: Scope) -> bool:
    """Whether a person looks at the answer."""
    return scope["type"] == "http" and scope["method"] == "GET" and "text/html" in header(scope, "accept")
