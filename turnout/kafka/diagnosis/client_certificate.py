"""The client's own certificate and its key, wherever the configuration has them, and what may be wrong with them."""

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    pkcs12,
)

from turnout.errors import ConfigError
from turnout.kafka.diagnosis.certificates import COMPARE_CLOCKS, Shown, moment, shown
from turnout.kafka.diagnosis.obstacle import Obstacle


@dataclass(frozen=True)
class ClientCertificate:
    shown: Shown
    chain: bytes
    key: PrivateKeyTypes = field(repr=False)

    def load_into(self, context: ssl.SSLContext) -> None:
        """OpenSSL wants files: these are for this user alone, encrypted, and gone at once."""
        password = secrets.token_bytes(32).hex()
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
        with tempfile.NamedTemporaryFile(prefix="turnout-") as file:
            file.write(self.chain + key)
            file.flush()
            try:
                context.load_cert_chain(file.name, password=password)
            except ssl.SSLError as error:
                raise ConfigError(f"OpenSSL refuses the client's certificate or key: {error.reason}") from None


def read_client_certificate(client: Mapping[str, str]) -> ClientCertificate | None:
    """The one in properties as librdkafka takes them, if they have one. Says what is wrong with it."""
    if "ssl.keystore.location" in client:
        certificates, key = _from_store(client)
    elif "ssl.certificate.location" in client or "ssl.certificate.pem" in client:
        certificates, key = _from_pem(client)
    else:
        return None
    own = certificates[0]
    if _public(own.public_key()) != _public(key.public_key()):
        raise Obstacle(
            f"the private key does not belong to the client's certificate ({own.subject.rfc4514_string()})",
            "name the key and the certificate that were made together (ssl.key.location, ssl.certificate.location); in "
            "a file with several certificates the client's own comes first",
        )
    _must_be_valid(found := shown(own))
    return ClientCertificate(found, b"".join(one.public_bytes(Encoding.PEM) for one in certificates), key)


def _public(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _must_be_valid(own: Shown) -> None:
    now = datetime.now(UTC)
    if own.expires < now:
        raise Obstacle(
            f"the client's certificate ({own.subject}) has expired: it was valid until {moment(own.expires)}",
            f"get a new one from {own.issuer}, who signed it; if it should be valid, {COMPARE_CLOCKS}",
        )
    if own.starts > now:
        raise Obstacle(
            f"the client's certificate ({own.subject}) is not valid yet: it is from {moment(own.starts)} on",
            f"here it is {moment(now)}: {COMPARE_CLOCKS}",
        )


def _from_store(client: Mapping[str, str]) -> tuple[list[x509.Certificate], PrivateKeyTypes]:
    """A PKCS12 one: librdkafka takes no other, and those are read before."""
    location = client["ssl.keystore.location"]
    content, password = _content("ssl.keystore.location", location), client.get("ssl.keystore.password")
    try:
        found = pkcs12.load_pkcs12(content, password.encode() if password else None)
    except ValueError:
        raise ConfigError(
            f"ssl.keystore.location: {location} cannot be read: ssl.keystore.password is wrong or missing, "
            "or it is no PKCS12 or JKS store"
        ) from None
    if found.key is None or found.cert is None:
        raise ConfigError(
            f"ssl.keystore.location: {location} holds no private key with its certificate: import the client's"
        )
    return [found.cert.certificate, *(other.certificate for other in found.additional_certs)], found.key


def _from_pem(client: Mapping[str, str]) -> tuple[list[x509.Certificate], PrivateKeyTypes]:
    where, content = _pem(client, "ssl.certificate")
    try:
        certificates = x509.load_pem_x509_certificates(content)
    except ValueError:
        raise ConfigError(f"{where} holds no certificate that can be read (BEGIN CERTIFICATE)") from None
    where, content = _pem(client, "ssl.key")
    password = client.get("ssl.key.password")
    encrypted = b"ENCRYPTED" in content
    try:
        key = load_pem_private_key(content, password.encode() if password and encrypted else None)
    except TypeError:
        raise ConfigError(f"{where} is encrypted: give its password in ssl.key.password") from None
    except ValueError:
        reason = "ssl.key.password is wrong" if encrypted else "it is no private key in PEM (BEGIN PRIVATE KEY)"
        raise ConfigError(f"{where} cannot be read: {reason}") from None
    return certificates, key


def _pem(client: Mapping[str, str], name: str) -> tuple[str, bytes]:
    if f"{name}.pem" in client:
        return f"{name}.pem", client[f"{name}.pem"].encode()
    location = client[f"{name}.location"]
    return f"{name}.location: {location}", _content(f"{name}.location", location)


def _content(name: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise ConfigError(f"{name}: {location} cannot be read: {error.strerror}") from None
