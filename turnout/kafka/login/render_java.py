"""A login as Java's client (kafka-clients 3.9, in Spark) takes it."""

from pathlib import Path

from pydantic import SecretStr

from turnout.errors import ConfigError
from turnout.kafka.login.jaas import JAAS, render_jaas
from turnout.kafka.login.model import (
    Identity,
    KerberosLogin,
    Login,
    OAuthLogin,
    PasswordLogin,
    PasswordMechanism,
    PemFile,
    PemIdentity,
    PemText,
    Sasl,
    Tls,
    Trust,
)
from turnout.kafka.login.parse import PROTOCOL
from turnout.kafka.login.parse_oauth import ENDPOINT, EXTENSION_OPTION, HANDLER
from turnout.kafka.login.parse_sasl import GSSAPI, OAUTHBEARER
from turnout.kafka.login.parse_tls import HOST_CHECK
from turnout.kafka.login.pem import certificates_in, is_read_by_java, without_password

_PACKAGE = "org.apache.kafka.common.security"
_PLAIN_MODULE = f"{_PACKAGE}.plain.PlainLoginModule"
_SCRAM_MODULE = f"{_PACKAGE}.scram.ScramLoginModule"
_OAUTH_MODULE = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
# Not the one in …oauthbearer.secured, which many guides name: 3.9 has it still, newer clients do not.
_OAUTH_HANDLER = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginCallbackHandler"


def render_for_java(login: Login) -> dict[str, str]:
    """Reads the PEM files of a client's certificate, if there are any."""
    return {
        PROTOCOL: login.protocol.value,
        **({} if login.sasl is None else _sasl(login.sasl)),
        **({} if login.tls is None else _tls(login.tls)),
    }


def _sasl(sasl: Sasl) -> dict[str, str]:
    match sasl:
        case PasswordLogin():
            module = _PLAIN_MODULE if sasl.mechanism is PasswordMechanism.PLAIN else _SCRAM_MODULE
            options = {"username": sasl.user, "password": sasl.password.get_secret_value()}
            return {"sasl.mechanism": sasl.mechanism.value, JAAS: render_jaas(module, options)}
        case OAuthLogin():
            return {
                "sasl.mechanism": OAUTHBEARER,
                HANDLER: _OAUTH_HANDLER,
                ENDPOINT: sasl.endpoint,
                JAAS: render_jaas(_OAUTH_MODULE, _oauth_options(sasl)),
            }
        case KerberosLogin():
            return {"sasl.mechanism": GSSAPI, **_secret(JAAS, sasl.jaas)}


def _oauth_options(login: OAuthLogin) -> dict[str, str]:
    """All but the address goes into the JAAS entry: 3.9 has no properties for it, and none for the endpoint's TLS."""
    return {
        "clientId": login.client_id,
        "clientSecret": login.client_secret.get_secret_value(),
        **({} if login.scope is None else {"scope": login.scope}),
        **{f"{EXTENSION_OPTION}{name}": value for name, value in login.extensions.items()},
        **_trust(login.trust),
    }


def _tls(tls: Tls) -> dict[str, str]:
    return {
        **_trust(tls.trust),
        **({} if tls.identity is None else _identity(tls.identity)),
        **({} if tls.checks_host else {HOST_CHECK: ""}),
    }


def _trust(trust: Trust | None) -> dict[str, str]:
    match trust:
        case None:
            return {}
        case PemText():
            return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": trust.text}
        case PemFile():
            if Path(trust.location).is_dir():
                raise ConfigError(
                    f"ssl.ca.location: {trust.location} is a directory, which Kafka's Java client does not read: "
                    "name one file with all the certificates"
                )
            return {"ssl.truststore.type": "PEM", "ssl.truststore.location": trust.location}
        case _:
            return {
                "ssl.truststore.location": trust.location,
                **({} if trust.type is None else {"ssl.truststore.type": trust.type}),
                **_secret("ssl.truststore.password", trust.password),
            }


def _identity(identity: Identity) -> dict[str, str]:
    if isinstance(identity, PemIdentity):
        return {"ssl.keystore.type": "PEM", **_pem_identity(identity)}
    return {
        "ssl.keystore.location": identity.location,
        **({} if identity.type is None else {"ssl.keystore.type": identity.type}),
        **_secret("ssl.keystore.password", identity.password),
        **_secret("ssl.key.password", identity.key_password),
    }


def _pem_identity(identity: PemIdentity) -> dict[str, str]:
    """As text, because two files would have to be one for Java's client."""
    chain, key, password = identity.chain, identity.key, identity.key_password
    if isinstance(chain, PemFile) and chain == key and _is_read_by_java(chain):
        return {"ssl.keystore.location": chain.location, **_secret("ssl.key.password", password)}
    chain_text = _read("ssl.certificate.location", chain) if isinstance(chain, PemFile) else chain.text
    where = "ssl.key.location" if isinstance(key, PemFile) else "ssl.key.pem"
    key_text = _read(where, key) if isinstance(key, PemFile) else key.text.get_secret_value()
    if not is_read_by_java(key_text):
        key_text, password = without_password(where, key_text, password), None
    return {
        # The same file may hold the key, which is to be where keys are expected, and nowhere else.
        "ssl.keystore.certificate.chain": certificates_in(chain_text) if chain == key else chain_text,
        "ssl.keystore.key": key_text,
        **_secret("ssl.key.password", password),
    }


def _is_read_by_java(file: PemFile) -> bool:
    """One that cannot be read now may be there, and right, when it is needed."""
    try:
        return is_read_by_java(Path(file.location).read_text("utf-8"))
    except (OSError, ValueError):
        return True


def _read(name: str, file: PemFile) -> str:
    try:
        return Path(file.location).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise ConfigError(f"{name}: {file.location} cannot be read: {reason}") from None


def _secret(name: str, value: SecretStr | None) -> dict[str, str]:
    return {} if value is None else {name: value.get_secret_value()}
