"""OAUTHBEARER: a token for a client's id and secret, from a provider's endpoint."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from turnout.errors import PropertyError
from turnout.kafka.login.given import Given, Said, agreed, property_of
from turnout.kafka.login.jaas import JAAS, JaasEntry, at
from turnout.kafka.login.model import OAuthLogin, Trust
from turnout.kafka.login.parse_tls import read_trust

HANDLER = "sasl.login.callback.handler.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
METHOD = "sasl.oauthbearer.method"
SCOPE = "sasl.oauthbearer.scope"
EXTENSIONS = "sasl.oauthbearer.extensions"
EXTENSION_OPTION = "extension_"
CLIENT_ID = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id")
CLIENT_SECRET = ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret")
"""librdkafka's name, and the one that newer Java clients have."""
OAUTH = (ENDPOINT, *CLIENT_ID, *CLIENT_SECRET, METHOD, EXTENSIONS, SCOPE)
ENDPOINT_TRUST = ("https.ca.location", "https.ca.pem")

_OPTIONS = frozenset(
    """
    clientId clientSecret scope
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """.split()
)
# What both clients send as it is. librdkafka splits its list at commas and reads backslashes as escapes.
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"(?! )[^,\\\x00-\x1f\x7f-\U0010ffff]+(?<! )")


def read_oauth(given: Given, entry: JaasEntry) -> OAuthLogin:
    _must_be_client_credentials(given, entry)
    endpoint = _read_endpoint(given)
    client_id = agreed("client ids", given.said(*CLIENT_ID) + entry.said("clientId"))
    client_secret = agreed("client secrets", given.said(*CLIENT_SECRET) + entry.said("clientSecret"))
    scope = agreed("scopes", given.filled(SCOPE) + entry.said("scope"))
    if client_id is None:
        raise _missing(given, CLIENT_ID[0], "clientId")
    if client_secret is None:
        raise _missing(given, CLIENT_SECRET[0], "clientSecret")
    return OAuthLogin(
        endpoint=endpoint,
        client_id=client_id.get_secret_value(),
        client_secret=client_secret,
        scope=scope.get_secret_value() if scope else None,
        extensions=_read_extensions(given, entry.options),
        trust=_read_endpoint_trust(given, entry.options),
    )


def _missing(given: Given, name: str, option: str) -> PropertyError:
    return PropertyError(
        JAAS if given.secret(JAAS) else name,
        f"OAUTHBEARER needs {name} ({option} in {JAAS}): the provider of tokens gives a client's id and secret",
    )


def _read_endpoint_trust(given: Given, options: Mapping[str, SecretStr]) -> Trust | None:
    """librdkafka has properties for it, Java's client options in the JAAS entry."""
    said = given.said(*ENDPOINT_TRUST) + [Said(at(option), value) for option, value in options.items()]
    return read_trust(Given({where: value.get_secret_value() for where, value in said}), "https.ca", at)


def _must_be_client_credentials(given: Given, entry: JaasEntry) -> None:
    if (given.text(METHOD) or "oidc").lower() != "oidc":
        raise PropertyError(METHOD, f"{METHOD} must be oidc: Turnout gets tokens from {ENDPOINT}")
    handler = given.text(HANDLER)
    if handler is not None and handler.rpartition(".")[2] != "OAuthBearerLoginCallbackHandler":
        raise PropertyError(
            HANDLER,
            f"{HANDLER} is a class that librdkafka has nothing like, and Turnout uses librdkafka too: "
            f"remove it, and give {ENDPOINT} with a client's id and secret",
        )
    unknown = sum(not _is_known(name) for name in entry.options)
    if unknown:  # not named: in an entry that is not what it seems, a name may be a piece of a secret
        raise PropertyError(
            JAAS,
            f"{JAAS} has {unknown} option(s) that Turnout cannot give to librdkafka: it knows "
            f"{', '.join(sorted(_OPTIONS))} and {EXTENSION_OPTION}…",
        )


def _is_known(name: str) -> bool:
    return name in _OPTIONS or name.startswith(EXTENSION_OPTION)


def _read_endpoint(given: Given) -> str:
    endpoint = given.text(ENDPOINT)
    if endpoint is None:
        raise PropertyError(
            ENDPOINT,
            f"sasl.mechanism is OAUTHBEARER, but {ENDPOINT} is missing: set it to the address where the provider gives "
            "tokens, as https://login.example.com/oauth2/token",
        )
    try:
        url = urlsplit(endpoint)
    except ValueError:
        url = urlsplit("")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise PropertyError(ENDPOINT, f"{ENDPOINT} must be an address that begins with https:// (or http://)")
    if "@" in url.netloc:
        raise PropertyError(
            ENDPOINT, f"{ENDPOINT} must hold no user or password: give {CLIENT_ID[0]} and {CLIENT_SECRET[0]}"
        )
    return endpoint


def _read_extensions(given: Given, options: Mapping[str, SecretStr]) -> dict[str, str]:
    found: dict[str, list[Said]] = {}
    for item in filter(None, (item.strip() for item in (given.text(EXTENSIONS) or "").split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise PropertyError(EXTENSIONS, f"{EXTENSIONS} must look like logicalCluster=lkc-1,identityPoolId=pool-1")
        found.setdefault(name.strip(), []).append(Said(EXTENSIONS, SecretStr(value.strip())))
    for option, text in options.items():
        if option.startswith(EXTENSION_OPTION):
            name = option.removeprefix(EXTENSION_OPTION)
            found.setdefault(name, []).append(Said(at(f"{EXTENSION_OPTION}…"), text))
    return {name: _extension(name, said) for name, said in found.items()}


def _extension(name: str, said: list[Said]) -> str:
    where = said[0].where
    if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
        raise PropertyError(
            property_of(where), f"{where}: an extension's name is of letters alone, and not auth, as in logicalCluster"
        )
    agreed_on = agreed(f"values for the extension {name}", said)
    value = "" if agreed_on is None else agreed_on.get_secret_value()
    if not _EXTENSION_VALUE.fullmatch(value):
        raise PropertyError(
            property_of(where), f"{where}: the extension {name} must have a value of ASCII characters, without , and \\"
        )
    return value
