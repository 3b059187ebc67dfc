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

REJECTED_VALUE_CHARS = 1024
REASON_VALUE_CHARS = 64

# Spark's parser is lenient by default; NaN, Infinity and 'single quotes' are no JSON.
_JSON_OPTIONS = (
    "map('columnNameOfCorruptRecord', 'corrupt', 'allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false')"
)


def rows_of(records: str, table: TableSchema) -> str:
    """The query that makes rows of the Kafka records in the view `records`.

    Columns: row for a usable record; rejected for one that is not.
    """
    columns = _struct({name: SQL_TYPES[kind] for name, kind in table.columns.items()})
    return f"""
        SELECT IF({_usable(table)}, struct(json.v AS v, {_MILLIS} AS t, offset AS o, partition AS p), NULL) AS row,
               IF({_usable(table)}, NULL, {_rejected(table)}) AS rejected
        FROM (SELECT topic, partition, offset, timestamp, value, {_from_json(columns)} AS json
              FROM {quoted(records)})"""


# Each SELECT that Spark cannot merge with the next one copies every record once more, and is more code to compile when
# the pipeline starts: what is cheap is written where it is needed instead.
_TEXT = "CAST(value AS string)"
_MILLIS = "unix_millis(timestamp)"


def _from_json(value_type: str) -> str:
    """The value as `v`, inside a wrapper: Spark's parser stops after the first object it sees and would not notice
    what follows it; inside a wrapper anything but one whole value is a syntax error."""
    schema = _literal(f"v {value_type}, corrupt string")
    return f"""from_json(concat('{{"v":', {_TEXT}, '}}'), {schema}, {_JSON_OPTIONS})"""


def _usable(table: TableSchema) -> str:
    infinite = [_is_infinite(name) for name, kind in table.columns.items() if kind is ColumnType.DOUBLE]
    conditions = [
        "json.corrupt IS NULL",
        "json.v IS NOT NULL",
        f"is_valid_utf8({_TEXT})",
        *(f"NOT {it}" for it in infinite),
    ]
    return f"coalesce({' AND '.join(conditions)}, false)"


def _is_infinite(name: str, json: str = "json") -> str:
    """1e999 is JSON, but no double: Spark reads it as infinity."""
    return f"coalesce(abs({json}.v.{quoted(name)}) = double('infinity'), false)"


def _rejected(table: TableSchema) -> str:
    """Only rejected records pay for a second look: the value with every field as text, which shows one that does not
    fit; and as any JSON at all."""
    fields = _from_json(_struct(dict.fromkeys(table.columns, "string")))
    reason = _let({"text": _TEXT, "json": "json", "fields": fields, "anything": _from_json("string")}, _reason(table))
    value = f"substring(make_valid_utf8({_TEXT}), 1, {REJECTED_VALUE_CHARS})"
    return f"struct({_MILLIS} AS ts, topic, partition, offset, {reason} AS reason, {value} AS value)"


def _let(names: Mapping[str, str], expression: str) -> str:
    """The expression with these names for others, each of which is evaluated once. SQL has no such thing, but an array
    of one element has a function for each element."""
    values = ", ".join(f"{value} AS {name}" for name, value in names.items())
    return f"transform(array(struct({values})), it -> {expression})[0]"


def _reason(table: TableSchema) -> str:
    misfits = (
        f"WHEN it.fields.v.{quoted(name)} IS NOT NULL AND (it.json.v.{quoted(name)} IS NULL{_or_infinite(name, kind)}) "
        f"THEN concat({_literal(f'field {name}: ')}, substring(it.fields.v.{quoted(name)}, 1, {REASON_VALUE_CHARS}), "
        f"{_literal(f' is not a {kind}')})"
        for name, kind in table.columns.items()
    )
    return f"""CASE
        WHEN it.text IS NULL OR trim(it.text) = '' THEN 'empty value'
        WHEN NOT is_valid_utf8(it.text) THEN 'not UTF-8'
        WHEN it.anything.corrupt IS NOT NULL THEN 'not JSON'
        {" ".join(misfits)}
        ELSE 'not a JSON object' END"""


def _or_infinite(name: str, kind: ColumnType) -> str:
    return f" OR {_is_infinite(name, 'it.json')}" if kind is ColumnType.DOUBLE else ""


def _struct(types: Mapping[str, str]) -> str:
    return f"struct<{', '.join(f'{quoted(name)}: {kind}' for name, kind in types.items())}>"


def quoted(name: str) -> str:
    """A name in SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
