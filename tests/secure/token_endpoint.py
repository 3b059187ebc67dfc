"""A small OIDC token endpoint on loopback: client credentials in, a signed JWT out, and the keys that verify it.

It can be stopped and started again on its port, and what it demands and grants can be changed while it runs.
"""

import base64
import binascii
import json
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote_plus

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.secure.certificates import Identity
from tests.secure.ports import HOST, lasting_ports

AUDIENCE = "kafka"
ALGORITHM = "RS256"
STOP_POLL_SECONDS = 0.02
Address = tuple[str, int]


class Refused(Exception):
    """An error as OAuth words it (RFC 6749, 5.2)."""

    def __init__(self, error: str, description: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(error)
        self.status, self.answer = status, {"error": error, "error_description": description}


@dataclass(frozen=True)
class Given:
    """What a client asked for, and until when its token is good."""

    client: str
    scope: str
    expires: float
    fields: Mapping[str, str]


class TokenEndpoint:
    """`start()`, use `url`, `stop()`; or as a context manager. Its port and its signing key are the same ever after."""

    def __init__(
        self, clients: Mapping[str, str], *, scopes: Iterable[str] = ("kafka",), identity: Identity | None = None
    ) -> None:
        """`clients`: id -> secret. With an `identity` it speaks https too, on a port of its own."""
        self.clients = dict(clients)
        self.scopes = set(scopes)
        self.lifetime_seconds = 300.0
        self.audience = AUDIENCE
        self.given: list[Given] = []
        """One for each token that was given."""
        self.refused: list[str] = []
        """The error of each request for a token that was refused."""
        self._identity = identity
        self._port, self._https_port = lasting_ports(2)
        self._key = RSAKey.generate_key(2048, {"use": "sig", "alg": ALGORITHM}, auto_kid=True)
        self._running: list[tuple[_Server, threading.Thread]] = []

    @property
    def issuer(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.issuer}/token"

    @property
    def https_url(self) -> str:
        assert self._identity is not None, "it has no certificate"
        return f"https://{HOST}:{self._https_port}/token"

    @property
    def jwks_url(self) -> str:
        return f"{self.issuer}/jwks"

    def start(self) -> None:
        if self._running:
            return
        self._serve(_Server((HOST, self._port), self, None))
        if self._identity is not None:
            self._serve(_Server((HOST, self._https_port), self, _tls(self._identity)))

    def _serve(self, server: "_Server") -> None:
        thread = threading.Thread(
            target=server.serve_forever, args=(STOP_POLL_SECONDS,), name="token endpoint", daemon=True
        )
        thread.start()
        self._running.append((server, thread))

    def stop(self) -> None:
        """Connections are refused from now on."""
        while self._running:
            server, thread = self._running.pop()
            server.shutdown()
            server.server_close()
            thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @contextmanager
    def lasting(self, seconds: float) -> Iterator[None]:
        """Tokens that it gives meanwhile last as long as this; then it is as before, and up."""
        usual, self.lifetime_seconds = self.lifetime_seconds, seconds
        try:
            yield
        finally:
            self.lifetime_seconds = usual
            self.start()

    def jwks(self) -> dict[str, Any]:
        return {"keys": [self._key.as_dict(private=False)]}

    def token(self, authorization: str, body: str) -> dict[str, Any]:
        """The answer to a request with this header and this form."""
        try:
            return self._grant(authorization, {name: values[0] for name, values in parse_qs(body).items()})
        except Refused as refusal:
            self.refused.append(refusal.answer["error"])
            raise

    def _grant(self, authorization: str, fields: dict[str, str]) -> dict[str, Any]:
        client, secret = _credentials(authorization, fields)
        if client not in self.clients or self.clients[client] != secret:
            description = "unknown client or wrong secret"
            raise Refused("invalid_client", description, HTTPStatus.UNAUTHORIZED)
        if fields.get("grant_type") != "client_credentials":
            raise Refused("unsupported_grant_type", "only client_credentials is granted here")
        scope = fields.get("scope", "")
        if not self.scopes.issuperset(scope.split()):
            raise Refused("invalid_scope", "a scope that this client may not have")
        expires = int(time.time() + self.lifetime_seconds)
        shown = {name: value for name, value in fields.items() if name != "client_secret"}
        self.given.append(Given(client, scope, expires, shown))
        return {
            "access_token": self._signed(client, scope, expires),
            "token_type": "Bearer",
            "expires_in": int(self.lifetime_seconds),
            "scope": scope,
        }

    def _signed(self, client: str, scope: str, expires: int) -> str:
        claims = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": client,
            "scope": scope,
            "iat": int(time.time()),
            "exp": expires,
            "jti": uuid.uuid4().hex,
        }
        return jwt.encode({"alg": ALGORITHM, "kid": self._key.kid}, claims, self._key, [ALGORITHM])


class _Server(ThreadingHTTPServer):
    def __init__(self, address: Address, endpoint: TokenEndpoint, tls: ssl.SSLContext | None) -> None:
        self.endpoint, self._tls = endpoint, tls
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[socket, Address]:
        connection, address = super().get_request()
        if self._tls is not None:
            # The handshake comes with the first read, in the connection's own thread: a slow one holds up nobody.
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust the certificate hangs up: nothing to tell anybody."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def do_GET(self) -> None:
        match self.path:
            case "/jwks":
                self._answer(self.server.endpoint.jwks)
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        match self.path:
            case "/token":
                self._answer(lambda: self.server.endpoint.token(self.headers.get("Authorization", ""), body))
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, make: Callable[[], dict[str, Any]]) -> None:
        status: HTTPStatus = HTTPStatus.OK
        try:
            answer = make()
        except Refused as refusal:
            status, answer = refusal.status, refusal.answer
        content = json.dumps(answer).encode()
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="tokens"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests look at what was given and refused."""


def _tls(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    return context


def _credentials(authorization: str, fields: Mapping[str, str]) -> tuple[str, str]:
    """From the Basic header, in which each part is form-encoded (RFC 6749, 2.3.1), or from the form."""
    kind, _, coded = authorization.partition(" ")
    if kind.lower() != "basic":
        return fields.get("client_id", ""), fields.get("client_secret", "")
    try:
        client, _, secret = base64.b64decode(coded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Refused("invalid_request", "the Authorization header cannot be read") from None
    return unquote_plus(client), unquote_plus(secret)
