"""Compacted topics of the bus: of each key the last record counts."""

from contextlib import closing

from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Record

COMPACTED = {"cleanup.policy": "compact"}
READ_SECONDS = 10.0


def last_records(bus: Cluster, topic: str) -> list[Record]:
    """The last record of each key, of what is there now; none if there is no such topic. One that was taken back has no
    value."""
    if bus.missing([topic]):
        return []
    last: dict[bytes, Record] = {}
    ends = bus.end_offsets(topic)
    waited = 0.0
    with closing(bus.reader([topic])) as reader:
        while not reader.reached(topic, ends):
            records = reader.poll(1.0)
            waited = 0.0 if records else waited + 1.0
            if waited > READ_SECONDS:
                raise KafkaError(f"topic {topic!r} could not be read in {READ_SECONDS:g} s: {reader.trouble}")
            last |= {record.key or b"": record for record in records}
    return list(last.values())
