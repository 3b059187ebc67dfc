"""The way to one Kafka, step by step: properties; name, connection and TLS of each server; token, login, brokers."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from urllib.parse import urlsplit

from turnout.check.finding import Finding, Steps, Warned
from turnout.check.settings import Settings
from turnout.check.visit import Visit
from turnout.kafka.client import Cluster
from turnout.kafka.diagnosis.logins import principal_of
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.reach import Server, connect, resolve
from turnout.kafka.diagnosis.rights import Rights
from turnout.kafka.diagnosis.session import Session
from turnout.kafka.diagnosis.tls import Meeting
from turnout.kafka.diagnosis.token import Token, fetch_token
from turnout.kafka.login.model import OAuthLogin
from turnout.kafka.login.parse_oauth import HANDLER

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SEVERAL = 3
"""As many brokers that cannot be reached are named; the rest are counted."""


class Approach:
    """To the Kafka of one section of the configuration. `rights` are there once its findings have been made."""

    def __init__(self, section: str, properties: Mapping[str, str]) -> None:
        self.section = section
        self.steps = Steps()
        self._properties = properties
        self._settings: Settings | None = None
        self._token: Token | None = None
        self._visits: list[Visit] = []

    def findings(self) -> Iterator[Finding]:
        yield self.steps.take(f"{self.section}, properties", self._read)
        if (settings := self._settings) is None:
            yield self.steps.not_checked(f"{self.section}, connection and login")
            return
        self._visits = [Visit(self.section, server, settings) for server in settings.servers]
        for visit in self._visits:
            yield from visit.come()
        self._need_one()
        sasl = settings.login.sasl
        if isinstance(sasl, OAuthLogin):
            yield self.steps.take(f"{self.section}, token", lambda: self._fetch_token(sasl, settings.client))
        for visit in self._visits:
            yield visit.log_in(self.steps.failed, self._token)
        self._need_one()
        yield self.steps.take(f"{self.section}, brokers", self._meet_brokers)

    @cached_property
    def rights(self) -> Rights:
        assert self._settings is not None, "it got in"
        principal = principal_of(self._settings.login, self._settings.certificate, self._token)
        return Rights(Cluster(self._properties), self._session, principal)

    @property
    def _session(self) -> Session:
        return next(visit.session for visit in self._visits if visit.session is not None)

    def _need_one(self) -> None:
        """One server that lets Turnout in will do: the clients learn of the others from it."""
        failed = [visit.steps.failed for visit in self._visits]
        if self.steps.failed is None and all(failed):
            self.steps.failed = failed[0]

    def _read(self) -> str | Warned:
        self._settings = settings = Settings.read(self._properties)
        said = f"{settings.login.protocol}, understood for both clients"
        if ".secured." in self._properties.get(HANDLER, ""):
            said += (
                f" ({HANDLER}: …oauthbearer.secured… is for clients before Kafka 4; Spark is given the one that fits)"
            )
        if settings.certificate is None:
            return said
        own = settings.certificate.shown
        said += f"; the client's certificate: {own.subject}, signed by {own.issuer}, {own.lasts}"
        return Warned(said, "have it renewed in time") if own.ends_soon else said

    def _fetch_token(self, login: OAuthLogin, client: Mapping[str, str]) -> str | Warned:
        self._token = token = fetch_token(login, client)
        said = (
            f"{login.endpoint} gave one for {token.subject}, good for {_rounded(token.lifetime)} "
            f"(issuer {token.issuer or 'none'}, audience {token.audience or 'none'})"
        )
        url = urlsplit(login.endpoint)
        if token.skew is not None:
            ahead = "ahead of" if token.skew > timedelta() else "behind"
            return Warned(
                f"{said}; this machine's clock is {_rounded(abs(token.skew))} {ahead} the provider's",
                "set the clocks right (NTP): brokers refuse tokens that are not valid yet, or not any more",
            )
        if url.scheme == "http" and url.hostname not in _LOOPBACK:
            return Warned(f"{said}; the secret travels unencrypted", "use the endpoint's https address")
        return said

    def _meet_brokers(self) -> str:
        """Those that the cluster advertises: the clients go to them, whatever the configuration names."""
        assert self._settings is not None, "it got in"
        brokers = self._session.brokers
        met = {visit.server for visit in self._visits if visit.session is not None}
        obstacles = [
            obstacle
            for broker in brokers
            if broker not in met and (obstacle := _obstacle_to(broker, self._settings.meeting)) is not None
        ]
        if not obstacles:
            return f"{_listed([str(broker) for broker in brokers])} can be reached"
        raise Obstacle(
            f"of {len(brokers)} brokers that the cluster advertises, {len(obstacles)} cannot be used: "
            + _listed([obstacle.reason for obstacle in obstacles]),
            f"{obstacles[0].remedy}. What is advertised (the brokers' advertised.listeners) must lead there from this "
            "machine too",
        )


def _obstacle_to(broker: Server, meeting: Meeting) -> Obstacle | None:
    try:
        meeting.meet(broker, connect(broker, resolve(broker)).address)
    except Obstacle as obstacle:
        return Obstacle(f"{broker} ({obstacle.reason})", obstacle.remedy)
    return None


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SEVERAL} more" if len(items) > _SEVERAL else ""
    return ", ".join(items[:_SEVERAL]) + more


def _rounded(time: timedelta) -> str:
    seconds = round(time.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"
