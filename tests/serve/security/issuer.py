"""A small OpenID Connect provider on loopback, with a real key: it logs everybody in as who it is told.

It checks what a provider checks: the client's secret, that a code is used once, and the proof that whoever began the
login also ends it (PKCE).
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT_ID, CLIENT_SECRET = "turnout", "points-and-signals"


class Issuer:
    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self.published = [self.key]
        self.claims: dict[str, Any] = {"sub": "17", "email": "ann@example.com", "groups": ["staff", "rail-operators"]}
        """What the next token says of who logs in, beside what every token says."""
        self.changes: dict[str, Any] = {}
        """What is wrong with the next token: claims in place of those it should have; None: none."""
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.answer(self, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                issuer.answer(self, _single(body))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def token(self, key: RSAKey | None = None, **changes: Any) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, **self.claims, **changes}
        signing = key or self.key
        said = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": signing.kid or ""}, said, signing)

    def answer(self, request: BaseHTTPRequestHandler, form: dict[str, str]) -> None:
        address = urlsplit(request.path)
        self.asked.append(address.path)
        match address.path:
            case "/.well-known/openid-configuration":
                endpoints = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
                _send(request, {"issuer": self.url, **{name: f"{self.url}/{at}" for name, at in endpoints.items()}})
            case "/jwks":
                _send(request, KeySet(list(self.published)).as_dict(private=False))
            case "/authorize":
                self._authorize(request, _single(address.query))
            case "/token":
                self._token(request, form)
            case _:
                request.send_error(404)

    def _authorize(self, request: BaseHTTPRequestHandler, asked: dict[str, str]) -> None:
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        request.send_response(303)
        request.send_header("Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")
        request.end_headers()

    def _token(self, request: BaseHTTPRequestHandler, form: dict[str, str]) -> None:
        asked = self._codes.pop(form["code"], None)
        login = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if asked is None or request.headers["Authorization"] != f"Basic {login}":
            _send(request, {"error": "invalid_grant" if asked is None else "invalid_client"}, 400)
            return
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        assert proof == asked["code_challenge"]
        assert form["redirect_uri"] == asked["redirect_uri"]
        token = self.token(**{"nonce": asked["nonce"], **self.changes})
        _send(request, {"access_token": "opaque", "token_type": "Bearer", "id_token": token})


def _single(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def _send(request: BaseHTTPRequestHandler, content: object, status: int = 200) -> None:
    body = json.dumps(content).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
