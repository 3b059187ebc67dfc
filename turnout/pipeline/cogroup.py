"""Both sides grouped by key, each key's newest rows kept: the join, before anyone has said which join."""

from pyspark.sql import Column, DataFrame
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
            _newest("l", schema.left.keep).alias("l"),
            _newest("r", schema.right.keep).alias("r"),
            # How many rows of a side were ever seen: a version that only grows, also where `l` or `r` stay the same.
            F.count("l").alias("ln"),
            F.count("r").alias("rn"),
            F.max_by("rejected", F.col("rejected.offset")).alias("rejected"),
        )
    )
    good = F.col("slot").isNull()
    return groups.select(
        F.when(good, F.lit(changelog_topic)).otherwise(F.lit(rejected_topic)).alias("topic"),
        # As JSON, so that the null key is not the key "null".
        F.when(good, F.to_json(F.struct("k"))).otherwise(F.col("slot")).alias("key"),
        F.when(good, F.to_json(F.struct("k", "l", "r", "ln", "rn"))).otherwise(F.to_json("rejected")).alias("value"),
    )


def _newest(side: str, keep: int) -> Column:
    """The newest rows, newest first: by Kafka's timestamp, then offset, then partition."""
    position = f"struct({side}.t, {side}.o, {side}.p)"
    if keep == 1:  # the plain aggregate costs a third of the one that keeps several
        newest = F.expr(f"max_by({side}, if({side} is null, null, {position}))")
        return F.when(newest.isNotNull(), F.array(newest))
    return F.expr(f"max_by({side}, if({side} is null, null, {position}), {keep})")
