"""Records that a pipeline rejected, as it tells them on a topic of their own."""

import logging
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from turnout.kafka.client import Record

log = logging.getLogger(__name__)

_Long = Annotated[int, Field(ge=-(2**63), lt=2**63)]


@dataclass(frozen=True)
class RejectedRecord:
    """As turnout.pipeline.source writes it, which leaves out a null."""

    ts: _Long
    topic: str
    partition: _Long
    offset: _Long
    reason: str
    value: str | None = None


_REJECTED = TypeAdapter(RejectedRecord)


def rejected_in(record: Record) -> RejectedRecord | None:
    """None if it is something else: who reads on must not fall over it again and again."""
    try:
        return _REJECTED.validate_json(record.value or b"", strict=True)
    except ValidationError:
        log.warning(
            "%s/%d offset %d is no rejected record of a pipeline: ignored. Something else writes to this topic: give "
            "the bus topics to Turnout alone",
            *(record.topic, record.partition, record.offset),
        )
        return None
