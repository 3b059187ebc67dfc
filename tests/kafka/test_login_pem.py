"""Private keys in every form that people have reach Java as the same key, in the one form that it reads."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from turnout.errors import ConfigError
from turnout.kafka.security import for_java

PASSWORD = "s3cr3t of the key"
CHAIN = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
PLAIN, ENCRYPTED = NoEncryption(), BestAvailableEncryption(PASSWORD.encode())

Form = tuple[ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, PrivateFormat, KeySerializationEncryption]

FORMS: dict[str, Form] = {
    "BEGIN RSA PRIVATE KEY": (RSA, PrivateFormat.TraditionalOpenSSL, PLAIN),
    "BEGIN EC PRIVATE KEY": (ELLIPTIC, PrivateFormat.TraditionalOpenSSL, PLAIN),
    "Proc-Type: 4,ENCRYPTED": (RSA, PrivateFormat.TraditionalOpenSSL, ENCRYPTED),
    "BEGIN ENCRYPTED PRIVATE KEY": (ELLIPTIC, PrivateFormat.PKCS8, ENCRYPTED),
}


def written(form: str, *, in_one_file: bool, directory: Path) -> dict[str, str]:
    """The properties for a key of this form."""
    key, shape, encryption = FORMS[form]
    text = key.private_bytes(Encoding.PEM, shape, encryption).decode()
    assert form in text
    file, chain = directory / "client.pem", directory / "chain.pem"
    chain.write_text(CHAIN)
    file.write_text(text + CHAIN if in_one_file else text)
    return {
        "security.protocol": "SSL",
        "ssl.key.location": str(file),
        "ssl.certificate.location": str(file if in_one_file else chain),
        **({"ssl.key.password": PASSWORD} if encryption is ENCRYPTED else {}),
    }


@pytest.mark.parametrize("in_one_file", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_of_any_form_reaches_java_as_one_that_it_reads(form: str, in_one_file: bool, tmp_path: Path) -> None:
    java = for_java(written(form, in_one_file=in_one_file, directory=tmp_path))
    assert set(java) == {
        "security.protocol",
        "ssl.keystore.type",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
    }
    assert java["ssl.keystore.certificate.chain"] == CHAIN
    own = FORMS[form][0].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN).decode()
    assert java["ssl.keystore.key"] == own


@pytest.mark.parametrize("form", ["Proc-Type: 4,ENCRYPTED", "BEGIN ENCRYPTED PRIVATE KEY"])
def test_a_wrong_or_missing_password_is_named_and_not_quoted(form: str, tmp_path: Path) -> None:
    right = written(form, in_one_file=False, directory=tmp_path)
    with pytest.raises(ConfigError, match=r"ssl\.key\.location: .*ssl\.key\.password is wrong") as refused:
        for_java({**right, "ssl.key.password": "s3cr3t, not"})
    assert "s3cr3t" not in str(refused.value)
    del right["ssl.key.password"]
    with pytest.raises(ConfigError, match=r"ssl\.key\.password is missing"):
        for_java(right)


def test_a_damaged_key_is_named_and_not_quoted() -> None:
    damaged = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"
    with pytest.raises(ConfigError, match=r"ssl\.key\.pem: .*damaged.*openssl pkey") as refused:
        for_java({"security.protocol": "SSL", "ssl.certificate.pem": CHAIN, "ssl.key.pem": damaged})
    assert "MIIE" not in str(refused.value)
