"""Who may come in over HTTP, and how: the sections below `serve`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from turnout.config_checks import Problem
from turnout.config_parts import Seconds, Section, Text, Words, one_of, shown
from turnout.errors import ConfigError
from turnout.secret import Secret

# The token is 256 random bits: nobody finds it by trying, so it needs no slow hash, as a password would, and no salt.
_HASH = re.compile(r"sha256:[0-9a-f]{64}")

KEY_CHARACTERS = 32
"""Whoever guesses the key can log in as anyone, and may try for as long as they like."""


class Role(StrEnum):
    VIEWER = "viewer"
    """Reads everything."""
    OPERATOR = "operator"
    """Also switches."""


def _token_name(name: str) -> str:
    if not re.fullmatch(r"[\w.@-]{1,64}", name):
        raise ValueError("a token's name has letters, digits, '_', '.', '@' and '-' only, 64 at most")
    return name


def _token_hash(text: str) -> str:
    # What is here may be the token itself, by mistake: it is not shown.
    if not _HASH.fullmatch(text := text.lower()):
        raise ValueError("expected sha256: and 64 hexadecimal digits; `turnout token` makes a token and its hash")
    return text


def _moment(value: object) -> object:
    if value == "":
        return None
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not a time such as 2027-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _issuer(url: str) -> str:
    address = urlsplit(url)
    if url and (address.scheme not in ("http", "https") or not address.hostname):
        raise ValueError(f"{shown(url)} is not an address such as https://login.example.com/realms/main")
    if address.scheme == "http" and not is_loopback(address.hostname or ""):
        raise ValueError("must begin with https://: whoever can change its answers can log in as anyone")
    return url


def _origin(text: str) -> str:
    address = urlsplit(text)
    if address.scheme not in ("http", "https") or not address.netloc or text != f"{address.scheme}://{address.netloc}":
        raise ValueError(f"{shown(text)} is not an origin such as https://dashboard.example.com, without a path")
    return text.lower()


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError(f"{shown(text)} is not an IP address") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


Origins = Annotated[Words, AfterValidator(lambda words: tuple(map(_origin, words)))]
Addresses = Annotated[Words, AfterValidator(lambda words: tuple(map(_address, words)))]


class TokenConfig(Section):
    role: Annotated[Role, one_of(Role, "a role")] = Field(description="viewer reads everything, operator also switches")
    hash: Annotated[str, AfterValidator(_token_hash)] = Field(
        description="the SHA-256 of the token, which `turnout token` prints; the token itself is nowhere"
    )
    expires: Annotated[datetime | None, BeforeValidator(_moment)] = Field(
        default=None, description="when it ceases to be valid, in ISO 8601; never if it is not said"
    )


class OidcConfig(Section):
    issuer: Annotated[str, AfterValidator(_issuer)] = Field(
        default="", description="the address of the OpenID Connect provider, as its tokens name it; none: no such login"
    )
    client_id: str = Field(default="", description="Turnout's name at the provider; tokens must be made out to it")
    client_secret: Secret = Field(
        default=Secret(""), description="its secret there, if the provider asks for one; may be in a file"
    )
    roles_claim: Text = Field(
        default="groups", description="the claim of a token that says what a person is; dots lead into it"
    )
    viewers: Words = Field(default=(), description="values of that claim that make a viewer; * is anyone who logs in")
    operators: Words = Field(default=(), description="values of that claim that make an operator")
    scopes: Words = Field(default=("openid", "profile", "email"), description="what the provider is asked for")


class AuthConfig(Section):
    tokens: dict[Annotated[str, AfterValidator(_token_name)], TokenConfig] = Field(
        default={}, description="who may come in by a token, by name"
    )
    oidc: OidcConfig = Field(default=OidcConfig(), description="who may come in by OpenID Connect")
    open: bool = Field(default=False, description="true lets anyone in who reaches the address: also off loopback")
    session_seconds: Seconds = Field(
        default=43200, gt=0, description="how long a login on the page lasts: half a day if nothing is said"
    )
    session_key: Secret = Field(
        default=Secret(""),
        description="what logins on the page are signed with, 32 characters or more, for servers that share them; may"
        " be in a file; none: a key of its own, in the state directory",
    )

    @property
    def asks(self) -> bool:
        """Whether anyone has to say who they are."""
        return bool(self.tokens or self.oidc.issuer)


class TlsConfig(Section):
    certificate: str = Field(default="", description="the file with the certificate and those that lead to it, in PEM")
    key: str = Field(default="", description="the file with its private key, in PEM, without a password")


class LimitsConfig(Section):
    max_connections: int = Field(
        default=1000, ge=1, description="requests, streams and sockets at once; beyond that the answer is 503"
    )
    # A page holds two, so these are 125 people in an office with one address; and no client takes the room of all.
    max_connections_per_address: int = Field(
        default=250, ge=1, description="of those from one address, other than loopback; beyond that, 429"
    )
    requests_per_second: float = Field(
        default=50, gt=0, allow_inf_nan=False, description="from one address, other than loopback; beyond that, 429"
    )
    burst_requests: int = Field(default=500, ge=1, description="from one address at once, before that is counted")
    max_request_bytes: int = Field(default=1048576, ge=65536, description="of one request's body; beyond that, 413")
    request_seconds: Seconds = Field(
        default=20, gt=0, description="for a request's header, and as long for its body, to come in; beyond that, 408"
    )


def access_problems(auth: AuthConfig, tls: TlsConfig) -> Iterator[Problem]:
    """What does not go together in these sections."""
    yield from _oidc_problems(auth.oidc)
    yield from _key_problems(auth.session_key)
    if auth.open and auth.asks:
        yield ("serve", "auth", "open"), "lets anyone in, but tokens or oidc ask for a login; remove one or the other"
    if bool(tls.certificate) != bool(tls.key):
        missing = "key" if tls.certificate else "certificate"
        yield ("serve", "tls", missing), "missing; TLS needs both a certificate and its key"


def _key_problems(key: Secret) -> Iterator[Problem]:
    at = ("serve", "auth", "session_key")
    try:
        if key and len(key.read()) < KEY_CHARACTERS:
            yield at, f"has fewer than {KEY_CHARACTERS} characters; `openssl rand -hex 32` makes a good one"
    except ConfigError as error:
        yield at, str(error)


def _oidc_problems(oidc: OidcConfig) -> Iterator[Problem]:
    at = ("serve", "auth", "oidc")
    if not oidc.issuer:
        if oidc != OidcConfig():
            yield (*at, "issuer"), "missing; the address of the OpenID Connect provider"
        return
    if not oidc.client_id:
        yield (*at, "client_id"), "missing; Turnout's name at the provider"
    if not (oidc.viewers or oidc.operators):
        yield (*at, "viewers"), "missing; without viewers and operators nobody could come in ('*' is anyone)"
    if "openid" not in oidc.scopes:
        yield (*at, "scopes"), "must have openid among them: without it there is no login"
    try:
        oidc.client_secret.read()
    except ConfigError as error:
        yield (*at, "client_secret"), str(error)
