"""How much one client may ask for, and all of them together."""

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnout.config_access import LimitsConfig, is_loopback
from turnout.serve.security.refusal import Refusal
from turnout.serve.security.scope import client_of, header

PROBES = ("/healthz", "/readyz")
KNOWN_ADDRESSES = 10_000
"""Whose rates are remembered; beyond that the one that has been quiet longest is forgotten."""
_IPV6_HOME = 64  # bits: whoever has one address of such a network has all of them


class Limits:
    def __init__(self, app: ASGIApp, limits: LimitsConfig) -> None:
        self._app, self._limits = app, limits
        self._rates = Rates(limits.requests_per_second, limits.burst_requests)
        self._open = OpenConnections(limits.max_connections_per_address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._admit(scope)
        except Refusal as refusal:
            await refusal.answer(scope, receive, send)
            return
        with self._open.one_of(client_of(scope)):
            body = Body(receive, self._limits) if scope["type"] == "http" else None
            await self._app(scope, body.receive if body else receive, send)

    def _admit(self, scope: Scope) -> None:
        if wait := self._rates.wait(client_of(scope)):
            rate = f"{self._limits.requests_per_second:g} a second"
            raise Refusal(429, f"too many requests from this address: {rate}", {"Retry-After": str(math.ceil(wait))})
        if scope["path"] not in PROBES:  # who looks after a server that is full must not take it for dead
            self._find_room(scope)
        if (length := header(scope, "content-length")).isdecimal() and int(length) > self._limits.max_request_bytes:
            raise _too_large(self._limits)

    def _find_room(self, scope: Scope) -> None:
        if self._open.all >= self._limits.max_connections:
            raise Refusal(503, "too many connections: try again in a moment", {"Retry-After": "1"})
        if self._open.are_full(client_of(scope)):
            most = f"{self._limits.max_connections_per_address} at once"
            raise Refusal(429, f"too many connections from this address: {most}", {"Retry-After": "1"})


class OpenConnections:
    """Requests, streams and sockets that are under way: all of them, and those of each address."""

    def __init__(self, most: int) -> None:
        """`most` of one address; this machine's own programs may have as many as they like."""
        self._most = most
        self.all = 0
        self.addresses: Counter[str] = Counter()

    def are_full(self, address: str) -> bool:
        return self.addresses[_home(address)] >= self._most and not is_loopback(address)

    @contextmanager
    def one_of(self, address: str) -> Iterator[None]:
        home = _home(address)
        self.all += 1
        self.addresses[home] += 1
        try:
            yield
        finally:
            self.all -= 1
            self.addresses[home] -= 1
            if not self.addresses[home]:
                del self.addresses[home]


class Rates:
    """A bucket for each address: it holds a burst, and fills by so many a second."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def wait(self, address: str) -> float:
        """Take one; or how many seconds it takes until there is one. This machine's own programs are not counted."""
        if is_loopback(address):
            return 0
        home, now = _home(address), self._clock()
        left, then = self._buckets.pop(home, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_second)
        allowed = left >= 1
        self._buckets[home] = (left - allowed, now)
        if len(self._buckets) > KNOWN_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0 if allowed else (1 - left) / self._per_second


def _home(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, _IPV6_HOME), strict=False)) if isinstance(parsed, IPv6Address) else address


class Body:
    """A request's body, which has to come in time and may not be too large. Whoever reads it gets the Refusal."""

    def __init__(self, receive: Receive, limits: LimitsConfig) -> None:
        self._receive, self._limits = receive, limits
        self._deadline = asyncio.get_running_loop().time() + limits.request_seconds
        self._bytes = 0
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:  # from here on it is only heard whether the client is gone
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self._complete = True
            text = f"the request did not come in within {self._limits.request_seconds:g} s"
            raise Refusal(408, text, {"Connection": "close"}) from None
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._bytes > self._limits.max_request_bytes:
            raise _too_large(self._limits)
        return message


def _too_large(limits: LimitsConfig) -> Refusal:
    return Refusal(413, f"a request has at most {limits.max_request_bytes} bytes", {"Connection": "close"})
