"""Sample messages for any pair of tables: readable values, made up from the types and names of the columns.

A key keeps its texts (a person does not change names) while its numbers move, so that rows update and match.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from turnout.schema import ColumnType, JoinSchema, TableSchema

KEYS = 60
"""Of each table: few enough to watch, and each changes every few seconds."""

UNMATCHED = 10
"""Keys of either table that the other lacks, so that the types of join differ."""

Row = dict[str, object]


@dataclass(frozen=True)
class Flavour:
    """What makes one set of samples look different from another."""

    first_key: int
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    domain: str
    kinds: tuple[str, ...]


FLAVOURS = (
    Flavour(
        1,
        ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Radia", "John"),
        ("Ahlgren", "Berg", "Castro", "Dufour", "Eriksen", "Fontana"),
        "example.com",
        ("basic", "standard", "premium"),
    ),
    Flavour(
        5001,
        ("Wolfgang", "Clara", "Ludwig", "Fanny", "Johann", "Amy", "Franz", "Nadia", "Maria", "Ethel"),
        ("Okafor", "Pereira", "Quist", "Rossi", "Sato", "Tamm"),
        "example.org",
        ("business", "partner", "trial"),
    ),
)

# By a word in the column's name.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "city": ("Amsterdam", "Bergen", "Cádiz", "Dublin", "Essen", "Florence", "Ghent"),
    "country": ("BE", "DE", "ES", "IE", "IT", "NL", "NO"),
    "currency": ("EUR", "GBP", "NOK", "USD"),
    "status": ("new", "open", "paid", "closed"),
}
_LONGS: Mapping[str, tuple[int, int]] = {
    "age": (18, 90),
    "year": (1990, 2030),
    "quantity": (1, 20),
    "count": (0, 500),
}
_ANY_LONG = (0, 1_000)
_DOUBLES: Mapping[str, tuple[float, float]] = {
    "price": (1, 500),
    "percent": (0, 100),
    "rate": (0, 1),
    "ratio": (0, 1),
}
_ANY_DOUBLE = (-200.0, 12_000.0)


class Samples:
    """Messages for both tables of a join, of one flavour; the same seed gives the same messages."""

    def __init__(self, schema: JoinSchema, flavour: Flavour, seed: int = 0) -> None:
        self._schema, self._flavour = schema, flavour
        self._random = random.Random(seed)
        self._rows: dict[tuple[str, int], Row] = {}

    def every_left(self) -> list[Row]:
        """One message for each key of the left table."""
        return [self._next(self._schema.left, number) for number in range(KEYS)]

    def every_right(self) -> list[Row]:
        return [self._next(self._schema.right, number) for number in range(UNMATCHED, UNMATCHED + KEYS)]

    def left(self) -> Row:
        """The next message of some key."""
        return self._next(self._schema.left, self._random.randrange(KEYS))

    def right(self) -> Row:
        return self._next(self._schema.right, UNMATCHED + self._random.randrange(KEYS))

    def _next(self, table: TableSchema, number: int) -> Row:
        before = self._rows.get((table.name, number))
        row = {
            name: self._key(kind, number) if name == self._schema.key else self._value(name, kind, number, before)
            for name, kind in table.columns.items()
        }
        self._rows[table.name, number] = row
        return row

    def _key(self, kind: ColumnType, number: int) -> object:
        number += self._flavour.first_key
        match kind:
            case ColumnType.LONG:
                return number
            case ColumnType.BOOLEAN:
                return number % 2 == 0
            case _:
                return f"{self._schema.key[0].lower()}{number:04}"

    def _value(self, name: str, kind: ColumnType, number: int, before: Row | None) -> object:
        last = before[name] if before else None
        match kind:
            case ColumnType.STRING:
                return last or self._text(name, number)
            case ColumnType.LONG:
                return self._long(name, last)
            case ColumnType.DOUBLE:
                return self._double(name, last)
            case ColumnType.BOOLEAN:
                return self._random.random() < 0.5

    def _text(self, name: str, number: int) -> str:
        flavour = self._flavour
        first = flavour.first_names[number % len(flavour.first_names)]
        last = flavour.last_names[number // len(flavour.first_names) % len(flavour.last_names)]
        mail = f"{first}.{last}@{flavour.domain}".lower()
        texts = {**_TEXTS, "name": (f"{first} {last}",), "mail": (mail,), "email": (mail,), "type": flavour.kinds}
        return self._random.choice(_hinted(texts, name, (f"{name} {flavour.first_key + number}",)))

    def _long(self, name: str, last: object) -> int:
        low, high = _hinted(_LONGS, name, _ANY_LONG)
        if isinstance(last, int):
            return last + 1 if last < high else low
        return self._random.randint(low, high)

    def _double(self, name: str, last: object) -> float:
        low, high = _hinted(_DOUBLES, name, _ANY_DOUBLE)
        if isinstance(last, float):
            step = (high - low) / 50
            return round(min(high, max(low, last + self._random.uniform(-step, step))), 2)
        return round(self._random.uniform(low, high), 2)


_Hinted = TypeVar("_Hinted")


def _hinted(hints: Mapping[str, _Hinted], name: str, otherwise: _Hinted) -> _Hinted:
    return next((hints[word] for word in _words(name) if word in hints), otherwise)


def _words(name: str) -> list[str]:
    """`accountType`, `account_type` and `AccountType` are two words; a hint is a whole word: `message` has no age."""
    return re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())
