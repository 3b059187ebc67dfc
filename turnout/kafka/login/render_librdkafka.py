"""A login as librdkafka (confluent_kafka) takes it. It reads PEM: Java's stores become PEM text in memory."""

from pathlib import Path

from pydantic import SecretStr

from turnout.kafka.login.model import (
    Identity,
    KerberosLogin,
    Login,
    OAuthLogin,
    PasswordLogin,
    PemFile,
    PemIdentity,
    PemText,
    Sasl,
    Tls,
    Trust,
)
from turnout.kafka.login.parse import PROTOCOL
from turnout.kafka.login.parse_oauth import ENDPOINT, EXTENSIONS, METHOD
from turnout.kafka.login.parse_sasl import GSSAPI, OAUTHBEARER
from turnout.kafka.login.parse_tls import HOST_CHECK
from turnout.kafka.login.stores import key_as_pem, may_be_pkcs12, trusted_as_pem

SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat, Amazon Linux
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)
"""Where systems keep all the authorities that they trust in one file."""


def render_for_librdkafka(login: Login) -> dict[str, str]:
    return {
        PROTOCOL: login.protocol.value,
        **({} if login.sasl is None else _sasl(login.sasl)),
        **({} if login.tls is None else _tls(login.tls)),
    }


def _sasl(sasl: Sasl) -> dict[str, str]:
    match sasl:
        case PasswordLogin():
            return {
                "sasl.mechanisms": sasl.mechanism.value,
                "sasl.username": sasl.user,
                "sasl.password": sasl.password.get_secret_value(),
            }
        case OAuthLogin():
            return {"sasl.mechanisms": OAUTHBEARER, **_oauth(sasl)}
        case KerberosLogin():
            return {"sasl.mechanisms": GSSAPI}


def _oauth(login: OAuthLogin) -> dict[str, str]:
    extensions = ",".join(f"{name}={value}" for name, value in login.extensions.items())
    return {
        METHOD: "oidc",
        ENDPOINT: login.endpoint,
        "sasl.oauthbearer.client.id": login.client_id,
        "sasl.oauthbearer.client.secret": login.client_secret.get_secret_value(),
        **({} if login.scope is None else {"sasl.oauthbearer.scope": login.scope}),
        **({EXTENSIONS: extensions} if extensions else {}),
        **_trust("https.ca", login.trust or _system_trust(login.endpoint)),
    }


def _system_trust(endpoint: str) -> PemFile | None:
    """For an https endpoint, librdkafka looks in one place only, which is Fedora's, even where it is told to probe."""
    bundle = next((place for place in SYSTEM_BUNDLES if Path(place).is_file()), None)
    return PemFile(location=bundle) if bundle and endpoint.lower().startswith("https:") else None


def _tls(tls: Tls) -> dict[str, str]:
    return {
        **_trust("ssl.ca", tls.trust),
        **({} if tls.identity is None else _identity(tls.identity)),
        **({} if tls.checks_host else {HOST_CHECK: "none"}),
    }


def _trust(name: str, trust: Trust | None) -> dict[str, str]:
    match trust:
        case None:
            return {}
        case PemText():
            return {f"{name}.pem": trust.text}
        case PemFile():
            return {f"{name}.location": trust.location}
        case _:
            return _trust(name, trust.pem or PemText(text=trusted_as_pem(trust)))


def _identity(identity: Identity) -> dict[str, str]:
    if isinstance(identity, PemIdentity):
        return _pem_identity(identity)
    if identity.pem is not None:
        return _pem_identity(identity.pem)
    if not may_be_pkcs12(identity):
        return _pem_identity(key_as_pem(identity))
    return {
        "ssl.keystore.location": identity.location,
        **_secret("ssl.keystore.password", identity.password),
        **_secret("ssl.key.password", identity.key_password),
    }


def _pem_identity(identity: PemIdentity) -> dict[str, str]:
    chain, key = identity.chain, identity.key
    return {
        **(
            {"ssl.certificate.location": chain.location}
            if isinstance(chain, PemFile)
            else {"ssl.certificate.pem": chain.text}
        ),
        **(
            {"ssl.key.location": key.location}
            if isinstance(key, PemFile)
            else {"ssl.key.pem": key.text.get_secret_value()}
        ),
        **_secret("ssl.key.password", identity.key_password),
    }


def _secret(name: str, value: SecretStr | None) -> dict[str, str]:
    return {} if value is None else {name: value.get_secret_value()}
