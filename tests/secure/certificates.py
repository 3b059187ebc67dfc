"""Certificates as an enterprise has them, good and bad, in every form that Kafka's brokers and clients read.

Two authorities that know nothing of each other; servers' certificates that are good, expired, for another host and not
valid yet; clients' certificates of either authority. Elliptic keys, which take no time to make. What another program
has to make (JKS stores, encrypted keys) is made when it is first asked for.
"""

import ipaddress
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from turnout.java import find_java

STORE_PASSWORD = "sleepers-and-ballast"
"""Of every store and every encrypted key."""

LOOPBACK = ("localhost", "127.0.0.1")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Span:
    """When a certificate is valid."""

    start: datetime
    end: datetime

    @classmethod
    def around_now(cls, before: timedelta = DAY, after: timedelta = 30 * DAY) -> "Span":
        """With a negative `after` it has expired, with a negative `before` it is not valid yet."""
        now = datetime.now(UTC)
        return cls(now - before, now + after)


class Identity:
    """A certificate and its key. Paths to the forms they come in."""

    def __init__(self, directory: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey):
        self._directory, self._name = directory, name
        self._x509, self._private = certificate, key
        self.expires = certificate.not_valid_after_utc

    @cached_property
    def certificate(self) -> Path:
        return self._write("certificate.pem", self._x509.public_bytes(Encoding.PEM))

    @cached_property
    def key(self) -> Path:
        """PKCS#8, without a password."""
        text = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return self._write("key.pem", text)

    @cached_property
    def encrypted_key(self) -> Path:
        """PKCS#8 with a password, encrypted as Java 17 reads it from a PEM file: it does not read PBES2 there."""
        target = self._path("encrypted-key.pem")
        how = ["-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{STORE_PASSWORD}"]
        _run("openssl", "pkcs8", *how, "-in", self.key, "-out", target)
        return target

    @cached_property
    def usual_encrypted_key(self) -> Path:
        """PKCS#8 with a password, as OpenSSL encrypts it by itself (PBES2)."""
        password = BestAvailableEncryption(STORE_PASSWORD.encode())
        text = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, password)
        return self._write("usual-encrypted-key.pem", text)

    @cached_property
    def traditional_key(self) -> Path:
        """Of the kind that OpenSSL made before PKCS#8: BEGIN EC PRIVATE KEY."""
        text = self._private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        return self._write("traditional-key.pem", text)

    @cached_property
    def pem(self) -> Path:
        """Key and certificate in one file: Java's keystore of the type PEM."""
        return self._write("pair.pem", self.key.read_bytes() + self.certificate.read_bytes())

    @cached_property
    def encrypted_pem(self) -> Path:
        return self._write("encrypted-pair.pem", self.encrypted_key.read_bytes() + self.certificate.read_bytes())

    @cached_property
    def usual_encrypted_pem(self) -> Path:
        return self._write("usual-pair.pem", self.usual_encrypted_key.read_bytes() + self.certificate.read_bytes())

    @cached_property
    def pkcs12(self) -> Path:
        password = BestAvailableEncryption(STORE_PASSWORD.encode())
        store = pkcs12.serialize_key_and_certificates(b"identity", self._private, self._x509, None, password)
        return self._write("keystore.p12", store)

    @cached_property
    def jks(self) -> Path:
        target = self._path("keystore.jks")
        source: list[str | Path] = [
            "-srckeystore",
            self.pkcs12,
            "-srcstoretype",
            "PKCS12",
            "-srcstorepass",
            STORE_PASSWORD,
        ]
        made: list[str | Path] = ["-destkeystore", target, "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD]
        keytool("-importkeystore", "-noprompt", *source, *made)
        return target

    def _path(self, form: str) -> Path:
        return self._directory / f"{self._name}.{form}"

    def _write(self, form: str, content: bytes) -> Path:
        path = self._path(form)
        path.write_bytes(content)
        return path


class Authority:
    """Signs certificates. Paths to its own, for those who trust it."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self.name = directory, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        named, span = _named(name), Span.around_now(before=400 * DAY, after=400 * DAY)
        builder = _begun(named, named, self._key.public_key(), self._key.public_key(), span)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    def issue(self, name: str, hosts: Sequence[str] = (), span: Span | None = None, file: str = "") -> Identity:
        """For a server on `hosts`, or for a client. `name` is its CN; `file` is how its files begin."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _begun(
            _named(name), self._certificate.subject, key.public_key(), self._key.public_key(), span or Span.around_now()
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        role = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([role]), critical=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([*map(_host, hosts)]), critical=False)
        return Identity(self._directory, file or name, builder.sign(self._key, hashes.SHA256()), key)

    @cached_property
    def certificate(self) -> Path:
        path = self._directory / f"{self.name}.pem"
        path.write_bytes(self._certificate.public_bytes(Encoding.PEM))
        return path

    @cached_property
    def pkcs12(self) -> Path:
        """A truststore that Java takes: it wants each certificate marked as trusted."""
        trusted = [pkcs12.PKCS12Certificate(self._certificate, b"authority")]
        path = self._directory / f"{self.name}.truststore.p12"
        path.write_bytes(pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(STORE_PASSWORD.encode())))
        return path

    @cached_property
    def jks(self) -> Path:
        path = self._directory / f"{self.name}.truststore.jks"
        made: list[str | Path] = ["-keystore", path, "-storetype", "JKS", "-storepass", STORE_PASSWORD]
        keytool("-importcert", "-noprompt", "-alias", "authority", "-file", self.certificate, *made)
        return path


class Certificates:
    """All that the tests need, made once. `client_name` is the CN of the clients' certificates."""

    def __init__(self, directory: Path, client_name: str) -> None:
        self.authority = Authority(directory, "authority")
        self.other_authority = Authority(directory, "other-authority")
        issue = self.authority.issue
        self.server = issue("kafka", LOOPBACK, file="server")
        self.expired = issue("kafka", LOOPBACK, Span.around_now(before=30 * DAY, after=-DAY), file="expired")
        self.not_yet_valid = issue("kafka", LOOPBACK, Span.around_now(before=-DAY), file="not-yet-valid")
        self.other_host = issue("kafka", ["kafka.example.com"], file="other-host")
        self.client = issue(client_name, file="client")
        self.stranger = self.other_authority.issue(client_name, file="stranger")
        """A client with the right name, vouched for by the wrong authority."""


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePublicKey,
    span: Span,
) -> x509.CertificateBuilder:
    """What every certificate has, ours of an authority included."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(span.start)
        .not_valid_after(span.end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _named(name: str) -> x509.Name:
    """As Kafka writes it, last part first: CN=name,O=Example."""
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example"), x509.NameAttribute(NameOID.COMMON_NAME, name)]
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def keytool(*arguments: str | Path) -> str:
    """Beside Java, in a JRE too."""
    return _run(find_java().path.resolve().with_name("keytool"), *arguments, "-J-XX:TieredStopAtLevel=1")


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    return done.stdout
