"""What a changelog topic has to be like. `turnout check` tries the same, without Spark."""

from turnout.kafka.broker_config import LARGEST_RECORD_BYTES

CHANGELOG_TOPIC = {
    "cleanup.policy": "compact",  # a record is the whole truth about its key: older ones may go
    "max.message.bytes": str(LARGEST_RECORD_BYTES),
}
