"""Certificates as a person reads them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509

from turnout.kafka.diagnosis.obstacle import Obstacle

SOON = timedelta(days=30)
"""Time enough to get another certificate."""
COMPARE_CLOCKS = "compare this machine's clock with the right time (`date -u`; NTP keeps it right)"


@dataclass(frozen=True)
class Shown:
    """What a certificate says."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    """The hosts that it is for."""
    starts: datetime
    expires: datetime

    @property
    def lasts(self) -> str:
        left = self.expires - datetime.now(UTC)
        return f"expires {moment(self.expires)} ({_days(left)})"

    @property
    def ends_soon(self) -> bool:
        return self.expires - datetime.now(UTC) < SOON

    @property
    def hosts(self) -> str:
        return ", ".join(self.names) or "no host at all"


def moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _days(left: timedelta) -> str:
    if left < timedelta():
        return f"{-left.days - 1} days ago" if left.days < -1 else "less than a day ago"
    return f"in {left.days} days" if left.days > 1 else "in less than two days"


def read_der(content: bytes | None) -> Shown:
    """What a server shows."""
    try:
        return shown(x509.load_der_x509_certificate(content or b""))
    except ValueError as error:
        raise Obstacle(f"the server's certificate cannot be read ({error})", "have it made anew") from None


def shown(certificate: x509.Certificate) -> Shown:
    return Shown(
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        names=_names(certificate),
        starts=certificate.not_valid_before_utc,
        expires=certificate.not_valid_after_utc,
    )


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:  # then both clients look at the CN
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return tuple(str(name.value) for name in common)
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return (*found.get_values_for_type(x509.DNSName), *addresses)
