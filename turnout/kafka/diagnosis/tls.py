"""TLS as both clients do it, with a reason for each way in which it fails."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from turnout.errors import ConfigError
from turnout.kafka.diagnosis.certificates import Shown, read_der
from turnout.kafka.diagnosis.client_certificate import ClientCertificate
from turnout.kafka.diagnosis.distrust import BROKER, why_untrusted
from turnout.kafka.diagnosis.listener import recognize
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.reach import Server, open_connection
from turnout.kafka.diagnosis.wire import ANSWER_SECONDS, NotKafka, greet
from turnout.kafka.login.model import Protocol

_GIVE_CERTIFICATE = (
    "give it in ssl.certificate.location and ssl.key.location (PEM), or in ssl.keystore.location and "
    "ssl.keystore.password (JKS, PKCS12)"
)


@dataclass(frozen=True)
class Met:
    """A server that was greeted."""

    mechanisms: tuple[str, ...] | None
    """None: it has no login."""
    version: str | None = None
    """Of TLS; None without."""
    certificate: Shown | None = None


def context_of(client: Mapping[str, str], authorities: str) -> ssl.SSLContext:
    """What properties as librdkafka takes them trust; `authorities` is how their names begin, as in ssl.ca."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    location, text = client.get(f"{authorities}.location"), client.get(f"{authorities}.pem")
    where = f"{authorities}.pem" if location is None else f"{authorities}.location: {location}"
    try:
        if location is not None:
            is_directory = Path(location).is_dir()
            context.load_verify_locations(
                cafile=None if is_directory else location, capath=location if is_directory else None
            )
        elif text is not None:
            context.load_verify_locations(cadata=text)
        else:
            context.load_default_certs()
    except ssl.SSLError:
        raise ConfigError(f"{where} holds no certificate that can be read (PEM: BEGIN CERTIFICATE)") from None
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}") from None
    return context


@dataclass(frozen=True)
class Meeting:
    """What it takes to meet a server as the configuration says."""

    protocol: Protocol
    mechanism: str
    context: ssl.SSLContext | None
    client_certificate: ClientCertificate | None

    def meet(self, server: Server, address: str) -> Met:
        """Over TLS where that is due. The login does not begin."""
        try:
            with open_connection(address, server.port) as connection:
                if self.context is None:
                    return Met(greet(connection, self.mechanism).mechanisms)
                connection.settimeout(ANSWER_SECONDS)
                with self.context.wrap_socket(connection, server_hostname=server.host) as secured:
                    certificate = read_der(secured.getpeercert(binary_form=True))
                    # In TLS 1.3 a server refuses the client's certificate only after the handshake.
                    return Met(greet(secured, self.mechanism).mechanisms, secured.version(), certificate)
        except ssl.SSLCertVerificationError as error:
            raise why_untrusted(error, server, address, BROKER) from None
        except (OSError, NotKafka) as error:
            raise self._unmet(server, address, error) from None

    def _unmet(self, server: Server, address: str, error: OSError | NotKafka) -> Obstacle:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return self._refused(error.reason)
        spoken = recognize(address, server.port, server.host)
        if spoken is None:
            return _strange(error)
        if spoken.protocol.has_tls and not self.protocol.has_tls:
            return Obstacle(
                f"the server wants TLS, but security.protocol is {self.protocol}",
                f"{spoken.advice}; and name the authority that signed its certificate in ssl.ca.location, unless the "
                "system trusts it",
            )
        if self.protocol.has_tls and not spoken.protocol.has_tls:
            return Obstacle(
                f"the server speaks no TLS, but security.protocol is {self.protocol}",
                f"name the port of the broker's TLS listener in bootstrap.servers; or, on a network of your own, "
                f"{spoken.advice}: that is what this port speaks",
            )
        return _strange(error)

    def _refused(self, alert: str) -> Obstacle:
        """The server has ended the handshake, and says no more than one word of TLS."""
        word = alert.partition("ALERT_")[2].lower().replace("_", " ")
        if "certificate" not in word and word not in ("unknown ca", "access denied"):
            return Obstacle(
                f"the server ends the handshake ({word})",
                "let the broker's ssl.enabled.protocols have TLSv1.2 or TLSv1.3, and look at its ssl.cipher.suites; if "
                f"it wants a certificate of the client: {_GIVE_CERTIFICATE}",
            )
        if self.client_certificate is None:
            return Obstacle(
                f"the server wants a certificate of the client ({word}), and the configuration has none",
                f"{_GIVE_CERTIFICATE}; whoever runs the Kafka signs one for you",
            )
        own = self.client_certificate.shown
        return Obstacle(
            f"the server refuses the client's certificate ({word}): {own.subject}, signed by {own.issuer}, {own.lasts}",
            "use one that was signed by an authority in the broker's ssl.truststore.location, or have this authority "
            "put there; it must allow client authentication (extendedKeyUsage clientAuth)",
        )


def _strange(error: OSError | NotKafka) -> Obstacle:
    remedy = "see that host and port are those of a Kafka listener, and what the broker's log says at this moment"
    match error:
        case TimeoutError():
            return Obstacle(f"the server took the connection, but says nothing in {ANSWER_SECONDS:g} s", remedy)
        case ssl.SSLEOFError() | ConnectionError():
            return Obstacle("the server closes the connection when it is spoken to", remedy)
        case _:
            return Obstacle("the server answers, but not as a Kafka", remedy)
