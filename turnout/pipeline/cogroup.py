"""Both sides grouped by key, each key's newest rows kept: the join, before anyone has said which join."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from turnout.schema import JoinSchema


def changelog(
    left: DataFrame, right: DataFrame, schema: JoinSchema, changelog_topic: str, rejected_topic: str
) -> DataFrame:
    """What goes to Kafka: a record per changed key (turnout/changelog/record.py), and one per rejected record."""
    groups = (
        left.unionByName(right, allowMissingColumns=True)
        .groupBy("k", "slot")
        .agg(
            F.expr(f"{_newest('l', schema.left.keep)} AS l"),
            F.expr(f"{_newest('r', schema.right.keep)} AS r"),
            # How many rows of a side were ever seen: a version that only grows, also where `l` or `r` stay the same.
            F.expr("count(l) AS ln"),
            F.expr("count(r) AS rn"),
            F.expr("max_by(rejected, rejected.offset) AS rejected"),
        )
    )
    return groups.selectExpr(
        f"IF(slot IS NULL, '{changelog_topic}', '{rejected_topic}') AS topic",
        # As JSON, so that the null key is not the key "null".
        "IF(slot IS NULL, to_json(struct(k)), slot) AS key",
        "IF(slot IS NULL, to_json(struct(k, l, r, ln, rn)), to_json(rejected)) AS value",
    )


def _newest(side: str, keep: int) -> str:
    """The newest rows, newest first: by Kafka's timestamp, then offset, then partition."""
    position = f"IF({side} IS NULL, NULL, struct({side}.t, {side}.o, {side}.p))"
    if keep == 1:  # the plain aggregate costs a third of the one that keeps several
        newest = f"max_by({side}, {position})"
        return f"IF({newest} IS NULL, NULL, array({newest}))"
    return f"max_by({side}, {position}, {keep})"
