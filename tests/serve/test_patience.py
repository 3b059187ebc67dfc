"""Clients that no longer read, at a real server."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.serve.feeding import change
from tests.serve.security.guarded import Guarded, guarded
from tests.waiting import until
from turnout.serve import patience

UNREAD_SECONDS = 0.5
ROWS = 150_000
"""13 MB: more than all buffers between the two take."""


@pytest.fixture
def turnout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    """With room for one, and a table that is too large to be sent to somebody who does not read."""
    monkeypatch.setattr(patience, "UNREAD_SECONDS", UNREAD_SECONDS)
    with guarded(tmp_path, {"limits": {"max_connections": 1}}) as turnout:
        change(turnout.service, [(str(row), row) for row in range(ROWS)])
        yield turnout


@contextmanager
def asked(turnout: Guarded, path: str) -> Iterator[socket.socket]:
    """A connection with next to no room on the client's side, of which nothing has been read."""
    at = urlsplit(turnout.url)
    with socket.socket() as line:
        line.settimeout(10)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((at.hostname, at.port))
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
        until(lambda: status(turnout) == 503, "it has the room for one")
        yield line


def read_on(line: socket.socket) -> int:
    """How many bytes come until the end."""
    read = 0
    with suppress(ConnectionResetError):
        while part := line.recv(1 << 20):
            read += len(part)
    return read


def status(turnout: Guarded) -> int:
    return httpx.get(f"{turnout.url}/api/tables").status_code


@pytest.mark.parametrize("path", ["/api/tables/users_ui/changes", "/api/tables/users_ui"])
def test_a_client_that_stops_reading_makes_room_for_others(turnout: Guarded, path: str) -> None:
    with asked(turnout, path) as line:
        until(lambda: status(turnout) == 200, "its place is free")
        assert read_on(line) < ROWS * 80, "it was cut, not ended"


def test_a_client_that_reads_slowly_is_waited_for(turnout: Guarded) -> None:
    with asked(turnout, "/api/tables/users_ui/changes") as line:
        began, read = time.monotonic(), 0
        while time.monotonic() - began < 4 * UNREAD_SECONDS:
            time.sleep(UNREAD_SECONDS / 20)
            read += len(line.recv(1 << 14))
        assert read < 5_000_000, "there was always more to come"
        while read < 10_000_000:
            read += len(part := line.recv(1 << 20))
            assert part, "it was cut"
        assert status(turnout) == 503, "it is still there"


def test_a_stream_that_was_cut_with_too_much_waiting_has_fallen_behind(turnout: Guarded) -> None:
    def fell_behind() -> bool:
        return 'turnout_viewers_fell_behind_total{protocol="sse"} 1.0' in httpx.get(f"{turnout.url}/metrics").text

    with asked(turnout, "/api/tables/users_ui/changes"):
        for number in range(3):
            change(turnout.service, [(str(row), number) for row in range(40_000)])
        until(lambda: status(turnout) == 200, "its place is free")
        until(fell_behind, "it is counted")
