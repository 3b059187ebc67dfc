"""The token that an OAuth login begins with: asked for as the clients ask, and looked at. It stays in this module."""

import base64
import binascii
import json
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit

from turnout.kafka.diagnosis.certificates import COMPARE_CLOCKS, moment
from turnout.kafka.diagnosis.distrust import TOKEN_ENDPOINT, why_untrusted
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.reach import Server, connect, resolve
from turnout.kafka.diagnosis.tls import context_of
from turnout.kafka.diagnosis.token_refusals import refusal, says_nothing
from turnout.kafka.login.model import OAuthLogin
from turnout.kafka.login.parse_oauth import ENDPOINT

ANSWER_SECONDS = 10.0
_LONGEST_ANSWER = 1 << 20
_SKEW = timedelta(minutes=1)
"""More than the way of a token takes; brokers forgive half of it."""


@dataclass(frozen=True)
class Token:
    """What a token says of itself."""

    subject: str
    issuer: str
    audience: str
    issued: datetime | None
    expires: datetime

    @property
    def lifetime(self) -> timedelta:
        return self.expires - datetime.now(UTC)

    @property
    def skew(self) -> timedelta | None:
        """How far this machine's clock is from the provider's, where that matters. The token is new."""
        skew = datetime.now(UTC) - self.issued if self.issued is not None else timedelta()
        return skew if abs(skew) > _SKEW else None

    def __str__(self) -> str:
        issued = f"issued {moment(self.issued)}, " if self.issued else ""
        return (
            f"subject {self.subject}, issuer {self.issuer or 'none'}, audience {self.audience or 'none'}, "
            f"{issued}expires {moment(self.expires)}"
        )


def fetch_token(login: OAuthLogin, client: Mapping[str, str]) -> Token:
    """`client`: the properties as librdkafka takes them, for what the endpoint's certificate is trusted by."""
    opener = _opener(context_of(client, "https.ca"))
    try:
        answer = opener.open(_request(login), timeout=ANSWER_SECONDS)
        assert answer is not None, "there is a handler for either scheme"
        with answer:
            return _token(_json(answer))
    except HTTPError as error:
        with error:
            raise refusal(login, error.code, _json(error), error.headers.get("Location")) from None
    except URLError as error:
        raise _unreachable(login, error.reason) from None
    except (OSError, HTTPException) as error:
        raise _unreachable(login, error) from None


def _opener(context: ssl.SSLContext) -> urllib.request.OpenerDirector:
    """Follows no redirect: the client's secret goes to the address in the configuration and nowhere else."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _request(login: OAuthLogin) -> urllib.request.Request:
    pair = f"{login.client_id}:{login.client_secret.get_secret_value()}"
    fields = {"grant_type": "client_credentials", **({} if login.scope is None else {"scope": login.scope})}
    headers = {
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return urllib.request.Request(login.endpoint, urlencode(fields).encode(), headers, method="POST")


class _Readable(Protocol):
    def read(self, amount: int, /) -> bytes: ...


def _json(answer: _Readable) -> dict[str, Any]:
    try:
        found = json.loads(answer.read(_LONGEST_ANSWER))
    except (ValueError, OSError, HTTPException):
        return {}
    return found if isinstance(found, dict) else {}


def _token(answer: Mapping[str, Any]) -> Token:
    text = answer.get("access_token")
    if not isinstance(text, str):
        raise Obstacle("the endpoint answers, but with no access_token", says_nothing())
    claims = _claims(text)
    expires = _time(claims.get("exp"))
    if expires is None or not isinstance(claims.get("sub"), str):
        raise Obstacle(
            "the token is no JWT with `exp` and `sub`, which both of Turnout's Kafka clients look at",
            "have the provider issue JWT access tokens for this client (often by a scope or an audience of its own)",
        )
    now = datetime.now(UTC)
    if expires <= now:
        raise Obstacle(
            f"the token has expired already: it is good until {moment(expires)}, here it is {moment(now)}",
            COMPARE_CLOCKS,
        )
    audience = claims.get("aud", "")
    return Token(
        subject=claims["sub"],
        issuer=str(claims.get("iss", "")),
        audience=", ".join(map(str, audience)) if isinstance(audience, list) else str(audience),
        issued=_time(claims.get("iat")),
        expires=expires,
    )


def _claims(token: str) -> dict[str, Any]:
    """Unverified: the broker does that."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return {}
    return found if isinstance(found, dict) else {}


def _time(claim: object) -> datetime | None:
    try:
        return datetime.fromtimestamp(claim, UTC) if isinstance(claim, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def _unreachable(login: OAuthLogin, reason: object) -> Obstacle:
    url = urlsplit(login.endpoint)
    server = Server(url.hostname or "", url.port or (443 if url.scheme == "https" else 80))
    try:
        addresses = resolve(server)
        address = connect(server, addresses).address
    except Obstacle as obstacle:
        return Obstacle(f"the token endpoint {login.endpoint}: {obstacle.reason}", f"{ENDPOINT}: {obstacle.remedy}")
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = why_untrusted(reason, server, address, TOKEN_ENDPOINT)
        return Obstacle(f"the token endpoint {login.endpoint}: {why.reason}", why.remedy)
    said = "no answer in time" if isinstance(reason, TimeoutError) else "its answer cannot be read"
    return Obstacle(
        f"the token endpoint {login.endpoint} does not answer as it should ({said})",
        f"see that {ENDPOINT} has the right scheme (https or http) and port, and that no proxy is in between",
    )
