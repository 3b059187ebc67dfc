"""Kafka client properties for each of the two clients: people write Java's spelling or librdkafka's, or mix them.

Turnout uses a Kafka through librdkafka (control messages, changelogs, checks) and through Java's client (Spark), with
one set of properties. What the two spell alike passes as it is; what they spell differently is translated here, and
what was written in a client's own spelling wins over a translation. Java's client ignores a name that it does not
know, librdkafka refuses to start: so Java's own names are left out for librdkafka, and every other name reaches it,
which finds a typing mistake at once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from turnout.errors import ConfigError

# Words of a fixed list, which may be written in either case: here as the brokers name them.
_IN_CAPITALS = ("security.protocol", "sasl.mechanism", "sasl.mechanisms")
_HOST_CHECK = "ssl.endpoint.identification.algorithm"

# What kafka-clients 3.9 and 4.3 have and librdkafka 2.16 has not, or reads in another way and is translated below.
# A name that ends in a dot stands for all that begin with it.
_JAVA_ONLY = [
    "auto.include.jmx.reporter",
    "bootstrap.controllers",
    "buffer.memory",
    "compression.gzip.",
    "compression.lz4.",
    "compression.zstd.",
    "config.providers",
    "default.api.timeout.ms",
    "exclude.internal.topics",
    "fetch.max.wait.ms",
    "interceptor.classes",
    "internal.leave.",
    "internal.throw.",
    "key.",
    "max.block.ms",
    "max.request.size",
    "metadata.max.idle.ms",
    "metric.",
    "metrics.",
    "partitioner.",
    "receive.buffer.bytes",
    "sasl.client.",
    "sasl.jaas.config",
    "sasl.kerberos.ticket.",
    "sasl.login.",
    "sasl.mechanism",
    "sasl.oauthbearer.assertion.template.",
    "sasl.oauthbearer.clock.",
    "sasl.oauthbearer.expected.",
    "sasl.oauthbearer.header.",
    "sasl.oauthbearer.jwks.",
    "sasl.oauthbearer.jwt.",
    "sasl.oauthbearer.scope.claim.",
    "security.providers",
    "send.buffer.bytes",
    "share.acquire.",
    "socket.connection.setup.timeout.max.ms",
    "ssl.enabled.",
    "ssl.engine.factory.",
    "ssl.keymanager.",
    "ssl.keystore.",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.",
    "ssl.trustmanager.",
    "ssl.truststore.",
    "transaction.two.",
    "value.",
]
# What Java's client has under another name. (The rest of librdkafka's own names it ignores.)
_LIBRDKAFKA_ONLY = [
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "ssl.ca.",
    "ssl.certificate.",
    "ssl.key.location",
    "ssl.key.pem",
]


def for_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties as librdkafka (confluent_kafka) takes them."""
    given = _in_capitals(properties)
    own = {name: value for name, value in given.items() if not _listed(name, _JAVA_ONLY)}
    if own.get(_HOST_CHECK) == "":
        own[_HOST_CHECK] = "none"
    return {
        **_mechanism_for_librdkafka(given),
        **_login_for_librdkafka(given),
        **_truststore_for_librdkafka(given),
        **_keystore_for_librdkafka(given),
        **own,
    }


def for_java(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties as Java's client (Spark) takes them. Reads the PEM files of a client's certificate, if any."""
    given = _in_capitals(properties)
    own = {name: value for name, value in given.items() if not _listed(name, _LIBRDKAFKA_ONLY)}
    if own.get(_HOST_CHECK) == "none":
        own[_HOST_CHECK] = ""
    return {
        **_mechanism_for_java(given),
        **_login_for_java(given),
        **_truststore_for_java(given),
        **_keystore_for_java(given),
        **own,
    }


def _in_capitals(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: value.upper() if name in _IN_CAPITALS else value for name, value in properties.items()}


def _listed(name: str, names: Sequence[str]) -> bool:
    return any(name.startswith(entry) if entry.endswith(".") else name == entry for entry in names)


def _mechanism_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    return {"sasl.mechanisms": given["sasl.mechanism"]} if "sasl.mechanism" in given else {}


def _mechanism_for_java(given: Mapping[str, str]) -> dict[str, str]:
    return {"sasl.mechanism": given["sasl.mechanisms"]} if "sasl.mechanisms" in given else {}


# Logins: a user and a password for librdkafka, an entry of a JAAS configuration for Java.


class JaasEntry(NamedTuple):
    """A login module and its options, as in `sasl.jaas.config`."""

    module: str
    options: Mapping[str, str]


def _plain(user: str, password: str) -> JaasEntry:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return JaasEntry(module, {"username": user, "password": password})


def _scram(user: str, password: str) -> JaasEntry:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return JaasEntry(module, {"username": user, "password": password})


_LOGINS: Mapping[str, Callable[[str, str], JaasEntry]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
}
# By the last part of the class's name: some Spark distributions ship Kafka's classes under another package.
_PASSWORD_MODULES = ("PlainLoginModule", "ScramLoginModule")


def _login_for_java(given: Mapping[str, str]) -> dict[str, str]:
    login = _LOGINS.get(given.get("sasl.mechanism", given.get("sasl.mechanisms", "")))
    if login is None or "sasl.username" not in given or "sasl.jaas.config" in given:
        return {}
    if "sasl.password" not in given:
        raise ConfigError("sasl.username is given without sasl.password: a login needs both")
    return {"sasl.jaas.config": render_jaas(login(given["sasl.username"], given["sasl.password"]))}


def _login_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    if "sasl.jaas.config" not in given or "sasl.username" in given:
        return {}
    module, options = parse_jaas(given["sasl.jaas.config"])
    if module.rpartition(".")[2] not in _PASSWORD_MODULES:
        return {}  # another mechanism's login has properties of its own in librdkafka
    missing = [option for option in ("username", "password") if option not in options]
    if missing:
        raise ConfigError(f"sasl.jaas.config has no {' and no '.join(missing)}: a login needs both")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


# Kafka reads an entry with Java's StreamTokenizer: in quotes, a backslash escapes, and a line's end ends the text.
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_JAAS_HEAD = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
_JAAS_OPTION = re.compile(
    r"""\s*(?P<name>[\w.$-]+)\s*=\s*
        (?: "(?P<double>(?:[^"\\\r\n]|\\.)*)" | '(?P<single>(?:[^'\\\r\n]|\\.)*)' | (?P<bare>[^\s"';=]+) )""",
    re.VERBOSE | re.DOTALL,
)


def render_jaas(entry: JaasEntry) -> str:
    """The entry as a `sasl.jaas.config`."""
    options = (
        f'{name}="{"".join(_ESCAPED.get(char, char) for char in value)}"' for name, value in entry.options.items()
    )
    return f"{entry.module} required {' '.join(options)};"


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of a `sasl.jaas.config`. The errors never quote it: the password may be anywhere in it."""
    head = _JAAS_HEAD.match(text)
    if head is None:
        raise ConfigError('sasl.jaas.config must look like: <login module> required username="…" password="…";')
    options: dict[str, str] = {}
    end = head.end()
    while option := _JAAS_OPTION.match(text, end):
        quoted = option["double"] if option["double"] is not None else option["single"]
        options[option["name"]] = option["bare"] if quoted is None else _unescape(quoted)
        end = option.end()
    if text[end:].strip() != ";":
        raise ConfigError(
            f"sasl.jaas.config cannot be read after its option {len(options)}: options look like "
            'name="value", a quote or backslash in a value has a backslash before it, and the last is followed by ;'
        )
    return JaasEntry(head["module"], options)


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if code[0] in "01234567" else _UNESCAPED.get(code, code)

    return re.sub(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", plain, text, flags=re.DOTALL)


# Certificates: librdkafka reads PEM, in files or as text; Java reads the same as "stores" of the type PEM.


def _truststore_for_java(given: Mapping[str, str]) -> dict[str, str]:
    if any(name.startswith("ssl.truststore.") for name in given):
        return {}
    if "ssl.ca.pem" in given:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
    if given.get("ssl.ca.location") not in (None, "", "probe"):  # probe: the system's own, as Java does without
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
    return {}


def _truststore_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    if any(name.startswith("ssl.ca.") for name in given):
        return {}
    if "ssl.truststore.certificates" in given:
        return {"ssl.ca.pem": given["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in given:
        return {}
    _must_be_pem(given.get("ssl.truststore.type", "JKS"), "ssl.truststore.location", "ssl.ca.location")
    return {"ssl.ca.location": given["ssl.truststore.location"]}


def _keystore_for_java(given: Mapping[str, str]) -> dict[str, str]:
    """As text, because librdkafka's two files would have to be one for Java's client."""
    if any(name.startswith("ssl.keystore.") for name in given):
        return {}
    chain, key = _pem(given, "ssl.certificate"), _pem(given, "ssl.key")
    if not chain and not key:
        return {}
    if not chain or not key:
        given_one, missing = ("ssl.key", "ssl.certificate") if key else ("ssl.certificate", "ssl.key")
        raise ConfigError(
            f"{given_one}.location is given without {missing}.location: a client's certificate needs both"
        )
    if not re.search(r"-----BEGIN (ENCRYPTED )?PRIVATE KEY-----", key):
        raise ConfigError(
            "ssl.key.location is not a PKCS#8 key (BEGIN PRIVATE KEY), the only kind that Kafka's Java client reads: "
            "convert it with `openssl pkcs8 -topk8 -nocrypt -in old.key -out new.key` "
            "(for a key with a password: -v1 PBE-SHA1-3DES in place of -nocrypt, Java 17 does not read PBES2)"
        )
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _keystore_for_librdkafka(given: Mapping[str, str]) -> dict[str, str]:
    if any(name.startswith("ssl.certificate.") for name in given):
        return {}
    if "ssl.keystore.key" in given:
        chain = given.get("ssl.keystore.certificate.chain", "")
        return {"ssl.certificate.pem": chain, "ssl.key.pem": given["ssl.keystore.key"]}
    if "ssl.keystore.location" not in given:
        return {}
    location = given["ssl.keystore.location"]
    kind = given.get("ssl.keystore.type", "JKS" if location.endswith(".jks") else "PKCS12").upper()
    if kind == "PKCS12":
        return {name: given[name] for name in ("ssl.keystore.location", "ssl.keystore.password") if name in given}
    _must_be_pem(kind, "ssl.keystore.location", "ssl.certificate.location and ssl.key.location")
    return {"ssl.certificate.location": location, "ssl.key.location": location}


def _must_be_pem(kind: str, name: str, instead: str) -> None:
    if kind.upper() != "PEM":
        raise ConfigError(
            f"{name} is a store of the type {kind}, which only Java reads, and Turnout uses librdkafka too: "
            f"name the same certificates as PEM files in {instead}"
        )


def _pem(given: Mapping[str, str], prefix: str) -> str:
    """The PEM text that `<prefix>.pem` is or `<prefix>.location` names; empty if there is neither."""
    if f"{prefix}.pem" in given:
        return given[f"{prefix}.pem"]
    location = given.get(f"{prefix}.location")
    if not location:
        return ""
    try:
        return Path(location).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise ConfigError(f"{prefix}.location: {location} cannot be read: {reason}") from None
