"""Texts that a browser keeps for the server, and cannot change."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnout.errors import SetupError
from turnout.made_once import made_once

KEY_BYTES = 32
KEY_FILE = "session.key"


class Seal:
    """Signs what is said for one purpose and a while. It can be read by whoever holds it: it is signed, not hidden."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key, self._clock = key, clock

    @property
    def mark(self) -> str:
        """Of this key, and says nothing about it: two servers on one host have cookies of different names."""
        return self._signature("mark", b"").hex()[:8]

    def seal(self, purpose: str, said: Mapping[str, Any], until: float) -> str:
        body = json.dumps({**said, "until": until}).encode()
        return f"{_text(body)}.{_text(self._signature(purpose, body))}"

    def open(self, purpose: str, sealed: str) -> dict[str, Any] | None:
        """What was said; None: it was not said here, not for this purpose, or is no longer valid."""
        body_text, _, signature = sealed.partition(".")
        try:
            body, signed = _bytes(body_text), _bytes(signature)
        except (NotBase64, ValueError):
            return None
        if not hmac.compare_digest(self._signature(purpose, body), signed):
            return None
        said: dict[str, Any] = json.loads(body)
        return said if said["until"] > self._clock() else None

    def now(self) -> float:
        return self._clock()

    def _signature(self, purpose: str, body: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + body, hashlib.sha256)


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def shared_key(text: str) -> bytes:
    """The key that all servers with this text in their configuration have."""
    return hashlib.sha256(text.encode()).digest()


def kept_key(state_dir: Path) -> bytes:
    """The key of this server, made when it is first needed and kept: a login outlives a restart."""
    path = state_dir / KEY_FILE
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        key = made_once(path, lambda: secrets.token_bytes(KEY_BYTES))
    except OSError as error:
        raise SetupError(
            f"The key of the logins, {path}, cannot be read or written ({error.strerror}): make the directory "
            "writable, or give Turnout a key by `serve.auth.session_key`, as servers that share logins need anyway."
        ) from None
    if len(key) != KEY_BYTES:
        raise SetupError(f"The key of the logins, {path}, is damaged: remove it, and everybody logs in again.")
    return key
