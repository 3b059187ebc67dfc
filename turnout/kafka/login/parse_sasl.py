"""Users and passwords, clients and their secrets: properties of their own (librdkafka's way) or in a JAAS entry."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from turnout.errors import ConfigError
from turnout.kafka.login.given import Given, Said, agreed
from turnout.kafka.login.jaas import JAAS, JaasEntry, parse_jaas
from turnout.kafka.login.model import (
    KerberosLogin,
    OAuthLogin,
    PasswordLogin,
    PasswordMechanism,
    Protocol,
    Sasl,
)
from turnout.kafka.login.parse_tls import read_trust

HANDLER = "sasl.login.callback.handler.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
METHOD = "sasl.oauthbearer.method"
EXTENSIONS = "sasl.oauthbearer.extensions"
OAUTHBEARER, GSSAPI = "OAUTHBEARER", "GSSAPI"
EXTENSION_OPTION = "extension_"

_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")
_PASSWORD = ("sasl.username", "sasl.password")
_CLIENT_ID = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id")
_CLIENT_SECRET = ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret")
_OAUTH = (ENDPOINT, *_CLIENT_ID, *_CLIENT_SECRET, METHOD, EXTENSIONS, "sasl.oauthbearer.scope")
_ENDPOINT_TRUST = ("https.ca.location", "https.ca.pem")
SASL_NAMES = frozenset((*_MECHANISM, *_PASSWORD, *_OAUTH, *_ENDPOINT_TRUST, JAAS))

_MODULES = {
    **dict.fromkeys(("SCRAM-SHA-256", "SCRAM-SHA-512"), "ScramLoginModule"),
    "PLAIN": "PlainLoginModule",
    OAUTHBEARER: "OAuthBearerLoginModule",
}
_OAUTH_OPTIONS = frozenset(
    """
    clientId clientSecret scope
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """.split()
)
# What both clients send as it is. librdkafka splits its list at commas and reads backslashes as escapes.
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"(?:(?![,\\])[!-~])(?:(?:(?![,\\])[ -~])*(?:(?![,\\])[!-~]))?")


def read_sasl(given: Given, protocol: Protocol) -> Sasl | None:
    if not protocol.has_sasl:
        _must_not_log_in(given, protocol)
        return None
    said = [Said(where, SecretStr(value.get_secret_value().upper())) for where, value in given.filled(*_MECHANISM)]
    mechanism = agreed("mechanisms", said)
    entry = parse_jaas(text.get_secret_value()) if (text := given.secret(JAAS)) is not None else None
    if mechanism is None:
        raise ConfigError(
            f"security.protocol is {protocol}, but sasl.mechanism is missing: set it to {_mechanism_hint(entry)}"
        )
    name = mechanism.get_secret_value()
    _must_fit(said[0].where, name, given, entry)
    match name:
        case "OAUTHBEARER":
            return _read_oauth(given, entry)
        case "GSSAPI":
            return KerberosLogin(jaas=text)
        case _:
            return _read_password(PasswordMechanism(name), given, entry)


def _must_not_log_in(given: Given, protocol: Protocol) -> None:
    wanted = "SASL_SSL" if protocol.has_tls else "SASL_SSL (or SASL_PLAINTEXT on a network of your own)"
    for where, _ in given.filled(*_MECHANISM, JAAS, *_PASSWORD, ENDPOINT, *_CLIENT_ID, *_CLIENT_SECRET):
        raise ConfigError(
            f"{where} is given, but security.protocol is {protocol}, which has no login: "
            f"set security.protocol to {wanted}, or remove {where}"
        )


def _mechanism_hint(entry: JaasEntry | None) -> str:
    fitting = [name for name, module in _MODULES.items() if entry is None or entry.module_name == module]
    return ", ".join(sorted(fitting or _MODULES))


def _must_fit(where: str, mechanism: str, given: Given, entry: JaasEntry | None) -> None:
    """Refuses what belongs to another mechanism: the clients ignore it, or fail late."""
    if mechanism == GSSAPI:
        return
    if mechanism not in _MODULES:
        raise ConfigError(
            f"{where} is none that both of Turnout's Kafka clients have: "
            f"set it to one of {', '.join(sorted(_MODULES))}, as the cluster offers"
        )
    if entry is not None and entry.module_name != _MODULES[mechanism]:
        raise ConfigError(
            f"{JAAS} has a login module that does not fit {where} {mechanism}: "
            f"it needs {_MODULES[mechanism]}; change one of the two"
        )
    for name, _ in given.filled(*(_PASSWORD if mechanism == OAUTHBEARER else _OAUTH)):
        raise ConfigError(f"{name} does not fit {where} {mechanism}: remove it, or change {where}")


def _said(given: Given, entry: JaasEntry | None, option: str, *names: str) -> list[Said]:
    in_entry = [] if entry is None or option not in entry.options else [Said(_at(option), entry.options[option])]
    return given.said(*names) + in_entry


def _at(option: str) -> str:
    return f"{JAAS} ({option})"


# A user and a password


def _read_password(mechanism: PasswordMechanism, given: Given, entry: JaasEntry | None) -> PasswordLogin:
    if entry is not None and "tokenauth" in entry.options:
        raise ConfigError(
            f"{_at('tokenauth')}: librdkafka has no login by delegation tokens: give a user and a password"
        )
    users = _said(given, entry, "username", "sasl.username")
    passwords = _said(given, entry, "password", "sasl.password")
    user, password = agreed("users", users), agreed("passwords", passwords)
    if user is not None and password is not None:
        return PasswordLogin(mechanism=mechanism, user=user.get_secret_value(), password=password)
    if user is None and password is None:
        there = f"{JAAS} has no username and no password" if entry else "sasl.username and sasl.password are missing"
        raise ConfigError(f"{there}: {mechanism} needs both")
    given_one, missing = ("username", "password") if password is None else ("password", "username")
    where = (users or passwords)[0].where
    if where == _at(given_one):
        raise ConfigError(f"{JAAS} has no {missing}: a login needs both")
    raise ConfigError(f"{where} is given without sasl.{missing}: a login needs both")


# A token for a client's id and secret


def _read_oauth(given: Given, entry: JaasEntry | None) -> OAuthLogin:
    _must_be_client_credentials(given, entry)
    endpoint = _read_endpoint(given)
    client_id = agreed("client ids", _said(given, entry, "clientId", *_CLIENT_ID))
    client_secret = agreed("client secrets", _said(given, entry, "clientSecret", *_CLIENT_SECRET))
    scope = agreed("scopes", _said(given, entry, "scope", "sasl.oauthbearer.scope"))
    if client_id is None or client_secret is None:
        missing = [
            f"{name} (clientId in {JAAS})" if name.endswith("id") else f"{name} (clientSecret in {JAAS})"
            for name, value in ((_CLIENT_ID[0], client_id), (_CLIENT_SECRET[0], client_secret))
            if value is None
        ]
        raise ConfigError(f"OAUTHBEARER needs {' and '.join(missing)}: the provider of tokens gives both")
    options = {} if entry is None else entry.options
    in_both = Given(
        {said.where: said.value.get_secret_value() for said in given.said(*_ENDPOINT_TRUST)}
        | {_at(name): value.get_secret_value() for name, value in options.items()}
    )
    return OAuthLogin(
        endpoint=endpoint,
        client_id=client_id.get_secret_value(),
        client_secret=client_secret,
        scope=(scope.get_secret_value() if scope else None) or None,
        extensions=_read_extensions(given, options),
        trust=read_trust(in_both, "https.ca", _at),
    )


def _must_be_client_credentials(given: Given, entry: JaasEntry | None) -> None:
    if (given.text(METHOD) or "oidc").lower() != "oidc":
        raise ConfigError(f"{METHOD} must be oidc: Turnout gets tokens from {ENDPOINT}")
    handler = given.text(HANDLER)
    if handler is not None and handler.rpartition(".")[2] != "OAuthBearerLoginCallbackHandler":
        raise ConfigError(
            f"{HANDLER} is a class that librdkafka has nothing like, and Turnout uses librdkafka too: "
            f"remove it, and give {ENDPOINT} with a client's id and secret"
        )
    unknown = 0 if entry is None else sum(not _is_oauth_option(name) for name in entry.options)
    if unknown:  # not named: in an entry that is not what it seems, a name may be a piece of a secret
        raise ConfigError(
            f"{JAAS} has {unknown} option(s) that Turnout cannot give to librdkafka: it knows "
            f"{', '.join(sorted(_OAUTH_OPTIONS))} and {EXTENSION_OPTION}…"
        )


def _is_oauth_option(name: str) -> bool:
    return name in _OAUTH_OPTIONS or name.startswith(EXTENSION_OPTION)


def _read_endpoint(given: Given) -> str:
    endpoint = given.text(ENDPOINT)
    if endpoint is None:
        raise ConfigError(
            f"sasl.mechanism is OAUTHBEARER, but {ENDPOINT} is missing: set it to the address where the provider gives "
            "tokens, as https://login.example.com/oauth2/token"
        )
    try:
        url = urlsplit(endpoint)
    except ValueError:
        url = urlsplit("")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigError(f"{ENDPOINT} must be an address that begins with https:// (or http://)")
    if "@" in url.netloc:
        raise ConfigError(f"{ENDPOINT} must hold no user or password: give {_CLIENT_ID[0]} and {_CLIENT_SECRET[0]}")
    return endpoint


def _read_extensions(given: Given, options: Mapping[str, SecretStr]) -> dict[str, str]:
    found: dict[str, list[Said]] = {}
    for item in filter(None, (item.strip() for item in (given.text(EXTENSIONS) or "").split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"{EXTENSIONS} must look like logicalCluster=lkc-1,identityPoolId=pool-1")
        found.setdefault(name.strip(), []).append(Said(EXTENSIONS, SecretStr(value.strip())))
    for option, text in options.items():
        if option.startswith(EXTENSION_OPTION):
            name = option.removeprefix(EXTENSION_OPTION)
            found.setdefault(name, []).append(Said(_at(f"{EXTENSION_OPTION}…"), text))
    return {name: _extension(name, said) for name, said in found.items()}


def _extension(name: str, said: list[Said]) -> str:
    where = said[0].where
    if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
        raise ConfigError(f"{where}: an extension's name is of letters alone, and not auth, as in logicalCluster")
    agreed_on = agreed(f"values for the extension {name}", said)
    value = "" if agreed_on is None else agreed_on.get_secret_value()
    if not _EXTENSION_VALUE.fullmatch(value):
        raise ConfigError(f"{where}: the extension {name} must have a value of ASCII characters, without , and \\")
    return value
