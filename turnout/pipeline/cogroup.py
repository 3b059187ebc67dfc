"""Both sides grouped by key, each key's newest rows kept: the join, before anyone has said which join."""

from turnout.pipeline.source import quoted, rows_of
from turnout.schema import JoinSchema


def changelog(left: str, right: str, schema: JoinSchema, changelog_topic: str, rejected_topic: str) -> str:
    """The query from the Kafka records in the views `left` and `right` to what goes to Kafka: a record per changed key
    (turnout/changelog/record.py), and one per rejected record."""
    return f"""
        SELECT IF(slot IS NULL, '{changelog_topic}', '{rejected_topic}') AS topic,
               IF(slot IS NULL, {_KEY}, slot) AS key,
               IF(slot IS NULL, to_json(struct(k, l, r, ln, rn, at)), to_json(rejected)) AS value
        FROM (SELECT k, slot, last(at) AS at,
                     {_newest("l", schema.left.keep)} AS l, count(l) AS ln,
                     {_newest("r", schema.right.keep)} AS r, count(r) AS rn,
                     max_by(rejected, rejected.offset) AS rejected
        FROM (SELECT {_grouped("l", schema.key)}, row AS l, NULL AS r, rejected FROM ({rows_of(left, schema.left)})
              UNION ALL
              SELECT {_grouped("r", schema.key)}, NULL AS l, row AS r, rejected FROM ({rows_of(right, schema.right)}))
        GROUP BY k, slot)"""


# As JSON, so that the null key is not the key "null".
_KEY = "to_json(struct(k))"


# Real-time mode cannot send rejected records out by a side branch, so they pass through the same grouping, each in
# a slot of a ring of this size per partition: the state stays bounded, and `rejected_ui` shows no more than this.
REJECTED_SLOTS = 10_000


def _grouped(side: str, key: str) -> str:
    """What a record is grouped by, and `at`, its side and position. In real-time mode each record leads to one of the
    changelog, so the last `at` is that of the one that it comes from: it tells how far the pipeline has come."""
    slot = f"concat_ws('/', rejected.topic, rejected.partition, rejected.offset % {REJECTED_SLOTS})"
    return f"""row.v.{quoted(key)} AS k, IF(rejected IS NULL, NULL, {slot}) AS slot,
               concat_ws('/', '{side}', row.p, row.o) AS at"""


def _newest(side: str, keep: int) -> str:
    """The newest rows, newest first: by Kafka's timestamp, then offset, then partition."""
    position = f"IF({side} IS NULL, NULL, struct({side}.t, {side}.o, {side}.p))"
    if keep == 1:  # the plain aggregate costs a third of the one that keeps several
        newest = f"max_by({side}, {position})"
        return f"IF({newest} IS NULL, NULL, array({newest}))"
    return f"max_by({side}, {position}, {keep})"
