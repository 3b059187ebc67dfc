"""A login to a Kafka, whichever client uses it. Its secrets do not show when it is printed or dumped."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, SecretStr


class Part(BaseModel):
    """A part of a login. Equal parts mean the same to a Kafka."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Protocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self in (Protocol.SSL, Protocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (Protocol.SASL_PLAINTEXT, Protocol.SASL_SSL)


# What is trusted


class PemFile(Part):
    """Certificates, or a key, in a PEM file."""

    location: str


class PemText(Part):
    """Certificates as PEM text."""

    text: str


class TrustStore(Part):
    """A Java store of trusted certificates, JKS or PKCS12."""

    location: str
    password: SecretStr | None = None
    type: str | None = None
    """None: as Java finds it out, which reads both kinds."""
    pem: PemFile | PemText | None = None
    """The same certificates for librdkafka, where the configuration has them too."""


Trust = PemFile | PemText | TrustStore


# Who the client is


class PemKey(Part):
    """A private key as PEM text."""

    text: SecretStr


class PemIdentity(Part):
    """A client's certificate with those that signed it, and its key."""

    chain: PemFile | PemText
    key: PemFile | PemKey
    key_password: SecretStr | None = None


class KeyStore(Part):
    """A Java store of a client's certificate and key, JKS or PKCS12."""

    location: str
    password: SecretStr | None = None
    key_password: SecretStr | None = None
    type: str | None = None
    pem: PemIdentity | None = None
    """The same for librdkafka, where the configuration has it too."""


Identity = PemIdentity | KeyStore


class Tls(Part):
    trust: Trust | None = None
    """None: what the system trusts."""
    identity: Identity | None = None
    checks_host: bool = True


# How the client logs in


class PasswordMechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


class PasswordLogin(Part):
    mechanism: PasswordMechanism
    user: str
    password: SecretStr


class OAuthLogin(Part):
    """OAUTHBEARER: a token from an OIDC provider, for a client's id and secret."""

    endpoint: str
    client_id: str
    client_secret: SecretStr
    scope: str | None = None
    extensions: Mapping[str, str] = {}
    trust: Trust | None = None
    """For the endpoint's certificate. None: what the system trusts."""


class KerberosLogin(Part):
    """GSSAPI: each client has its own properties for it, which pass as they are."""

    jaas: SecretStr | None = None


Sasl = PasswordLogin | OAuthLogin | KerberosLogin


class Login(Part):
    protocol: Protocol = Protocol.PLAINTEXT
    tls: Tls | None = None
    sasl: Sasl | None = None
