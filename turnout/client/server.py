"""One Turnout's address: requests to it, and what its refusals mean."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from turnout.client.errors import (
    NothingToUndo,
    NotLoggedIn,
    NotPermitted,
    QueryRefused,
    TableMissing,
    TurnoutError,
    Unavailable,
    Unreachable,
)

ANSWER_SECONDS = 10.0
LOG_IN = "Log in with a token: --token or the variable TURNOUT_TOKEN, in Python Client(token=…)."

_CONNECTIONS = {"http": HTTPConnection, "https": HTTPSConnection}
_REFUSALS: Mapping[int, type[TurnoutError]] = {
    400: QueryRefused,
    401: NotLoggedIn,
    403: NotPermitted,
    404: TableMissing,
    409: NothingToUndo,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


class Server:
    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url.rstrip("/")
        address = urlsplit(self.url)
        try:
            if not address.hostname:
                raise ValueError
            self._connect: Callable[..., HTTPConnection] = partial(
                _CONNECTIONS[address.scheme], address.hostname, address.port
            )
        except (KeyError, ValueError):  # another scheme, or a port that is no number
            raise TurnoutError(f"{url!r} is not an address such as http://127.0.0.1:8400") from None
        self._path, self._headers = address.path, dict(headers)

    def json(self, path: str) -> Any:
        with self.open(path) as response:
            return json.loads(response.read())

    @contextmanager
    def open(
        self, path: str, body: bytes | None = None, seconds: float = ANSWER_SECONDS, allowed: tuple[int, ...] = (200,)
    ) -> Iterator[HTTPResponse]:
        """The answer to a GET, or to a POST of `body`. Nothing may take longer than `seconds` to come."""
        connection = self._connect(timeout=seconds)
        try:
            with self.explained(seconds):
                response = self.answer(connection, path, body, allowed)
                yield response
        finally:
            connection.close()

    def connection(self, seconds: float) -> HTTPConnection:
        """A connection of one's own, made."""
        connection = self._connect(timeout=seconds)
        connection.connect()
        return connection

    def answer(
        self, connection: HTTPConnection, path: str, body: bytes | None = None, allowed: tuple[int, ...] = (200,)
    ) -> HTTPResponse:
        connection.request("GET" if body is None else "POST", self._path + path, body, self._headers)
        response = connection.getresponse()
        if response.status not in allowed:
            raise self._refusal(response)
        return response

    @contextmanager
    def explained(self, seconds: float) -> Iterator[None]:
        """What breaks in here is told in words."""
        try:
            yield
        except ConnectionRefusedError:
            raise Unreachable(
                f"There is no Turnout at {self.url}: start one with `turnout demo` or `turnout run`, "
                "or name another address (--url)."
            ) from None
        except TimeoutError:
            raise Unreachable(f"{self.url} does not answer: nothing came for {seconds:g} s.") from None
        except ValueError:
            raise Unreachable(f"What {self.url} answers cannot be read: is that a Turnout?") from None
        except (OSError, HTTPException) as error:
            raise Unreachable(f"The connection to {self.url} failed: {str(error) or type(error).__name__}.") from None

    def _refusal(self, response: HTTPResponse) -> TurnoutError:
        kind = _REFUSALS.get(response.status, TurnoutError)
        try:
            said = str(json.loads(response.read())["error"])
            return kind(f"{self.url} answers: {said}. {LOG_IN}" if kind is NotLoggedIn else said)
        except (ValueError, KeyError, TypeError):
            kind = kind if kind is Unavailable else TurnoutError
            return kind(f"{self.url} answers with {response.status} {response.reason}: is that a Turnout?")
