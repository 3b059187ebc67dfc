"""What `turnout check` makes of a token endpoint's answers, by a small real server that gives any answer."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr

from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.token import Token, fetch_token
from turnout.kafka.login.model import OAuthLogin

SECRET = "points-and-crossings"


class Endpoint(HTTPServer):
    """Gives the answer that it was told to give, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.headers, self.body = 200, dict[str, str](), b""
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"

    def answers(self, status: int, body: object = b"", **headers: str) -> None:
        self.status, self.headers = status, headers
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests look at what was asked."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetched(endpoint: Endpoint, scope: str | None = None) -> Token:
    login = OAuthLogin(endpoint=endpoint.url, client_id="turnout", client_secret=SecretStr(SECRET), scope=scope)
    return fetch_token(login, {})


def refused(endpoint: Endpoint) -> Obstacle:
    with pytest.raises(Obstacle) as refusal:
        fetched(endpoint)
    assert SECRET not in str(refusal.value)
    return refusal.value


def jwt(**claims: object) -> dict[str, str]:
    coded = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return {"access_token": f"e30.{coded}.signature"}


def test_a_token_is_asked_for_as_the_clients_ask_and_read(endpoint: Endpoint) -> None:
    now = int(time.time())
    endpoint.answers(200, jwt(sub="turnout", iss="https://login.example.com", aud=["a", "b"], iat=now, exp=now + 600))
    token = fetched(endpoint, "kafka read")
    assert endpoint.asked == ["grant_type=client_credentials&scope=kafka+read"]
    assert (token.subject, token.issuer, token.audience) == ("turnout", "https://login.example.com", "a, b")
    assert 590 < token.lifetime.total_seconds() <= 600
    assert token.skew is None
    assert "e30." not in repr(token)


def test_clocks_that_differ_are_noticed(endpoint: Endpoint) -> None:
    ahead = int(time.time()) + 900
    endpoint.answers(200, jwt(sub="turnout", iat=ahead, exp=ahead + 600))
    skew = fetched(endpoint).skew
    assert skew is not None
    assert round(skew.total_seconds() / 60) == -15


def test_a_redirect_is_not_followed(endpoint: Endpoint) -> None:
    """The secret would go where nobody meant it to go."""
    endpoint.answers(302, Location=endpoint.url.replace("/token", "/elsewhere?state=hidden"))
    obstacle = refused(endpoint)
    assert len(endpoint.asked) == 1
    assert "redirects to http://127.0.0.1/elsewhere (HTTP 302), which is not followed" in obstacle.reason


@pytest.mark.parametrize(
    ("status", "body", "reason", "remedy"),
    [
        (400, {"error": "invalid_client"}, "(invalid_client)", "sasl.oauthbearer.client.secret"),
        (401, b"<html>", "(HTTP 401)", "sasl.oauthbearer.client.secret"),
        (400, {"error": "invalid_scope"}, "a token without a scope (invalid_scope)", "sasl.oauthbearer.scope"),
        (400, {"error": "unauthorized_client"}, "does not let the client turnout log in", "client_credentials"),
        (400, {"error": "invalid_request", "error_description": "no tenant"}, "no tenant", "openid-configuration"),
        (405, b"", "there is no token endpoint at", "openid-configuration"),
        (503, b"busy", "has trouble of its own (HTTP 503)", "try again later"),
        (200, b"<html>welcome</html>", "with no access_token", "openid-configuration"),
        (200, {"access_token": "opaque"}, "is no JWT", "JWT access tokens"),
        (200, jwt(sub="turnout"), "is no JWT with `exp` and `sub`", "JWT access tokens"),
        (200, jwt(sub="turnout", exp=1e300), "is no JWT with `exp` and `sub`", "JWT access tokens"),
    ],
)
def test_what_an_answer_means(endpoint: Endpoint, status: int, body: object, reason: str, remedy: str) -> None:
    endpoint.answers(status, body)
    obstacle = refused(endpoint)
    assert reason in obstacle.reason
    assert remedy in obstacle.remedy


def test_a_secret_that_the_endpoint_repeats_is_masked(endpoint: Endpoint) -> None:
    endpoint.answers(401, {"error": "invalid_client", "error_description": f"{SECRET} is wrong"})
    assert "*** is wrong" in refused(endpoint).reason
