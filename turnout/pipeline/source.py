"""One topic's records as rows of one side: parsed, typed, keyed; what cannot be used is told apart, with a reason."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from turnout.schema import ColumnType, TableSchema

SPARK_TYPES: Mapping[ColumnType, DataType] = {
    ColumnType.STRING: StringType(),
    ColumnType.LONG: LongType(),
    ColumnType.DOUBLE: DoubleType(),
    ColumnType.BOOLEAN: BooleanType(),
}

# Real-time mode cannot send rejected records out by a side branch, so they pass through the same grouping, each in
# a slot of a ring of this size per partition: the state stays bounded, and `rejected_ui` shows no more than this.
REJECTED_SLOTS = 10_000
REJECTED_VALUE_CHARS = 1024

# Spark's parser is lenient by default; NaN, Infinity and 'single quotes' are no JSON.
_JSON_OPTIONS = {
    "columnNameOfCorruptRecord": "corrupt",
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}


def read_topic(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The records of a topic as Spark's Kafka source gives them."""
    return spark.readStream.format("kafka").options(**options).load()


def parse(records: DataFrame, table: TableSchema, key: str, side: str) -> DataFrame:
    """Columns: k and the `side` ("l" or "r") for a usable record; slot and rejected for one that is not."""
    parsed = records.withColumn("text", F.col("value").cast("string")).withColumn("json", _from_json(table))
    usable = _usable(table)
    row = F.struct(
        F.col("json.v").alias("v"),
        F.unix_millis("timestamp").alias("t"),
        F.col("offset").alias("o"),
        F.col("partition").alias("p"),
    )
    return parsed.select(
        F.when(usable, F.col("json.v").getField(key)).alias("k"),
        F.when(~usable, F.concat_ws("/", "topic", "partition", F.col("offset") % REJECTED_SLOTS)).alias("slot"),
        F.when(usable, row).alias(side),
        F.when(~usable, _rejected(table)).alias("rejected"),
    )


def _from_json(table: TableSchema, types: Mapping[ColumnType, DataType] = SPARK_TYPES) -> Column:
    """The value as `v`, inside a wrapper: Spark's parser stops after the first object it sees and would not notice
    what follows it; inside a wrapper anything but one whole value is a syntax error."""
    columns = StructType([StructField(name, types[kind]) for name, kind in table.columns.items()])
    schema = StructType([StructField("v", columns), StructField("corrupt", StringType())])
    wrapped = F.concat(F.lit('{"v":'), F.col("text"), F.lit("}"))
    return F.from_json(wrapped, schema, _JSON_OPTIONS)


def _usable(table: TableSchema) -> Column:
    usable = F.col("json.corrupt").isNull() & F.col("json.v").isNotNull() & F.is_valid_utf8("text")
    for name in _columns_of(table, ColumnType.DOUBLE):
        # 1e999 is JSON, but no double: Spark reads it as infinity.
        usable &= F.coalesce(F.abs(F.col("json.v").getField(name)) != float("inf"), F.lit(True))
    return F.coalesce(usable, F.lit(False))


def _columns_of(table: TableSchema, kind: ColumnType) -> list[str]:
    return [name for name, of in table.columns.items() if of is kind]


def _rejected(table: TableSchema) -> Column:
    return F.struct(
        F.unix_millis("timestamp").alias("ts"),
        "topic",
        "partition",
        "offset",
        _reason(table).alias("reason"),
        F.substring(F.make_valid_utf8("text"), 1, REJECTED_VALUE_CHARS).alias("value"),
    )


def _reason(table: TableSchema) -> Column:
    """Why a record cannot be used. Only rejected records pay for this second parse, in which every field is text."""
    as_text = _from_json(table, dict.fromkeys(ColumnType, StringType()))
    reason = F.when(F.col("text").isNull() | (F.trim("text") == ""), F.lit("empty value"))
    reason = reason.when(~F.is_valid_utf8("text"), F.lit("not UTF-8"))
    for name, kind in table.columns.items():
        value = F.col("json.v").getField(name)
        misfit = value.isNull()
        if kind is ColumnType.DOUBLE:
            misfit |= F.abs(value) == float("inf")
        raw = as_text.getField("v").getField(name)
        reason = reason.when(
            as_text.getField("corrupt").isNull() & raw.isNotNull() & misfit,
            F.concat(F.lit(f"field {name}: "), F.substring(raw, 1, 64), F.lit(f" is not a {kind}")),
        )
    return reason.when(_is_json(), F.lit("not a JSON object")).otherwise(F.lit("not JSON"))


def _is_json() -> Column:
    anything = StructType([StructField("v", StringType()), StructField("corrupt", StringType())])
    wrapped = F.concat(F.lit('{"v":'), F.col("text"), F.lit("}"))
    return F.from_json(wrapped, anything, _JSON_OPTIONS).getField("corrupt").isNull()
