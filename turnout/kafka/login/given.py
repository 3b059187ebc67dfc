"""What a configuration gives, by the property that gives it: the same may be said twice, but not in two ways."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import SecretStr

from turnout.errors import PropertyError

Value = TypeVar("Value")


class Said(NamedTuple):
    """A value, and where it stands: a property, or an option in one."""

    where: str
    value: SecretStr


class Given:
    """Properties in either spelling. Its secrets do not show."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._values = {name: SecretStr(value) for name, value in properties.items()}

    def said(self, *names: str) -> list[Said]:
        """What these properties say, as far as they are given; an empty value is one."""
        return [Said(name, self._values[name]) for name in names if name in self._values]

    def filled(self, *names: str) -> list[Said]:
        """What these properties say, as far as they say anything."""
        return [said for said in self.said(*names) if said.value.get_secret_value()]

    def text(self, name: str) -> str | None:
        """What a property says that is no secret; None if it says nothing."""
        return next((said.value.get_secret_value() for said in self.filled(name)), None)

    def secret(self, name: str) -> SecretStr | None:
        return self._values.get(name)


def property_of(where: str) -> str:
    """The property in which something stands: an option is named with it, as `sasl.jaas.config (username)`."""
    return where.partition(" ")[0]


def agreed(what: str, said: Sequence[Said]) -> SecretStr | None:
    """The one value that all of them say; None if nobody says anything."""
    return one_of(what, [(at.where, at.value) for at in said])


def one_of(what: str, said: Sequence[tuple[str, Value]]) -> Value | None:
    """The same for values of any type. The error does not quote them: they may be secret."""
    for where, value in said[1:]:
        if value != said[0][1]:
            raise PropertyError(
                property_of(where),
                f"{said[0][0]} and {where} say two different {what}: keep one of them, or make them equal",
            )
    return said[0][1] if said else None
