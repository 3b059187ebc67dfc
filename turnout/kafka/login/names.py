"""Which client knows a property. One that neither knows is a mistake, and the nearest name is a help."""

from collections.abc import Iterable
from difflib import get_close_matches

from turnout.errors import ConfigError
from turnout.kafka.login.java_names import JAVA_NAMES
from turnout.kafka.login.librdkafka_names import LIBRDKAFKA_NAMES
from turnout.kafka.login.parse import LOGIN_NAMES

_KNOWN = LIBRDKAFKA_NAMES | JAVA_NAMES | LOGIN_NAMES


def is_javas(name: str) -> bool:
    return name in JAVA_NAMES or name.startswith("config.providers.")  # a provider's own follow


def is_librdkafkas(name: str) -> bool:
    return name in LIBRDKAFKA_NAMES


def must_be_known(names: Iterable[str]) -> None:
    unknown = [name for name in names if name not in _KNOWN and not is_javas(name)]
    if unknown:
        raise ConfigError("; ".join(_unknown(name) for name in unknown))


def _unknown(name: str) -> str:
    near = get_close_matches(name, sorted(_KNOWN), n=1)
    advice = f"did you mean {near[0]}?" if near else "remove it"
    return f"no Kafka client knows the property {name}: {advice}"
