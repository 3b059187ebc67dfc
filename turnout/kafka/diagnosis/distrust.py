"""Why the certificate of a server is not taken. librdkafka has one text for all of it."""

import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from turnout.kafka.diagnosis.certificates import COMPARE_CLOCKS, Shown, moment, read_der
from turnout.kafka.diagnosis.listener import unverified
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.reach import Server
from turnout.kafka.login.parse_oauth import ENDPOINT
from turnout.kafka.login.parse_tls import HOST_CHECK

# OpenSSL's numbers for what is wrong with a certificate (X509_V_ERR_…).
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_HOST = (62, 64)
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)


@dataclass(frozen=True)
class Written:
    """Where the configuration says which server it is, and by what it is trusted."""

    host: str
    authority_file: str
    authority_store: str
    without_check: str = ""

    @property
    def authority(self) -> str:
        return f"{self.authority_file} (PEM) or {self.authority_store} (JKS, PKCS12)"


BROKER = Written(
    "bootstrap.servers and in the broker's advertised.listeners",
    "ssl.ca.location",
    "ssl.truststore.location",
    f'. For tests alone: {HOST_CHECK}: ""',
)
TOKEN_ENDPOINT = Written(ENDPOINT, "https.ca.location", "ssl.truststore.location in sasl.jaas.config")


def why_untrusted(error: ssl.SSLCertVerificationError, server: Server, address: str, written: Written) -> Obstacle:
    shown = _look(server, address)
    if shown is None:  # it shows it to nobody but its clients
        return Obstacle(
            f"the server's certificate is not trusted ({error.verify_message})",
            f"the authority that signed it belongs into {written.authority}",
        )
    if error.verify_code in _OTHER_HOST:
        return _other_host(shown, server, written)
    if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
        return _not_valid_now(error.verify_code == _EXPIRED, shown, written)
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return Obstacle(
            f"the certificate is signed by {shown.issuer}, which is not trusted here",
            "get the certificate of that authority from whoever runs the server, and name its file in "
            f"{written.authority}",
        )
    return Obstacle(
        f"the certificate ({shown.subject}, signed by {shown.issuer}) is refused: {error.verify_message}",
        f"have whoever runs the server make it anew; look at it with `openssl s_client -connect {server}`",
    )


def _look(server: Server, address: str) -> Shown | None:
    with suppress(OSError), unverified(address, server.port, server.host) as secured:
        return read_der(secured.getpeercert(binary_form=True))
    return None


def _other_host(shown: Shown, server: Server, written: Written) -> Obstacle:
    instead = shown.names[0] if shown.names else "it has none"
    return Obstacle(
        f"the certificate is for {shown.hosts}, not for {server.host}",
        f"use a name that it has ({instead}), in {written.host}; or have a certificate made with the name "
        f"{server.host} (subjectAltName){written.without_check}",
    )


def _not_valid_now(expired: bool, shown: Shown, written: Written) -> Obstacle:
    now = datetime.now(UTC)
    if shown.expires < now:
        return Obstacle(
            f"the certificate has expired: it was valid until {moment(shown.expires)}, here it is {moment(now)}",
            f"have whoever runs the server renew it; if it should be valid still, {COMPARE_CLOCKS}",
        )
    if shown.starts > now:
        return Obstacle(
            f"the certificate is not valid yet: it is from {moment(shown.starts)} on, here it is {moment(now)}",
            f"{COMPARE_CLOCKS}; if it is right, the certificate was made with a wrong one: have it made anew",
        )
    return Obstacle(
        f"the certificate of the authority {shown.issuer} {'has expired' if expired else 'is not valid yet'}",
        f"get its present one, for {written.authority}; and {COMPARE_CLOCKS}",
    )
