"""PEM texts: the certificates in them, and private keys as Kafka's Java client reads them.

That is PKCS#8 without a password. It knows no other form (`BEGIN RSA PRIVATE KEY`), and on Java 17 not the way in which
OpenSSL encrypts keys by itself (PBES2). librdkafka reads them all, and people have them all.
"""

import re

from pydantic import SecretStr

from turnout.errors import ConfigError

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN (?P<kind>[A-Z ]*)PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL)


def certificates_in(text: str) -> str:
    """And nothing else that the text may hold."""
    return "".join(f"{found}\n" for found in _CERTIFICATE.findall(text))


def is_read_by_java(text: str) -> bool:
    """Whether it can stay as it is; so does what holds no key, about which Java has its own words."""
    key = _KEY.search(text)
    return key is None or key["kind"] == ""


def without_password(where: str, text: str, password: SecretStr | None) -> str:
    """The first key in a PEM text, in the form that Java reads. It stays in memory, beside its password's place."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    found = _KEY.search(text)
    assert found is not None, "is_read_by_java() comes first"
    is_encrypted = "ENCRYPTED" in found[0]
    if is_encrypted and not (password and password.get_secret_value()):
        raise ConfigError(f"{where}: the key has a password, and ssl.key.password is missing")
    secret = password.get_secret_value().encode() if password and is_encrypted else None
    try:
        key = load_pem_private_key(found[0].encode(), secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        wrong = "ssl.key.password is wrong, or " if is_encrypted else ""
        raise ConfigError(
            f"{where}: the private key cannot be read: {wrong}it is damaged; "
            "see what `openssl pkey -noout -in <file>` says"
        ) from None
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
