"""Which client knows a property. One that neither knows is a mistake, and the nearest name is a help."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from turnout.errors import PropertyError
from turnout.kafka.login.java_names import JAVA_NAMES
from turnout.kafka.login.librdkafka_names import LIBRDKAFKA_NAMES
from turnout.kafka.login.parse import LOGIN_NAMES

_KNOWN = LIBRDKAFKA_NAMES | JAVA_NAMES | LOGIN_NAMES


def is_javas(name: str) -> bool:
    return name in JAVA_NAMES or name.startswith("config.providers.")  # a provider's own follow


def is_librdkafkas(name: str) -> bool:
    return name in LIBRDKAFKA_NAMES


def must_be_known(names: Iterable[str]) -> None:
    unknown = list(unknown_names(names))
    if unknown:
        raise PropertyError(unknown[0].name, "; ".join(map(str, unknown)))


def unknown_names(names: Iterable[str]) -> Iterator[PropertyError]:
    for name in names:
        if name not in _KNOWN and not is_javas(name):
            near = nearest_name(name)
            advice = f"did you mean {near}?" if near else "remove it"
            yield PropertyError(name, f"no Kafka client knows the property {name}: {advice}")


def nearest_name(name: str) -> str | None:
    return next(iter(get_close_matches(name, sorted(_KNOWN), n=1)), None)
