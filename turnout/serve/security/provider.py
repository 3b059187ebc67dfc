"""An OpenID Connect provider's own words: where it is asked, and the keys that it signs with."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx2
from joserfc.jwk import KeySet
from joserfc.jws import extract_compact

from turnout.serve.security.refusal import Refusal

ANSWER_SECONDS = 10.0
KEPT_SECONDS = 3600.0
"""How long its words are believed before they are asked for again."""
HASTE_SECONDS = 10.0
"""A token by an unknown key may mean that there are new keys; so often they are asked for, whoever makes up names."""
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Provider:
    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer, self._clock = issuer, clock
        self._metadata: dict[str, Any] = {}
        self._metadata_at = 0.0
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._asking = asyncio.Lock()

    async def metadata(self) -> dict[str, Any]:
        async with self._asking:
            return await self._discovered()

    async def keys(self, token: str) -> KeySet:
        """Those that the token may be signed with."""
        kid = extract_compact(token.encode()).headers().get("kid")
        async with self._asking:
            age = self._clock() - self._keys_at
            known = self._keys is not None and (kid is None or any(key.kid == kid for key in self._keys.keys))
            if self._keys is None or age > KEPT_SECONDS or (not known and age > HASTE_SECONDS):
                metadata = await self._discovered()
                self._keys = KeySet.import_key_set(await self._get(metadata["jwks_uri"]))
                self._keys_at = self._clock()
            return self._keys

    async def _discovered(self) -> dict[str, Any]:
        if not self._metadata or self._clock() - self._metadata_at > KEPT_SECONDS:
            said = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            if said.get("issuer") != self._issuer:
                raise unreachable(self._issuer, "it calls itself by another name: serve.auth.oidc.issuer must match")
            if missing := [name for name in _NEEDED if name not in said]:
                raise unreachable(self._issuer, f"its description lacks {', '.join(missing)}")
            self._metadata, self._metadata_at = said, self._clock()
        return self._metadata

    async def _get(self, url: str) -> Any:
        try:
            async with httpx2.AsyncClient(timeout=ANSWER_SECONDS) as client:
                answer = (await client.get(url)).raise_for_status().json()
        except (httpx2.HTTPError, ValueError) as error:
            raise unreachable(self._issuer, error) from None
        if not isinstance(answer, dict):
            raise unreachable(self._issuer, "its answer is no object")
        return answer


def unreachable(issuer: str, why: object) -> Refusal:
    return Refusal(503, f"the login provider {issuer} cannot be asked: {str(why) or type(why).__name__}")
