"""Logins by OpenID Connect: the provider says who somebody is, in a token that it has signed."""

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError

from turnout.config_access import OidcConfig, Role
from turnout.serve.security.principal import Principal
from turnout.serve.security.provider import ANSWER_SECONDS, Provider, unreachable
from turnout.serve.security.refusal import Refusal, not_logged_in

# Signatures by a key that only the provider has: neither none nor those with a shared secret.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS = 30  # two machines' clocks differ
VERIFIER_LENGTH = 64

Claims = Mapping[str, Any]


@dataclass(frozen=True)
class Attempt:
    """What has to be remembered between the way to the provider and the way back."""

    state: str
    nonce: str
    verifier: str


class Oidc:
    def __init__(self, config: OidcConfig, clock: Callable[[], float] = time.time) -> None:
        self._config, self._clock = config, clock
        self._provider = Provider(config.issuer)

    @property
    def mark(self) -> str:
        """Of all that decides who comes in and as what: another one would decide anew. The order of groups does not."""
        said = self._config
        decides = [said.issuer, said.client_id, said.roles_claim, sorted(said.viewers), sorted(said.operators)]
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:16]

    async def begin(self, callback: str) -> tuple[str, Attempt]:
        """The provider's address to send the browser to."""
        attempt = Attempt(generate_token(), generate_token(), generate_token(VERIFIER_LENGTH))
        address = (await self._provider.metadata())["authorization_endpoint"]
        async with self._client(callback) as client:
            url, _ = client.create_authorization_url(
                address, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
            )
        return url, attempt

    async def finish(self, callback: str, answer: Mapping[str, str], attempt: Attempt) -> Principal:
        """Who it is, by what the browser brought back from the provider."""
        if not hmac.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise not_logged_in("this answer belongs to another login: try again")
        if "code" not in answer:
            raise not_logged_in(f"the provider did not log you in ({answer.get('error', 'no reason given')[:100]})")
        claims = await self._validated(await self._exchange(callback, answer["code"], attempt))
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise not_logged_in("the provider's token belongs to another login: try again")
        return self._principal(claims, until=None)

    async def bearer(self, token: str) -> Principal:
        """Who it is by a token that the provider has made out to us; it is good for as long as that says."""
        claims = await self._validated(token)
        return self._principal(claims, until=float(claims["exp"]))

    async def _exchange(self, callback: str, code: str, attempt: Attempt) -> str:
        address = (await self._provider.metadata())["token_endpoint"]
        try:
            async with self._client(callback) as client:
                answer = await client.fetch_token(
                    address, grant_type="authorization_code", code=code, code_verifier=attempt.verifier
                )
        except httpx2.HTTPError as error:
            raise unreachable(self._config.issuer, error) from None
        except OAuthError as error:
            raise not_logged_in(f"the provider refused the login ({error.error})") from None
        if "id_token" not in answer:
            raise not_logged_in("the provider gave no ID token: serve.auth.oidc.scopes needs openid")
        return str(answer["id_token"])

    def _client(self, callback: str) -> Any:
        secret = self._config.client_secret.read() if self._config.client_secret else None
        return AsyncOAuth2Client(
            self._config.client_id,
            secret,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope=" ".join(self._config.scopes),
            redirect_uri=callback,
            code_challenge_method="S256",
            timeout=ANSWER_SECONDS,
        )

    async def _validated(self, token: str) -> Claims:
        """The claims of a token that this provider has signed, for us, and that is still good."""
        try:
            decoded = jwt.decode(token, await self._provider.keys(token), algorithms=ALGORITHMS)
            now = int(self._clock())
            jwt.JWTClaimsRegistry(
                now=now,
                leeway=LEEWAY_SECONDS,
                iss={"essential": True, "value": self._config.issuer},
                aud={"essential": True, "value": self._config.client_id},
                exp={"essential": True},
                sub={"essential": True},
            ).validate(decoded.claims)
        except (JoseError, ValueError) as error:
            # The reason is in words of the library, and never has the token in it.
            raise not_logged_in(f"this token of the provider is not good ({_reason(error)})", wrong=True) from None
        return decoded.claims

    def _principal(self, claims: Claims, until: float | None) -> Principal:
        name = str(claims.get("email") or claims["sub"])[:100]
        found = {str(value) for value in values_at(claims, self._config.roles_claim)}
        if found & set(self._config.operators) or "*" in self._config.operators:
            return Principal(name, Role.OPERATOR, until)
        if found & set(self._config.viewers) or "*" in self._config.viewers:
            return Principal(name, Role.VIEWER, until)
        raise Refusal(403, f"{name} is logged in, but neither a viewer nor an operator here: ask for one of the groups")


def values_at(claims: Claims, name: str) -> Iterator[object]:
    """The values of a claim, one or a list. A dot leads into a claim with fields, unless it is part of a name."""
    here: object = claims
    for part in [name] if name in claims else name.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    if isinstance(here, list):
        yield from here
    elif here is not None:
        yield here


def _reason(error: Exception) -> str:
    return str(getattr(error, "error", "")) or type(error).__name__
