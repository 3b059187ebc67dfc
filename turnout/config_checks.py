"""Checks of how the sections of the config fit together: each gives the key and what is wrong with it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from turnout.errors import PropertyError
from turnout.kafka.login.mistakes import mistakes_in
from turnout.properties import Properties
from turnout.schema import ColumnType, JoinSchema

if TYPE_CHECKING:
    from turnout.config import ControlConfig, JoinConfig, TableConfig

Problem = tuple[tuple[str, ...], str]


def kafka_problems(section: tuple[str, ...], properties: Properties) -> Iterator[Problem]:
    """What is wrong with the properties of a Kafka, as far as it can be told without it."""
    unreadable = list(reference_problems(section, properties))
    if unreadable:
        yield from unreadable
        return
    if not properties.get("bootstrap.servers"):
        text = "missing; a broker's address, or several with commas: host:port,host:port"
        yield (*section, "bootstrap.servers"), text
    for mistake in mistakes_in(properties):
        yield (*section, mistake.name), str(mistake)


def reference_problems(section: tuple[str, ...], properties: Properties) -> Iterator[Problem]:
    """Values that refer to a file which cannot be read."""
    for name in properties:
        try:
            properties[name]
        except PropertyError as error:
            yield (*section, name), str(error).removeprefix(f"{name}: ")


def join_problems(
    tables: "Mapping[str, TableConfig | None]", join: "JoinConfig", control: "ControlConfig | None"
) -> Iterator[Problem]:
    """What is wrong between the tables and their join; None stands for a section that is wrong in itself."""
    if join.left == join.right:
        yield ("join", "right"), f"{join.right!r} is join.left already; two different tables are joined"
    for side, name in (("left", join.left), ("right", join.right)):
        if name not in tables:
            yield ("join", side), f"there is no table {name!r}; tables: {', '.join(tables) or 'none'}"
    yield from _table_problems(tables, join)
    yield from _topic_problems(tables, control)
    left, right = tables.get(join.left), tables.get(join.right)
    yield from _key_problems(join, {join.left: left, join.right: right})
    if left and right and left is not right:
        yield from _name_problems(JoinSchema(left.named(join.left), right.named(join.right), join.on))


def _table_problems(tables: "Mapping[str, TableConfig | None]", join: "JoinConfig") -> Iterator[Problem]:
    seen: dict[str, str] = {}
    joined = {join.left, join.right} & set(tables)
    for name in tables:
        if len(joined) == 2 and name not in joined:  # else the join's own mistake explains it
            yield ("tables", name), f"not part of the join of {join.left!r} and {join.right!r}; remove it"
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield ("tables", name), f"differs from the table {other!r} by upper and lower case only"


def _topic_problems(tables: "Mapping[str, TableConfig | None]", control: "ControlConfig | None") -> Iterator[Problem]:
    owners: dict[str, str] = {}
    topics: dict[tuple[str, ...], str] = {
        ("tables", name, "topic"): table.topic for name, table in tables.items() if table
    }
    if control and not control.kafka:  # on another Kafka, its name is its own
        topics["control", "topic"] = control.topic
    for key, topic in topics.items():
        other = owners.setdefault(topic, ".".join(key))
        if other != ".".join(key):
            yield key, f"{topic!r} is the topic of {other.removesuffix('.topic')} already; each needs its own"


def _key_problems(join: "JoinConfig", sides: "Mapping[str, TableConfig | None]") -> Iterator[Problem]:
    types = {}
    for name, table in sides.items():
        if table and join.on not in table.columns:
            yield ("join", "on"), f"{join.on!r} is not a column of {name}; its columns: {', '.join(table.columns)}"
        elif table:
            types[name] = table.columns[join.on]
    if ColumnType.DOUBLE in types.values():
        yield (
            ("join", "on"),
            f"{join.on!r} is a double, and doubles that look the same may differ: join on a string, long or boolean",
        )
    elif len(set(types.values())) > 1:
        shown = " and ".join(f"{kind} in {name}" for name, kind in types.items())
        yield ("join", "on"), f"{join.on!r} is {shown}; both must have the same type"


def _name_problems(schema: JoinSchema) -> Iterator[Problem]:
    """Right columns whose names are taken in the join, even after the table's name was put before them."""
    taken = set(schema.left.columns)
    for column, shown in schema.right_names.items():
        if shown in taken:
            what = f"would be shown as {shown!r}" if shown != column else "is a name"
            yield (
                ("tables", schema.right.name, "columns", column),
                f"{what} in the join, which another column has already; rename one of them",
            )
        taken.add(shown)
