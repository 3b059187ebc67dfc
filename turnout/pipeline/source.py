"""One topic's records as rows of one side: parsed, typed, keyed; what cannot be used is told apart, with a reason.

Written as SQL: Spark then analyses the whole query once, which a switch would otherwise wait for at each step.
"""

from collections.abc import Mapping

from turnout.schema import ColumnType, TableSchema

SQL_TYPES: Mapping[ColumnType, str] = {
    ColumnType.STRING: "string",
    ColumnType.LONG: "bigint",
    ColumnType.DOUBLE: "double",
    ColumnType.BOOLEAN: "boolean",
}

# Real-time mode cannot send rejected records out by a side branch, so they pass through the same grouping, each in
# a slot of a ring of this size per partition: the state stays bounded, and `rejected_ui` shows no more than this.
REJECTED_SLOTS = 10_000
REJECTED_VALUE_CHARS = 1024
REASON_VALUE_CHARS = 64

# Spark's parser is lenient by default; NaN, Infinity and 'single quotes' are no JSON.
_JSON_OPTIONS = (
    "map('columnNameOfCorruptRecord', 'corrupt', 'allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false')"
)


def rows_of(records: str, table: TableSchema, key: str) -> str:
    """The query that makes rows of the Kafka records in the view `records`.

    Columns: k and row for a usable record; slot and rejected for one that is not.
    """
    columns = _struct({name: SQL_TYPES[kind] for name, kind in table.columns.items()})
    second_look = ", ".join(f"IF(usable, NULL, {again}) AS {name}" for name, again in _second_look(table).items())
    return f"""
        SELECT IF(usable, json.v.{quoted(key)}, NULL) AS k,
               IF(usable, NULL, concat_ws('/', topic, partition, offset % {REJECTED_SLOTS})) AS slot,
               IF(usable, struct(json.v AS v, millis AS t, offset AS o, partition AS p), NULL) AS row,
               IF(usable, NULL, {_rejected(table)}) AS rejected
        FROM (SELECT *, {second_look}
        FROM (SELECT *, {_usable(table)} AS usable
        FROM (SELECT *, {_from_json(columns)} AS json
        FROM (SELECT topic, partition, offset, unix_millis(timestamp) AS millis, CAST(value AS string) AS text
        FROM {quoted(records)}))))"""


def _from_json(value_type: str) -> str:
    """The value as `v`, inside a wrapper: Spark's parser stops after the first object it sees and would not notice
    what follows it; inside a wrapper anything but one whole value is a syntax error."""
    schema = _literal(f"v {value_type}, corrupt string")
    return f"""from_json(concat('{{"v":', text, '}}'), {schema}, {_JSON_OPTIONS})"""


def _usable(table: TableSchema) -> str:
    infinite = [_is_infinite(name) for name, kind in table.columns.items() if kind is ColumnType.DOUBLE]
    conditions = [
        "json.corrupt IS NULL",
        "json.v IS NOT NULL",
        "is_valid_utf8(text)",
        *(f"NOT {it}" for it in infinite),
    ]
    return f"coalesce({' AND '.join(conditions)}, false)"


def _is_infinite(name: str) -> str:
    """1e999 is JSON, but no double: Spark reads it as infinity."""
    return f"coalesce(abs(json.v.{quoted(name)}) = double('infinity'), false)"


def _second_look(table: TableSchema) -> Mapping[str, str]:
    """The value with every field as text, which shows a field that does not fit; and as any JSON at all.

    Only rejected records pay for these."""
    return {
        "fields": _from_json(_struct(dict.fromkeys(table.columns, "string"))),
        "anything": _from_json("string"),
    }


def _rejected(table: TableSchema) -> str:
    value = f"substring(make_valid_utf8(text), 1, {REJECTED_VALUE_CHARS})"
    return f"struct(millis AS ts, topic, partition, offset, {_reason(table)} AS reason, {value} AS value)"


def _reason(table: TableSchema) -> str:
    misfits = (
        f"WHEN fields.v.{quoted(name)} IS NOT NULL AND (json.v.{quoted(name)} IS NULL{_or_infinite(name, kind)}) "
        f"THEN concat({_literal(f'field {name}: ')}, substring(fields.v.{quoted(name)}, 1, {REASON_VALUE_CHARS}), "
        f"{_literal(f' is not a {kind}')})"
        for name, kind in table.columns.items()
    )
    return f"""CASE
        WHEN text IS NULL OR trim(text) = '' THEN 'empty value'
        WHEN NOT is_valid_utf8(text) THEN 'not UTF-8'
        WHEN anything.corrupt IS NOT NULL THEN 'not JSON'
        {" ".join(misfits)}
        ELSE 'not a JSON object' END"""


def _or_infinite(name: str, kind: ColumnType) -> str:
    return f" OR {_is_infinite(name)}" if kind is ColumnType.DOUBLE else ""


def _struct(types: Mapping[str, str]) -> str:
    return f"struct<{', '.join(f'{quoted(name)}: {kind}' for name, kind in types.items())}>"


def quoted(name: str) -> str:
    """A name in SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
