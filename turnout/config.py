"""What Turnout is told: the tables, their join, and how to run. `load` gives a Config or all mistakes at once."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from turnout.bus.topics import DEFAULT_PREFIX, LONGEST_NAME
from turnout.config_access import Addresses, AuthConfig, LimitsConfig, Origins, TlsConfig, access_problems
from turnout.config_checks import Problem, join_problems, kafka_problems, reference_problems
from turnout.config_layers import Draft, Key, Mistake, Origin, Shape, nearest, shape_of
from turnout.config_parts import Seconds, Section, Text, one_of, shown
from turnout.errors import ConfigError
from turnout.properties import KafkaProperties, Properties
from turnout.schema import (
    MAX_ROWS,
    ColumnType,
    JoinSchema,
    JoinType,
    Match,
    TableSchema,
    parse_join_type,
    topic_name_problem,
)

FILE_NAME = "turnout.yaml"
_DEFAULT = f"built-in {FILE_NAME}"
# A table <name> is shown as <name>_ui: these would be taken for the tables that Turnout adds itself.
RESERVED_TABLES = ("final", "rejected", "control", "orchestrator")


class Start(StrEnum):
    LATEST = "latest"
    EARLIEST = "earliest"


class Trigger(StrEnum):
    REALTIME = "realtime"
    MICROBATCH = "microbatch"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def _topic(name: str) -> str:
    if problem := topic_name_problem(name):
        raise ValueError(problem)
    return name


def _prefix(prefix: str) -> str:
    if not prefix:
        raise ValueError("must not be empty: topics that begin with it are Turnout's own, and may be deleted")
    if problem := topic_name_problem(prefix + LONGEST_NAME):
        raise ValueError(problem)
    return prefix


def _checkpoints(url: str) -> str:
    if url and not re.match(r"[a-z][a-z0-9+.-]*:/", url):
        raise ValueError("must be a URL, such as s3a://bucket/turnout or file:///mnt/shared/checkpoints")
    return url


def _table_name(name: str) -> str:
    if not (name.isascii() and name.replace("_", "").isalnum() and name[0].isalpha()):
        raise ValueError("a table's name begins with a letter a-z or A-Z and has letters, digits and '_' only")
    if name.lower() in RESERVED_TABLES:
        raise ValueError(f"this name is taken by Turnout's own tables; reserved: {', '.join(RESERVED_TABLES)}")
    return name


def _column_name(name: str) -> str:
    if not name.strip():
        raise ValueError("a column's name must not be empty")
    if name.startswith("_"):
        raise ValueError("a column's name must not begin with '_': such names (_row) are Turnout's own")
    return name


def _directory(value: object) -> object:
    if value == "":
        raise ValueError("must not be empty; . is the working directory")
    try:
        return Path(value).expanduser() if isinstance(value, str) else value
    except RuntimeError:
        raise ValueError(f"{shown(value)} begins with a home directory that is not known") from None


def _join_type(value: object) -> object:
    return parse_join_type(value) if isinstance(value, str) else value


Topic = Annotated[str, AfterValidator(_topic)]
TableName = Annotated[str, AfterValidator(_table_name)]
ColumnName = Annotated[str, AfterValidator(_column_name)]
MaxRows = Annotated[int, Field(ge=1, description="rows of the table; beyond that the keys that changed longest ago go")]


class TableConfig(Section):
    """One side of the join."""

    topic: Topic = Field(description="the topic that is read until a control message names another")
    columns: dict[ColumnName, Annotated[ColumnType, one_of(ColumnType, "a type")]] = Field(
        min_length=1, description="fields taken from each JSON message, in the order in which they are shown"
    )
    keep: int = Field(default=100, ge=1, description="rows kept for one key, the newest win; 1 is an upsert table")
    max_rows: MaxRows = MAX_ROWS
    start: Annotated[Start, one_of(Start, "a start")] = Field(
        default=Start.LATEST, description="where a topic that was not read before is read from"
    )

    def named(self, name: str) -> TableSchema:
        return TableSchema(name, self.columns, self.keep, self.max_rows)


class JoinConfig(Section):
    """What is joined with what, until a control message says otherwise."""

    left: Text = Field(description="the table on the left")
    right: Text = Field(description="the table on the right")
    on: Text = Field(description="the column that both tables share, with the same type: string, long or boolean")
    type: Annotated[JoinType, BeforeValidator(_join_type)] = Field(
        default=JoinType.LEFT, description="the kind of join; natural and left_outer mean left"
    )
    match: Annotated[Match, one_of(Match, "a match")] = Field(
        default=Match.LATEST, description="the rows of the other side that a row of an outer join is shown with"
    )
    max_rows: MaxRows = MAX_ROWS


class ControlConfig(Section):
    topic: Topic = Field(default="control", description="the topic of the control messages")
    kafka: KafkaProperties = Field(
        default=KafkaProperties({}),
        description="properties of the Kafka with the control topic; none: the same as `kafka`",
    )


class ChangelogConfig(Section):
    """The topics that Turnout makes on the bus."""

    prefix: Annotated[str, AfterValidator(_prefix)] = Field(
        default=DEFAULT_PREFIX, description="what the names of its topics on the bus begin with"
    )
    partitions: int = Field(default=1, ge=1, description="partitions of each topic on the bus")
    replication: int = Field(default=0, ge=0, description="copies of each topic on the bus; 0: as its brokers have it")


class SparkConfig(Section):
    master: Text = Field(
        default="local[*]",
        description="Spark's master: a cluster's address, or local[*], which has 128 task slots; local[256] has 256",
    )
    trigger: Annotated[Trigger, one_of(Trigger, "a trigger")] = Field(
        default=Trigger.REALTIME, description="realtime answers in milliseconds; microbatch is the fallback"
    )
    checkpoints: Annotated[str, AfterValidator(_checkpoints)] = Field(
        default="",
        description="where checkpoints are, as a URL that all of Spark's machines see (hdfs, s3a, abfs, file); none: in"
        " the state directory",
    )
    conf: Properties = Field(default=Properties({}), description="any further property of Spark, by its own name")


class SwitchConfig(Section):
    linger_seconds: Seconds = Field(
        default=8, ge=0, description="how long the old generation goes on after a switch, so that going back is instant"
    )
    max_linger_generations: int = Field(default=2, ge=0, description="how many old generations may linger at once")
    ready_timeout_seconds: Seconds = Field(
        default=60, gt=0, description="how long a new generation may take before it is given up and the old one goes on"
    )


class ServeConfig(Section):
    host: Text = Field(default="127.0.0.1", description="the address to listen on; 0.0.0.0 is every one of the machine")
    port: int = Field(default=8400, ge=0, le=65535, description="the port of the page and the API; 0 takes a free one")
    stale_seconds: Seconds = Field(
        default=0,
        ge=0,
        description="how long messages may wait, none coming into the tables, until `/readyz` says 503; 0: for ever",
    )
    auth: AuthConfig = Field(default=AuthConfig(), description="who may come in")
    tls: TlsConfig = Field(default=TlsConfig(), description="how the way here is encrypted")
    origins: Origins = Field(
        default=(), description="origins of other pages that may use the API and its sockets; none if nothing is said"
    )
    proxies: Addresses = Field(
        default=("127.0.0.1",), description="addresses of proxies that are believed when they say who the client is"
    )
    limits: LimitsConfig = Field(default=LimitsConfig(), description="how much a client may ask for")

    @property
    def scheme(self) -> str:
        return "https" if self.tls.certificate else "http"


class LogConfig(Section):
    format: Annotated[LogFormat, one_of(LogFormat, "a format")] = Field(
        default=LogFormat.TEXT, description="how log lines are written: for a person, or as one JSON object each"
    )


@dataclass(frozen=True)
class PublicNames:
    """The names under which the tables are opened: they never change while Turnout runs."""

    left: str
    right: str
    joined: str = "final_ui"
    control: str = "control_raw"
    status: str = "orchestrator_status"
    logs: str = "orchestrator_logs"
    rejected: str = "rejected_ui"

    @property
    def of_turnout(self) -> tuple[str, ...]:
        """Those with rows that Turnout makes; the others have the users' data."""
        return self.control, self.status, self.logs, self.rejected


@dataclass(frozen=True)
class _Written:
    """Where values were written. That is no part of what a config says: two of these are always equal."""

    origin: Callable[[Key], Origin] = field(default=lambda _: Origin("configuration"), compare=False)


class Config(Section):
    """The whole configuration, checked."""

    _written: _Written = PrivateAttr(default=_Written())

    kafka: KafkaProperties = Field(
        description="properties of the Kafka with the data topics, in Java's or librdkafka's spelling"
    )
    tables: dict[TableName, TableConfig] = Field(
        description="the two tables, by name: `<name>` is shown as `<name>_ui`"
    )
    join: JoinConfig = Field(description="what is joined with what")
    control: ControlConfig = Field(default=ControlConfig(), description="where control messages come from")
    bus: KafkaProperties = Field(
        default=KafkaProperties({}),
        description="properties of a Kafka that Turnout may write to; none: its own embedded one",
    )
    changelog: ChangelogConfig = Field(default=ChangelogConfig(), description="the topics on the bus")
    spark: SparkConfig = Field(default=SparkConfig(), description="how Spark runs")
    switch: SwitchConfig = Field(default=SwitchConfig(), description="how generations follow each other")
    serve: ServeConfig = Field(default=ServeConfig(), description="where the page and the API are served")
    log: LogConfig = Field(default=LogConfig(), description="how log lines are written")
    state_dir: Annotated[Path, BeforeValidator(_directory)] = Field(
        default=Path(".turnout"), description="the directory of everything that outlives a restart"
    )

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        problems = [
            *kafka_problems(("kafka",), self.kafka),
            *(kafka_problems(("bus",), self.bus) if self.bus else ()),
            *(kafka_problems(("control", "kafka"), self.control.kafka) if self.control.kafka else ()),
            *reference_problems(("spark", "conf"), self.spark.conf),
            *join_problems(self.tables, self.join, self.control),
            *access_problems(self.serve.auth, self.serve.tls),
        ]
        if problems:
            raise _Misfit(problems)
        return self

    def join_schema(self) -> JoinSchema:
        left, right = (self.tables[name].named(name) for name in (self.join.left, self.join.right))
        return JoinSchema(left, right, self.join.on, self.join.max_rows)

    @property
    def keeps_on_bus(self) -> bool:
        """Whether nothing that a Turnout goes on from is in its state directory."""
        return bool(self.bus and self.spark.checkpoints)

    @property
    def public_names(self) -> PublicNames:
        schema = self.join_schema()
        return PublicNames(left=schema.left.shown_as, right=schema.right.shown_as)

    def written_at(self, *key: str) -> Origin:
        """Where this value comes from, as far as that is known."""
        return self._written.origin(key)

    def masked(self) -> dict[str, Any]:
        """The effective config as plain values, its secrets replaced by `***`."""
        return self.model_dump(mode="json")


def to_yaml(masked: Mapping[str, Any]) -> str:
    """What `Config.masked` gives, as a file that `load` reads back to the same config, but for the secrets."""
    return yaml.dump(_escaped(masked, SHAPE), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Writes texts that are not all printable in double quotes: only there does YAML keep every character."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_str)


def _escaped(value: Any, shape: Shape, *, refers: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _escaped(item, shape.at((name,)), refers=shape.at((name,)).refers or shape.properties is not None)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_escaped(item, shape) for item in value]
    if not isinstance(value, str):
        return value
    # What may refer to files is shown as it has to be written, as far as it speaks of them.
    return re.sub(r"\$\{(?!file:)", "$${", value) if refers else value.replace("${", "$${")


SHAPE = shape_of(Config)
# The default join is between the default tables: a source that has tables of its own must say how they are joined.
_BELONGS: Mapping[Key, Iterable[Key]] = {("tables",): (("join", "left"), ("join", "right"), ("join", "on"))}


def load(
    path: Path | None,
    *,
    env: Mapping[str, str] = os.environ,
    overrides: Mapping[str, object] = MappingProxyType({}),
) -> Config:
    """The config of a file, the environment and the command line, in rising order, over the built-in default.

    Without a path it is `turnout.yaml` of the working directory, if there is one. `overrides` are by dotted path
    (`serve.port`). Raises ConfigError with all mistakes, a line each.
    """
    draft = _built_in(env)
    if path is None and Path(FILE_NAME).exists():
        path = Path(FILE_NAME)
    if path is not None:
        draft.lay_yaml(_read(path), str(path), env)
    draft.lay_environment(env)
    draft.lay_overrides(overrides)
    return _checked(draft)


def built_in(overrides: Mapping[str, object]) -> Config:
    """The built-in default with these, whatever the working directory and the environment have."""
    draft = _built_in({})
    draft.lay_overrides(overrides)
    return _checked(draft)


def _built_in(env: Mapping[str, str]) -> Draft:
    draft = Draft(SHAPE, _BELONGS)
    draft.lay_yaml(resources.files("turnout").joinpath(FILE_NAME).read_text("utf-8"), _DEFAULT, env)
    return draft


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a text in UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: the configuration cannot be read: {reason}") from None


def _checked(draft: Draft) -> Config:
    mistakes = list(draft.mistakes)
    try:
        config = Config.model_validate(draft.values)
    except ValidationError as error:
        known = {mistake.key for mistake in mistakes}
        problems = [problem for details in error.errors() for problem in _problems(details)]
        if not any(isinstance(details.get("ctx", {}).get("error"), _Misfit) for details in error.errors()):
            problems += _problems_of_valid_sections(draft.values)
        mistakes += [Mistake(draft.origin(key), key, text) for key, text in problems if key not in known]
    else:
        if not mistakes:
            config._written = _Written(draft.origin)
            return config
    # By line within the file; the rest, which has no line or is the default's, comes after it.
    mistakes.sort(key=lambda mistake: (not mistake.origin.line, mistake.origin.source == _DEFAULT, mistake.origin.line))
    raise ConfigError("\n".join(map(str, mistakes))) from None


class _Misfit(ValueError):
    """Sections that are right in themselves, but not together."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{'.'.join(key)}: {text}" for key, text in problems))
        self.problems = problems


def _problems(details: ErrorDetails) -> list[Problem]:
    """One of pydantic's errors, in the words of the person who wrote the config."""
    context = details.get("ctx", {})
    error = context.get("error")
    if isinstance(error, _Misfit):
        return error.problems
    key = tuple(str(part) for part in details["loc"] if part != "[key]")
    written = shown(details["input"])
    match details["type"]:
        case "missing":
            text = _missing(key)
        case "extra_forbidden":
            text = f"unknown key; {nearest(key[-1], SHAPE.at(key[:-1]).fields)}"
        case "value_error":
            text = str(error)
        case "dict_type" | "model_type":
            text = "expected a mapping, `key: value`"
        case "string_type" | "path_type":
            text = "expected a plain value, not a section or a list"
        case "string_too_short" | "too_short":
            text = "must not be empty"
        case "int_parsing" | "int_type" | "int_from_float" | "int_parsing_size":
            text = f"{written} is not a whole number"
        case "bool_parsing" | "bool_type":
            text = f"{written} is neither true nor false"
        case "float_parsing" | "float_type" | "finite_number":
            text = f"{written} is not a number"
        case "greater_than_equal":
            text = f"{written} is too small; at least {context['ge']}"
        case "greater_than":
            text = f"{written} is too small; more than {context['gt']}"
        case "less_than_equal":
            text = f"{written} is too large; at most {context['le']}"
        case _:
            text = details["msg"]
    return [(key, text)]


def _missing(key: Key) -> str:
    if key[:1] == ("join",):
        return "missing; a config with its own tables must say join.left, join.right and join.on"
    return "missing"


def _problems_of_valid_sections(values: Mapping[str, object]) -> list[Problem]:
    """What can be said about how the sections fit together although some have mistakes in themselves."""
    problems: list[Problem] = []
    control = values.get("control")
    sections: dict[Key, object] = {("kafka",): values.get("kafka"), ("bus",): values.get("bus")}
    if isinstance(control, dict):
        sections["control", "kafka"] = control.get("kafka")
    for section, written in sections.items():
        properties = _valid_properties(written)
        if properties is not None and (properties or section == ("kafka",)):
            problems += kafka_problems(section, properties)
    tables, join = values.get("tables"), _valid(JoinConfig, values.get("join"))
    if isinstance(tables, dict) and join is not None:
        sides = {name: _valid(TableConfig, table) for name, table in tables.items()}
        problems += join_problems(sides, join, _valid(ControlConfig, control))
    serve = _valid(ServeConfig, values.get("serve"))
    if serve is not None:
        problems += access_problems(serve.auth, serve.tls)
    return problems


def _valid_properties(values: object) -> KafkaProperties | None:
    try:
        return TypeAdapter(KafkaProperties).validate_python(values)
    except ValidationError:
        return None


_AnySection = TypeVar("_AnySection", bound=BaseModel)


def _valid(model: type[_AnySection], values: object) -> _AnySection | None:
    try:
        return model.model_validate(values)
    except ValidationError:
        return None
