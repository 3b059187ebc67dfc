"""The entry of a JAAS configuration (`sasl.jaas.config`): how Java's client is told a login."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from turnout.errors import PropertyError
from turnout.kafka.login.given import Said

JAAS = "sasl.jaas.config"

# Kafka reads an entry with Java's StreamTokenizer: in quotes, a backslash escapes, and a line's end ends the text.
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEAD = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
_OPTION = re.compile(
    r"""\s*(?P<name>[\w.$-]+)\s*=\s*
        (?: "(?P<double>(?:[^"\\\r\n]|\\.)*)" | '(?P<single>(?:[^'\\\r\n]|\\.)*)' | (?P<bare>[^\s"';=]+) )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class JaasEntry:
    """A login module and its options, any of which may be a secret."""

    module: str
    options: Mapping[str, SecretStr]

    @property
    def module_name(self) -> str:
        """Without the package: some Spark distributions ship Kafka's classes under another one."""
        return self.module.rpartition(".")[2]

    def said(self, option: str) -> list[Said]:
        """What this option says, if it is given."""
        return [Said(at(option), self.options[option])] if option in self.options else []


NO_ENTRY = JaasEntry("", {})


def at(option: str) -> str:
    """Where an option stands, for a person."""
    return f"{JAAS} ({option})"


def render_jaas(module: str, options: Mapping[str, str]) -> str:
    """The entry as a `sasl.jaas.config`."""
    written = (f'{name}="{"".join(_ESCAPED.get(char, char) for char in value)}"' for name, value in options.items())
    return f"{module} required {' '.join(written)};"


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of a `sasl.jaas.config`. The errors never quote it: the password may be anywhere in it."""
    head = _HEAD.match(text)
    if head is None:
        raise PropertyError(JAAS, f'{JAAS} must look like: <login module> required username="…" password="…";')
    options: dict[str, SecretStr] = {}
    end = head.end()
    while option := _OPTION.match(text, end):
        quoted = option["double"] if option["double"] is not None else option["single"]
        options[option["name"]] = SecretStr(option["bare"] if quoted is None else _unescape(quoted))
        end = option.end()
    if text[end:].strip() != ";":
        raise PropertyError(
            JAAS,
            f"{JAAS} cannot be read after its option {len(options)}: options look like "
            'name="value", a quote or backslash in a value has a backslash before it, and the last is followed by ;',
        )
    return JaasEntry(head["module"], options)


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if code[0] in "01234567" else _UNESCAPED.get(code, code)

    return re.sub(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", plain, text, flags=re.DOTALL)
