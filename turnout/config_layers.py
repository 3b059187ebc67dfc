"""Where the config's values come from: YAML files, the environment, the command line; a later one wins.

Every source is laid over the draft value by value, each with its origin, so that a mistake can be reported where it
was made. Values are kept as the text that was written (`017` stays `017`, and the key `on` is not YAML's "true"):
the models in turnout.config decide what a text means.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel

from turnout.properties import Properties
from turnout.references import escaped
from turnout.secret import Secret

Key = tuple[str, ...]
ENV_PREFIX = "TURNOUT_"
# Read elsewhere: where the Java parts are cached, which file to load, where a test wants the process to die, and what a
# client logs in with.
_OTHER_VARIABLES = {"TURNOUT_CACHE", "TURNOUT_CONFIG", "TURNOUT_CRASH_AT", "TURNOUT_IVY_SETTINGS", "TURNOUT_TOKEN"}
# Kubernetes gives every container such variables about a service called turnout or turnout-…: none of them is ours.
_KUBERNETES_NAME = re.compile(r"TURNOUT_(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_KUBERNETES_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


class Origin(NamedTuple):
    """Where a value was written."""

    source: str
    line: int = 0  # 0: the source has no lines

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class Mistake(NamedTuple):
    """One line of a ConfigError."""

    origin: Origin
    key: Key
    text: str

    def __str__(self) -> str:
        line = ": ".join([str(self.origin), *([".".join(self.key)] if self.key else []), self.text])
        # A name may hold anything, and it must not break the line.
        return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)


class Entry(NamedTuple):
    """One value of a source, or the begin of a section (None)."""

    key: Key
    value: str | list[str] | None
    origin: Origin


@dataclass(frozen=True)
class Shape:
    """What may stand at a place of the config; the shapes of all places are read off the models."""

    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None  # of a section whose keys are the user's: tables, columns, properties
    properties: type[Properties] | None = None
    refers: bool = False  # a value that may stand in a file

    @property
    def is_section(self) -> bool:
        return bool(self.fields) or self.items is not None

    def at(self, key: Key) -> "Shape":
        """The shape of a place below this one; of an unknown place, a plain value's."""
        shape = self
        for part in key:
            shape = shape.fields.get(part) or shape.items or VALUE
        return shape


VALUE = Shape()


def shape_of(annotation: object) -> Shape:
    """The shape of a model, or of the type of one of its fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(fields={name: shape_of(info.annotation) for name, info in annotation.model_fields.items()})
    if isinstance(annotation, type) and issubclass(annotation, Properties):
        return Shape(items=VALUE, properties=annotation)
    if annotation is Secret:
        return Shape(refers=True)
    if get_origin(annotation) is dict:
        return Shape(items=shape_of(get_args(annotation)[1]))
    return VALUE


def nearest(word: str, known: Iterable[str]) -> str:
    """What the person who wrote a word that is not known may have meant."""
    names = list(known)
    close = get_close_matches(word.lower(), names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(names)}"


class Draft:
    """The config before it is checked: values as text, their origins, and the mistakes found on the way.

    `belongs` names values that mean nothing without another: when a later source gives `tables` anew, the join's
    sides that an earlier one named are dropped with the earlier tables.
    """

    def __init__(self, shape: Shape, belongs: Mapping[Key, Iterable[Key]]) -> None:
        self.shape = shape
        self.values: dict[str, object] = {}
        self.mistakes: list[Mistake] = []
        self._belongs = belongs
        self._origins: dict[Key, Origin] = {}
        self._layers: dict[Key, int] = {}
        self._layer = 0  # the sources laid so far; all variables are one, and so are all options

    def origin(self, key: Key) -> Origin:
        """Where the value was written, or else the nearest section around it."""
        while key and key not in self._origins:
            key = key[:-1]
        return self._origins.get(key, Origin("configuration"))

    def lay_yaml(self, text: str, source: str, env: Mapping[str, str]) -> None:
        """Lay a file's text over what is there, with `${NAME}` filled in from env."""
        self._layer += 1
        reader = _YamlReader(source, self.shape, fill=_fill_from(env))
        self._lay(reader.entries(text))
        self.mistakes += reader.mistakes

    def lay_environment(self, env: Mapping[str, str]) -> None:
        """Lay `TURNOUT_…` variables over what is there: sections first, then what is in them."""
        self._layer += 1
        for name in sorted(filter(_is_ours, env), key=lambda name: (name.count("__"), name)):
            value = env[name]
            if value and not ("__" not in name and _KUBERNETES_ADDRESS.match(value)):
                self._lay_one(Origin(f"environment {name}"), name.removeprefix(ENV_PREFIX), "__", value)

    def lay_overrides(self, overrides: Mapping[str, object]) -> None:
        """Lay values of the command line, by dotted path, over what is there; None is an option that was not given."""
        self._layer += 1
        for path, value in overrides.items():
            if value is not None:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                self._lay_one(Origin("command line"), path, ".", text)

    def _lay_one(self, origin: Origin, path: str, separator: str, text: str) -> None:
        try:
            key = self._find(path.split(separator), separator)
        except LookupError as error:
            self.mistakes.append(Mistake(origin, (), str(error.args[0])))
            return
        if not self.shape.at(key).is_section:
            self._lay([Entry(key, text, origin)])
            return
        reader = _YamlReader(origin.source, self.shape, fill=None)
        self._lay(reader.entries(text, at=key))
        self.mistakes += reader.mistakes

    def _find(self, parts: list[str], separator: str) -> Key:
        """The key that a variable's or an option's path names: upper and lower case count as the same."""
        shape, here, key = self.shape, self.values, Key()
        while parts:
            if shape.properties is not None:
                return (*key, _property_name(shape.properties, parts, here))
            if not shape.is_section:
                raise LookupError(f"{'.'.join(key)} is a single value, there is nothing below it")
            if shape.items == VALUE:  # columns: what is left is one name, even if the separator is in it
                parts = [separator.join(parts)]
            word, *parts = parts
            known = [*shape.fields] or [*here]
            name = next((name for name in known if name.lower() == word.lower()), None)
            if name is None:
                raise LookupError(f"unknown key{' in ' + '.'.join(key) if key else ''}; {nearest(word, known)}")
            key, shape = (*key, name), shape.at((name,))
            below = here.get(name)
            here = below if isinstance(below, dict) else {}
        return key

    def _lay(self, entries: Iterable[Entry]) -> None:
        for key, value, origin in entries:
            section = self._section(key[:-1])
            if section is None:
                continue  # a plain value stands where a section should: the models will say so
            if value is not None:
                section[key[-1]] = value
            elif self.shape.at(key).items is not None or not isinstance(section.get(key[-1]), dict):
                section[key[-1]] = {}
                self._forget(key, origin)
            self._note(key, origin)

    def _note(self, key: Key, origin: Origin) -> None:
        self._origins[key], self._layers[key] = origin, self._layer

    def _section(self, key: Key) -> dict[str, object] | None:
        here = self.values
        for part in key:
            below = here.setdefault(part, {})
            if not isinstance(below, dict):
                return None
            here = below
        return here

    def _forget(self, key: Key, origin: Origin) -> None:
        """The section begins anew: drop what earlier sources said about it and about what belongs to it."""
        for old in [old for old in self._origins if old[: len(key)] == key]:
            del self._origins[old]
        for other in self._belongs.get(key, ()):
            section = self._section(other[:-1])
            if section is not None and self._layers.get(other, self._layer) < self._layer:
                section.pop(other[-1], None)
                del self._origins[other]
                if self._layers[other[:-1]] < self._layer:
                    self._note(other[:-1], origin)  # what is missing now is missing because of this section


def _is_ours(name: str) -> bool:
    return name.startswith(ENV_PREFIX) and name not in _OTHER_VARIABLES and not _KUBERNETES_NAME.fullmatch(name)


def _property_name(properties: type[Properties], parts: list[str], present: Iterable[str]) -> str:
    """`BOOTSTRAP__SERVERS` or `bootstrap.servers`; capitals that are not a property's own become small."""
    name = properties.spelled(".".join(parts))
    known = next((other for other in present if other.lower() == name.lower()), None)
    return known or (name.lower() if name.isupper() else name)


class _YamlReader:
    """Turns a YAML text into entries, with the line of each key."""

    def __init__(self, source: str, shape: Shape, fill: "Fill | None") -> None:
        self.mistakes: list[Mistake] = []
        self._source = source
        self._shape = shape
        self._fill = fill

    def entries(self, text: str, at: Key = ()) -> Iterator[Entry]:
        node = self._compose(text)
        if node is None:
            return
        if not isinstance(node, yaml.MappingNode):
            self._mistake(node, at, "expected a mapping, `key: value`")
            return
        if at:
            yield Entry(at, None, self._origin(node))
        yield from self._section(node, at, ())

    def _compose(self, text: str) -> yaml.Node | None:
        try:
            node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line, problem = (error.problem_mark.line + 1 if error.problem_mark else 0), _syntax(error)
        except yaml.reader.ReaderError as error:
            line, problem = text.count("\n", 0, error.position) + 1, "a character that YAML does not allow"
        except RecursionError:
            line, problem = 0, "sections are nested too deep"
        else:
            return node
        self.mistakes.append(Mistake(self._at_line(line), (), problem))
        return None

    def _section(self, node: yaml.MappingNode, key: Key, around: tuple[yaml.Node, ...]) -> Iterator[Entry]:
        shape = self._shape.at(key)
        lines: dict[str, int] = {}
        for name_node, value in node.value:
            origin = self._origin(name_node)
            if not isinstance(name_node, yaml.ScalarNode):
                self._mistake(name_node, key, "a key must be a plain text")
                continue
            name = shape.properties.spelled(name_node.value) if shape.properties else name_node.value
            if name in lines:
                self._mistake(name_node, (*key, name), f"given twice, first in line {lines[name]}")
                continue
            lines[name] = name_node.start_mark.line + 1
            yield from self._value(value, (*key, name), origin, (*around, node))

    def _value(self, node: yaml.Node, key: Key, origin: Origin, around: tuple[yaml.Node, ...]) -> Iterator[Entry]:
        if any(node is outer for outer in around):
            self._mistake(node, key, "refers to the section that it is in")
        elif not node.tag.startswith("tag:yaml.org,2002:"):
            self._mistake(node, key, "a value that begins with '!' must be put in quotes")
        elif isinstance(node, yaml.MappingNode):
            yield Entry(key, None, origin)
            yield from self._section(node, key, around)
        elif isinstance(node, yaml.SequenceNode):
            yield Entry(key, [self._text(item, key) for item in node.value], origin)
        elif node.tag.endswith(":null") and self._shape.at(key).is_section:
            yield Entry(key, None, origin)
        else:
            yield Entry(key, self._text(node, key), origin)

    def _text(self, node: yaml.Node, key: Key) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._mistake(node, key, "a list of plain values is as deep as it goes")
            return ""
        kind = node.tag.rpartition(":")[2]
        text = "" if kind == "null" else str(node.value)
        if kind == "bool" and text.lower() in ("true", "false"):  # YAML 1.2: yes, no, on and off are words
            return text.lower()
        try:
            return self._fill(text, self._refers(key)) if self._fill else text
        except ValueError as error:
            self._mistake(node, key, str(error))
            return text

    def _refers(self, key: Key) -> bool:
        return self._shape.at(key).refers or self._shape.at(key[:-1]).properties is not None

    def _mistake(self, node: yaml.Node, key: Key, text: str) -> None:
        self.mistakes.append(Mistake(self._origin(node), key, text))

    def _origin(self, node: yaml.Node) -> Origin:
        return self._at_line(node.start_mark.line + 1)

    def _at_line(self, line: int) -> Origin:
        return Origin(self._source, line if self._fill else 0)  # a variable is one line


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """What the parser says, without the pieces of the file that it quotes: one may be part of a password."""
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return f"not valid YAML: {re.sub(_QUOTED, _hide, said)}; a value with special characters must be put in quotes"


_QUOTED = re.compile(r"""(['"])(.*?)\1""")


def _hide(quoted: re.Match[str]) -> str:
    """A single character and the kind of a token (<block end>) are the parser's own words."""
    return quoted[0] if len(quoted[2]) == 1 or quoted[2].startswith("<") else "'…'"


Fill = Callable[[str, bool], str]
"""Of a text, and whether it may refer to files, as a property's value may."""


def _fill_from(env: Mapping[str, str]) -> Fill:
    """A function that puts the environment's values in place of `${NAME}`, and `${` in place of `$${`.

    In a property's value, `${file:…}` stays, and so does the `$${file:` that is none: properties read files themselves.
    """

    def fill(text: str, in_property: bool) -> str:
        def replace(found: re.Match[str]) -> str:
            if found["plain"]:
                return found[0] if in_property and found["file"] else found[0][1:]
            name = found["name"]
            if in_property and found["end"] and re.fullmatch("file:.+", name, re.DOTALL):
                return found[0]
            value = _variable(name if found["end"] else "", env)
            return escaped(value) if in_property else value

        return re.sub(r"(?P<plain>\$\$\{(?P<file>file:)?)|\$\{(?P<name>[^}]*)(?P<end>\}?)", replace, text)

    return fill


def _variable(name: str, env: Mapping[str, str]) -> str:
    if name.startswith("file:"):
        raise ValueError("'${file:' needs a path and '}', and stands only in properties, as in kafka")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("'${' must be followed by the name of an environment variable and '}'; '$${' is a plain '${'")
    if name not in env:
        raise ValueError(f"the environment variable {name} is not set ('$${{' is a plain '${{')")
    return env[name]
