"""Client properties (Kafka's, Spark's) as immutable mappings whose secrets do not show when they are printed."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from turnout.errors import ConfigError, PropertyError
from turnout.references import Value, parse, plain

MASK = "***"

# Names that speak of a secret. `key` counts where the name ends in it (fs.s3a.secret.key, ssl.keystore.key) or where
# it is the PEM text itself (ssl.key.pem), not in ssl.key.location or key.deserializer.
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|jaas|token|credential|user\.info|access\.?key|account\.key|api\.?key|key$|key\.pem$|oauthbearer\.config$",
    re.IGNORECASE,
)
# Names that only say where something is or what it is called, whatever they speak of.
_PUBLIC_NAME = re.compile(r"\.(location|file|url|id|type|class|ms|seconds)$", re.IGNORECASE)
# Values that hold a secret under whatever name: a login in an address, a private key, -Dsomething.password=….
_SECRET_VALUE = re.compile(r"://[^/\s]*@|PRIVATE KEY|(passw\w*|passphrase|secret|token)\S*\s*=", re.IGNORECASE)

SECRET_PATTERN = f"(?i){_SECRET_NAME.pattern}|{_SECRET_VALUE.pattern}"
"""The same for programs that look for one pattern in names and values alike; Java reads it too."""


def is_secret(name: str, value: str) -> bool:
    """Whether the value of this property must not be shown."""
    return is_named_secret(name) or _SECRET_VALUE.search(value) is not None


def is_named_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None and _PUBLIC_NAME.search(name) is None


def as_text(value: object) -> object:
    """A property's value as the clients want it: text. Lists are comma-separated; what is no value is left as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value


_PropertyText = Annotated[str, BeforeValidator(as_text)]


class Properties(Mapping[str, str]):
    """Properties of a client: read them as a dict; printed, dumped or logged, their secrets are masked.

    A value may refer to files, which are read whenever it is: see turnout.references.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values` as a person wrote them."""
        self._values = {
            self.spelled(name): parse(value, is_secret=is_named_secret(name)) for name, value in values.items()
        }

    @classmethod
    def plain(cls, values: Mapping[str, str]) -> Self:
        """Values that are what they are: nothing in them is a reference."""
        properties = cls({})
        properties._values = {cls.spelled(name): plain(value) for name, value in values.items()}
        return properties

    @staticmethod
    def spelled(name: str) -> str:
        """The property's own name for what a person wrote."""
        return name

    @property
    def files(self) -> frozenset[str]:
        """The files that values refer to."""
        return frozenset().union(*(value.files for value in self._values.values()))

    def masked(self) -> dict[str, str]:
        """As they were written: what refers to a file shows, what is a secret does not."""
        return {name: _masked(name, value) for name, value in self._values.items()}

    def __getitem__(self, name: str) -> str:
        value = self._values[name]
        try:
            return value.read()
        except ConfigError as error:
            raise PropertyError(name, f"{name}: {error}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        """Two that are written alike are equal, whatever is in the files that they refer to."""
        return self._values == other._values if isinstance(other, Properties) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.masked()})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Any mapping of names to plain values is taken; a dump is masked, so that no dump can give a secret away."""
        return core_schema.no_info_wrap_validator_function(
            lambda value, written: value if isinstance(value, cls) else cls(written(value)),
            handler.generate_schema(dict[str, _PropertyText]),
            serialization=core_schema.plain_serializer_function_ser_schema(cls.masked),
        )


def _masked(name: str, value: Value) -> str:
    written = value.written()
    return value.written(MASK) if written and is_secret(name, written) else written


class KafkaProperties(Properties):
    """Properties of a Kafka client, in Java's spelling or librdkafka's: see turnout.kafka.security."""

    @staticmethod
    def spelled(name: str) -> str:
        """Kafka's names have dots, all but one, so `bootstrap_servers` can only mean `bootstrap.servers`."""
        if name == "log_level":
            return name
        dotted = name.replace("_", ".")
        return "bootstrap.servers" if dotted == "metadata.broker.list" else dotted
