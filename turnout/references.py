"""References to files in a value: `${file:/run/secrets/password}` anywhere in it, and a secret that is `file:/…` alone.

What a value holds is read when it is asked for, so a file that changes is a value that changes. The reference itself is
no secret. `$${file:` is a plain `${file:`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from turnout.errors import ConfigError

_PART = re.compile(r"(?P<plain>\$\$\{file:)|\$\{file:(?P<path>[^}]+)\}")
_WHOLE = re.compile(r"file:(?P<path>/.+)", re.DOTALL)


@dataclass(frozen=True)
class FileReference:
    path: str
    written: str

    def read(self) -> str:
        """What the file holds, without its last line's end. An error never says what that is."""
        try:
            text = Path(self.path).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ConfigError(f"the file {self.path} is not a text in UTF-8") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"the file {self.path} cannot be read: {reason}") from None
        if not (text := text.removesuffix("\n").removesuffix("\r")):
            raise ConfigError(f"the file {self.path} is empty")
        return text


@dataclass(frozen=True)
class Value:
    """A value as it was written: plain texts and references. Its parts may be secret."""

    parts: tuple[str | FileReference, ...]

    @property
    def files(self) -> frozenset[str]:
        return frozenset(part.path for part in self.parts if isinstance(part, FileReference))

    def read(self) -> str:
        return "".join(part if isinstance(part, str) else part.read() for part in self.parts)

    def written(self, mask: str | None = None) -> str:
        """As it was written; with a mask, that stands in place of each plain text."""
        return "".join(self._written(part, mask) for part in self.parts)

    @staticmethod
    def _written(part: str | FileReference, mask: str | None) -> str:
        if isinstance(part, FileReference):
            return part.written
        return escaped(part) if mask is None else mask

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.written('***')!r})"


def plain(text: str) -> Value:
    """A text that is what it is, whatever it looks like."""
    return Value((text,) if text else ())


def parse(text: str, *, is_secret: bool) -> Value:
    """A value as a person wrote it."""
    if is_secret and (whole := _WHOLE.fullmatch(text)):
        return Value((FileReference(whole["path"], text),))
    parts: list[str | FileReference] = []
    end, waiting = 0, ""
    for found in _PART.finditer(text):
        waiting += text[end : found.start()]
        end = found.end()
        if found["plain"]:
            waiting += found[0][1:]
            continue
        parts += [waiting] * bool(waiting) + [FileReference(found["path"], found[0])]
        waiting = ""
    waiting += text[end:]
    return Value((*parts, *([waiting] if waiting else [])))


def escaped(text: str) -> str:
    """A plain text as it has to be written."""
    return text.replace("${file:", "$${file:")
