import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection as Connection
from websockets.sync.client import connect

from tests.serve.security.guarded import guarded
from tests.waiting import until
from turnout.serve.security.limits import KNOWN_ADDRESSES, OpenConnections, Rates

AFAR = {"X-Forwarded-For": "203.0.113.9"}


def test_a_bucket_empties_and_fills_again() -> None:
    now = [100.0]
    rates = Rates(per_second=2, burst=3, clock=lambda: now[0])
    assert [rates.wait("203.0.113.9") for _ in range(4)] == [0, 0, 0, 0.5]
    assert rates.wait("203.0.113.10") == 0, "each address has its own"
    now[0] += 0.5
    assert rates.wait("203.0.113.9") == 0
    assert rates.wait("203.0.113.9") == 0.5
    now[0] += 1000
    assert [rates.wait("203.0.113.9") for _ in range(4)] == [0, 0, 0, 0.5], "no more than a burst is saved up"


def test_a_network_of_ipv6_is_one_client_and_loopback_none() -> None:
    rates = Rates(per_second=1, burst=1, clock=lambda: 0)
    assert rates.wait("2001:db8::1") == 0
    assert rates.wait("2001:db8::2") == 1
    assert rates.wait("2001:db8:0:1::2") == 0
    assert {rates.wait(address) for address in ("127.0.0.1", "::1") * 5} == {0}


def test_addresses_are_not_remembered_without_end() -> None:
    rates = Rates(per_second=1, burst=1, clock=lambda: 0)
    for number in range(KNOWN_ADDRESSES + 10):
        rates.wait(str(number))
    assert len(rates._buckets) == KNOWN_ADDRESSES


def test_too_many_requests_are_a_429_that_says_when_to_come_back(tmp_path: Path) -> None:
    limits = {"requests_per_second": 0.01, "burst_requests": 2}
    with guarded(tmp_path, {"limits": limits}) as turnout, turnout.client(headers=AFAR) as http:
        assert [http.get("/api/tables").status_code for _ in range(3)] == [200, 200, 429]
        answer = http.get("/api/tables")
        assert 1 <= int(answer.headers["retry-after"]) <= 100
        assert answer.json() == {"error": "too many requests from this address: 0.01 a second"}
        with pytest.raises(InvalidStatus) as refused:
            connect(f"{turnout.socket_url}/api/pulse", additional_headers=AFAR)
        assert refused.value.response.status_code == 429
        assert httpx.get(f"{turnout.url}/api/tables").status_code == 200, "this machine's own are not counted"


def test_too_many_connections_are_a_503_but_probes_are_answered(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, {"limits": {"max_connections": 2}}) as turnout,
        ExitStack() as open_ones,
        turnout.client() as http,
    ):
        first = open_ones.enter_context(connect(f"{turnout.socket_url}/api/pulse"))
        open_ones.enter_context(http.stream("GET", "/api/tables/users_ui/changes"))
        answer = httpx.get(f"{turnout.url}/api/tables")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert httpx.get(f"{turnout.url}/healthz").status_code == 200
        first.close()
        until(lambda: httpx.get(f"{turnout.url}/api/tables").status_code == 200, "one may come in again")


def test_one_address_does_not_take_all_connections(tmp_path: Path) -> None:
    with guarded(tmp_path, {"limits": {"max_connections_per_address": 2}}) as turnout, ExitStack() as open_ones:

        def status(address: str, path: str = "/api/tables") -> int:
            return httpx.get(f"{turnout.url}{path}", headers={"X-Forwarded-For": address}).status_code

        def come(address: str) -> Connection:
            headers = {"X-Forwarded-For": address}
            return open_ones.enter_context(connect(f"{turnout.socket_url}/api/pulse", additional_headers=headers))

        def comes(address: str) -> bool:
            try:
                come(address)
            except InvalidStatus:
                return False
            return True

        first = come("203.0.113.9")
        with (
            turnout.client(headers=AFAR) as http,
            http.stream("GET", "/api/tables/users_ui/changes"),
            pytest.raises(InvalidStatus) as refused,
        ):
            come("203.0.113.9")
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["retry-after"] == "1"
        assert b"too many connections from this address: 2 at once" in (refused.value.response.body or b"")
        until(lambda: comes("203.0.113.9"), "there is room for the stream's place")
        assert status("203.0.113.9") == 429
        assert status("203.0.113.9", "/healthz") == 200, "probes are answered"
        assert status("203.0.113.10") == 200, "others are"
        first.close()
        until(lambda: status("203.0.113.9") == 200, "one may come in again")
        come("2001:db8::1")
        come("2001:db8::2")
        assert status("2001:db8::3") == 429, "a network of IPv6 is one client"
        for _ in range(3):
            come("127.0.0.1")
        assert status("127.0.0.1") == 200, "this machine's own are not counted"


def test_of_an_address_that_is_gone_nothing_is_kept() -> None:
    open_ones = OpenConnections(most=1)
    for number in range(3):
        with open_ones.one_of(f"203.0.113.{number}"):
            assert open_ones.are_full(f"203.0.113.{number}")
    assert not open_ones.addresses


def test_a_body_that_is_too_large_is_a_413_whether_it_says_so_or_not(tmp_path: Path) -> None:
    with guarded(tmp_path, {"limits": {"max_request_bytes": 65536}}) as turnout, turnout.client() as http:
        for body in (b"x" * 65537, (b"x" * 1024 for _ in range(65))):
            assert http.post("/api/preview", content=body).status_code == 413


def test_a_request_that_does_not_come_in_is_given_up(tmp_path: Path) -> None:
    with guarded(tmp_path, {"limits": {"request_seconds": 0.2}}) as turnout:
        slow_body = b"POST /api/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        assert b" 408 " in _answer(turnout.url, slow_body)
        assert _answer(turnout.url, b"") == b"", "a connection that says nothing"
        assert _answer(turnout.url, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") == b"", "half a header"


def _answer(url: str, sent: bytes) -> bytes:
    """All that comes until the server hangs up."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as line:
        line.sendall(sent)
        received = b""
        while part := line.recv(65536):
            received += part
        return received
