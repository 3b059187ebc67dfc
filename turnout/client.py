"""A running Turnout, as the command line sees it: over HTTP.

By means of Python's own library: it loads in a fraction of the time that a command may take to answer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from turnout.errors import TurnoutError
from turnout.sse import ServerEvent, events

ANSWER_SECONDS = 10.0

QUIET_SECONDS = 40.0
"""How long a stream may be silent: the server says that it is still there every 15 s."""

_CONNECTIONS = {"http": HTTPConnection, "https": HTTPSConnection}


@dataclass(frozen=True)
class ControlAnswer:
    id: str
    outcome: str | None
    """None: not known yet."""


class Client:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        address = urlsplit(self.url)
        try:
            if not address.hostname:
                raise ValueError
            self._connect = partial(_CONNECTIONS[address.scheme], address.hostname, address.port)
        except (KeyError, ValueError):  # another scheme, or a port that is no number
            raise TurnoutError(f"{url!r} is not an address such as http://127.0.0.1:8400") from None
        self._path = address.path

    def status(self) -> dict[str, Any]:
        with self._open("/api/status") as response:
            return dict(_json(response))

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows, those that changed last at the end."""
        with self._open(f"/api/tables/{quote(table, safe='')}") as response:
            return list(_json(response)["rows"])

    def changes(self, table: str, quiet_seconds: float = QUIET_SECONDS) -> Iterator[ServerEvent]:
        """A snapshot, and then each change as it comes. It has no end: if the server ends, that is an error."""
        with self._open(f"/api/tables/{quote(table, safe='')}/changes", seconds=quiet_seconds) as response:
            yield from events(response)
        raise TurnoutError(f"The Turnout at {self.url} has ended.")

    def control(self, message: Mapping[str, str], seconds: float) -> ControlAnswer:
        """Publish a control message. The server waits for its outcome for half a minute."""
        return self._publish("/api/control", json.dumps(message).encode(), seconds)

    def undo(self, seconds: float) -> ControlAnswer:
        """Go back to what was shown before; otherwise as a control message."""
        return self._publish("/api/undo", b"", seconds)

    def _publish(self, path: str, body: bytes, seconds: float) -> ControlAnswer:
        with self._open(path, body, seconds, allowed=(200, 202, 422)) as response:
            answer = _json(response)
            return ControlAnswer(answer["id"], answer.get("outcome"))

    @contextmanager
    def _open(
        self, path: str, body: bytes | None = None, seconds: float = ANSWER_SECONDS, allowed: tuple[int, ...] = (200,)
    ) -> Iterator[HTTPResponse]:
        connection = self._connect(timeout=seconds)
        try:
            connection.request("GET" if body is None else "POST", self._path + path, body)
            response = connection.getresponse()
            if response.status not in allowed:
                raise TurnoutError(self._refusal(response))
            yield response
        except ConnectionRefusedError:
            raise TurnoutError(
                f"There is no Turnout at {self.url}: start one with `turnout demo` or `turnout run`, "
                "or name another with --url."
            ) from None
        except TimeoutError:
            raise TurnoutError(f"{self.url} does not answer: nothing came for {seconds:g} s.") from None
        except (OSError, HTTPException) as error:
            raise TurnoutError(f"The connection to {self.url} failed: {str(error) or type(error).__name__}.") from None
        finally:
            connection.close()

    def _refusal(self, response: HTTPResponse) -> str:
        said = response.read()
        try:
            return str(json.loads(said)["error"])
        except (ValueError, KeyError, TypeError):
            return f"{self.url} answers with {response.status} {response.reason}: is that a Turnout?"


def _json(response: HTTPResponse) -> Any:
    return json.loads(response.read())
