"""What the sections of the config are made of."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    # Inputs are hidden in pydantic's own texts because one may be a password.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def one_of(choices: type[StrEnum], noun: str) -> BeforeValidator:
    """Takes one of the words of an enum, and says which they are where it is none of them."""

    def parse(value: object) -> StrEnum:
        if isinstance(value, str) and value in list(choices):
            return choices(value)
        raise ValueError(f"{shown(value)} is not {noun}; allowed: {', '.join(choices)}")

    return BeforeValidator(parse)


def shown(value: object) -> str:
    """A value in an error's text: cut, for a whole file may have been pasted into it."""
    return repr(value[:60]) if isinstance(value, str) else "this"


def _split(value: object) -> object:
    """A variable is one text: there, commas stand between the words."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Words = Annotated[tuple[Text, ...], BeforeValidator(_split)]
