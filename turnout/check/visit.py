"""One server of a Kafka, visited: its name, a connection, TLS, the login."""

from collections.abc import Iterator

from turnout.check.finding import Finding, Steps, Warned
from turnout.check.settings import Settings
from turnout.kafka.diagnosis.logins import as_whom, must_fit, refused
from turnout.kafka.diagnosis.reach import Server, connect, resolve
from turnout.kafka.diagnosis.session import Refused, Session
from turnout.kafka.diagnosis.tls import Met
from turnout.kafka.diagnosis.token import Token


class Visit:
    """To one server."""

    def __init__(self, section: str, server: Server, settings: Settings) -> None:
        self.server = server
        self.session: Session | None = None
        self.steps = Steps()
        self._name, self._settings = f"{section} {server}", settings
        self._addresses: list[str] = []
        self._address = ""
        self._met = Met(None)

    def come(self) -> Iterator[Finding]:
        yield self.steps.take(f"{self._name}, resolve", self._resolve)
        yield self.steps.take(f"{self._name}, connect", self._connect)
        yield self.steps.take(f"{self._name}, TLS", self._meet)

    def log_in(self, failed: str | None, token: Token | None) -> Finding:
        """`failed`: what went wrong meanwhile."""
        self.steps.failed = self.steps.failed or failed
        return self.steps.take(f"{self._name}, login", lambda: self._log_in(token))

    def _resolve(self) -> str:
        self._addresses = resolve(self.server)
        return ", ".join(self._addresses)

    def _connect(self) -> str:
        self._address, seconds = connect(self.server, self._addresses)
        return f"to {self._address} in {seconds * 1000:.0f} ms"

    def _meet(self) -> str | Warned:
        self._met = met = self._settings.meeting.meet(self.server, self._address)
        if met.certificate is None:
            return f"none, as security.protocol is {self._settings.login.protocol}"
        certificate = met.certificate
        said = f"{met.version}, for {certificate.hosts}, signed by {certificate.issuer}, {certificate.lasts}"
        tls = self._settings.login.tls
        if tls is not None and not tls.checks_host:
            return Warned(f"{said}; the host's name is not checked", "check it outside of tests")
        return Warned(said, "have it renewed in time by whoever runs the Kafka") if certificate.ends_soon else said

    def _log_in(self, token: Token | None) -> str:
        login = self._settings.login
        must_fit(login, self._met)
        try:
            self.session = Session(self._settings.client, self.server)
        except Refused as refusal:
            raise refused(login, token, str(refusal)) from None
        return as_whom(login, self._settings.certificate)
