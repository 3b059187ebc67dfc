"""Java's stores of certificates and keys, read for librdkafka as PEM text: PKCS12 by `cryptography`, JKS by keytool."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from turnout.errors import ConfigError
from turnout.kafka.login.keytool import key_as_pkcs12, listed_certificates
from turnout.kafka.login.model import KeyStore, PemIdentity, PemKey, PemText, TrustStore

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_JAVA_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""How JKS and JCEKS files begin."""
_REMEMBERED = 8
"""Stores of each kind: a configuration has three Kafkas at most."""


def may_be_pkcs12(store: KeyStore) -> bool:
    """Of one that cannot be read now, by what it is called."""
    is_there = Path(store.location).is_file()
    return not is_there and (store.type or ("JKS" if store.location.endswith(".jks") else "PKCS12")) == "PKCS12"


def trusted_as_pem(store: TrustStore) -> str:
    """The certificates of a truststore."""
    content = _content("ssl.truststore", store)
    if content.startswith(_JAVA_MAGIC):
        certificates = _jks_certificates(store, content)
    else:
        certificates = _certificates(_pkcs12("ssl.truststore", store.location, content, store.password))
    if not certificates:
        raise ConfigError(f"ssl.truststore.location: {store.location} holds no certificates: import the authority's")
    return certificates


def key_as_pem(store: KeyStore) -> PemIdentity:
    """The client's certificate and key of a keystore. The key is not encrypted: it stays in memory.

    PKCS12 too, which librdkafka reads: but not as Java encrypted it for twenty years (RC2)."""
    content = _content("ssl.keystore", store)
    if content.startswith(_JAVA_MAGIC):
        return _jks_key(store, content)
    return _identity(store, _pkcs12("ssl.keystore", store.location, content, store.password))


# Remembered by what the file holds: keytool takes seconds, and a login is written for its clients again and again.


@lru_cache(maxsize=_REMEMBERED)
def _jks_certificates(store: TrustStore, content: bytes) -> str:  # noqa: ARG001
    return listed_certificates(store)


@lru_cache(maxsize=_REMEMBERED)
def _jks_key(store: KeyStore, content: bytes) -> PemIdentity:  # noqa: ARG001
    copy = key_as_pkcs12(store)
    return _identity(store, _pkcs12("ssl.keystore", store.location, copy.content, copy.password))


def _identity(store: KeyStore, found: "PKCS12KeyAndCertificates") -> PemIdentity:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if found.key is None or found.cert is None:
        raise ConfigError(f"ssl.keystore.location: {store.location} holds no private key: import the client's")
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return PemIdentity(chain=PemText(text=_certificates(found)), key=PemKey(text=SecretStr(key.decode())))


def _content(name: str, store: TrustStore | KeyStore) -> bytes:
    try:
        content = Path(store.location).read_bytes()
    except OSError as error:
        raise ConfigError(f"{name}.location: {store.location} cannot be read: {error.strerror}") from None
    if content.lstrip().startswith(b"-----BEGIN"):
        raise ConfigError(f"{name}.location: {store.location} is a PEM file: set {name}.type to PEM")
    return content


def _pkcs12(name: str, location: str, content: bytes, password: SecretStr | None) -> "PKCS12KeyAndCertificates":
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(content, None if password is None else password.get_secret_value().encode())
    except ValueError:
        raise ConfigError(
            f"{name}.location: {location} cannot be read: "
            f"{name}.password is wrong or missing, or it is no PKCS12 or JKS store"
        ) from None


def _certificates(found: "PKCS12KeyAndCertificates") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    certificates = [found.cert] if found.cert else []
    certificates += found.additional_certs
    return "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in certificates)
