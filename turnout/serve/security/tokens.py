"""Tokens that the configuration knows, by their hashes alone."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping

from turnout.config_access import TokenConfig
from turnout.serve.security.principal import Principal
from turnout.serve.security.refusal import not_logged_in

TOKEN_BYTES = 32


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: str) -> str:
    """As the configuration has it.

    A plain SHA-256: a token is 256 random bits, and nobody gets through those by trying. A slow or salted hash would
    help against guesses at passwords, which people choose; here it would only cost time at each request.
    """
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


class Tokens:
    def __init__(self, known: Mapping[str, TokenConfig], clock: Callable[[], float] = time.time) -> None:
        self._known, self._clock = known, clock

    def find(self, token: str) -> Principal | None:
        """Whose it is; None: nobody's. Raises if it has expired."""
        found, hashed = None, hash_of(token).encode()
        for name, known in self._known.items():  # all of them, so that the time it takes tells nothing
            if hmac.compare_digest(known.hash.encode(), hashed):
                found = name
        return None if found is None else self.named(found)

    def named(self, name: str) -> Principal:
        token = self._known[name]
        until = None if token.expires is None else token.expires.timestamp()
        if until is not None and until <= self._clock():
            raise not_logged_in(f"the token {name!r} has expired: ask for another", wrong=True)
        return Principal(name, token.role, until)

    def mark(self, name: str) -> str | None:
        """Tells whether a token of this name is still the same one; None: there is none."""
        return self._known[name].hash[-16:] if name in self._known else None
