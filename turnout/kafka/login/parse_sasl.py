"""How the client logs in: in properties of their own (librdkafka's way) or in a JAAS entry (Java's)."""

from pydantic import SecretStr

from turnout.errors import PropertyError
from turnout.kafka.login.given import Given, Said, agreed, property_of
from turnout.kafka.login.jaas import JAAS, NO_ENTRY, JaasEntry, at, parse_jaas
from turnout.kafka.login.model import KerberosLogin, PasswordLogin, PasswordMechanism, Protocol, Sasl
from turnout.kafka.login.parse_oauth import CLIENT_ID, CLIENT_SECRET, ENDPOINT, ENDPOINT_TRUST, OAUTH, read_oauth

OAUTHBEARER, GSSAPI = "OAUTHBEARER", "GSSAPI"

_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")
_PASSWORD = ("sasl.username", "sasl.password")
SASL_NAMES = frozenset((*_MECHANISM, *_PASSWORD, *OAUTH, *ENDPOINT_TRUST, JAAS))

_MODULES = {
    **dict.fromkeys(("SCRAM-SHA-256", "SCRAM-SHA-512"), "ScramLoginModule"),
    "PLAIN": "PlainLoginModule",
    OAUTHBEARER: "OAuthBearerLoginModule",
}


def read_sasl(given: Given, protocol: Protocol) -> Sasl | None:
    if not protocol.has_sasl:
        _must_not_log_in(given, protocol)
        return None
    said = [Said(where, SecretStr(value.get_secret_value().upper())) for where, value in given.filled(*_MECHANISM)]
    mechanism = agreed("mechanisms", said)
    text = given.secret(JAAS)
    entry = NO_ENTRY if text is None else parse_jaas(text.get_secret_value())
    if mechanism is None:
        raise PropertyError(
            "security.protocol",
            f"security.protocol is {protocol}, but sasl.mechanism is missing: set it to {_mechanism_hint(entry)}",
        )
    name = mechanism.get_secret_value()
    _must_fit(said[0].where, name, given, entry)
    match name:
        case "OAUTHBEARER":
            return read_oauth(given, entry)
        case "GSSAPI":
            return KerberosLogin(jaas=text)
        case _:
            return _read_password(PasswordMechanism(name), given, entry)


def _must_not_log_in(given: Given, protocol: Protocol) -> None:
    wanted = "SASL_SSL" if protocol.has_tls else "SASL_SSL (or SASL_PLAINTEXT on a network of your own)"
    for where, _ in given.filled(*_MECHANISM, JAAS, *_PASSWORD, ENDPOINT, *CLIENT_ID, *CLIENT_SECRET):
        raise PropertyError(
            where,
            f"{where} is given, but security.protocol is {protocol}, which has no login: "
            f"set security.protocol to {wanted}, or remove {where}",
        )


def _mechanism_hint(entry: JaasEntry) -> str:
    fitting = [name for name, module in _MODULES.items() if entry.module_name in ("", module)]
    return ", ".join(sorted(fitting or _MODULES))


def _must_fit(where: str, mechanism: str, given: Given, entry: JaasEntry) -> None:
    """Refuses what belongs to another mechanism: the clients ignore it, or fail late."""
    if mechanism == GSSAPI:
        return
    if mechanism not in _MODULES:
        raise PropertyError(
            where,
            f"{where} is none that both of Turnout's Kafka clients have: "
            f"set it to one of {', '.join(sorted(_MODULES))}, as the cluster offers",
        )
    if entry.module_name not in ("", _MODULES[mechanism]):
        raise PropertyError(
            JAAS,
            f"{JAAS} has a login module that does not fit {where} {mechanism}: "
            f"it needs {_MODULES[mechanism]}; change one of the two",
        )
    for name, _ in given.filled(*(_PASSWORD if mechanism == OAUTHBEARER else OAUTH)):
        raise PropertyError(name, f"{name} does not fit {where} {mechanism}: remove it, or change {where}")


# A user and a password


def _read_password(mechanism: PasswordMechanism, given: Given, entry: JaasEntry) -> PasswordLogin:
    if "tokenauth" in entry.options:
        raise PropertyError(
            JAAS, f"{at('tokenauth')}: librdkafka has no login by delegation tokens: give a user and a password"
        )
    users = given.said("sasl.username") + entry.said("username")
    passwords = given.said("sasl.password") + entry.said("password")
    user, password = agreed("users", users), agreed("passwords", passwords)
    if user is not None and password is not None:
        return PasswordLogin(mechanism=mechanism, user=user.get_secret_value(), password=password)
    if user is None and password is None:
        there = (
            f"{JAAS} has no username and no password" if entry.module else "sasl.username and sasl.password are missing"
        )
        raise PropertyError(JAAS if entry.module else "sasl.mechanism", f"{there}: {mechanism} needs both")
    given_one, missing = ("username", "password") if password is None else ("password", "username")
    where = (users or passwords)[0].where
    if where == at(given_one):
        raise PropertyError(JAAS, f"{JAAS} has no {missing}: a login needs both")
    raise PropertyError(property_of(where), f"{where} is given without sasl.{missing}: a login needs both")
