"""A secret of the config: read when it is needed, and never shown."""

from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from turnout.properties import MASK
from turnout.references import parse


class Secret:
    """Its text may be in a file (`${file:…}`, `file:/…`); printed, dumped or logged it is masked, its file is not."""

    def __init__(self, text: str) -> None:
        """`text` as a person wrote it."""
        self._value = parse(text, is_secret=True)

    def read(self) -> str:
        """What it is now. Raises ConfigError if its file cannot be read."""
        return self._value.read()

    def masked(self) -> str:
        return self._value.written(MASK)

    def __bool__(self) -> bool:
        return bool(self._value.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.masked()!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            lambda value, written: value if isinstance(value, cls) else cls(written(value)),
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(cls.masked),
        )
