"""What the embedded broker is told: its properties, its logging, its JVM. Paths are relative to its directory."""

from collections.abc import Mapping, Sequence

from turnout.memory import TRIMMING

LOG_DIR = "data"
PROPERTIES_FILE = "server.properties"
LOGGING_FILE = "log4j2.properties"
LOG_FILE = "broker.log"

HOST = "127.0.0.1"
"""Loopback only: the broker asks nobody for a password. An address, because "localhost" may mean ::1 first."""

_MIB = 1 << 20

LARGEST_RECORD_BYTES = 90 * _MIB
"""A changelog record holds all rows of its key: up to `keep` rows a side. librdkafka takes no answer above 100 MB."""

JVM_FLAGS = (
    # Enough for a few of the largest records at once, and little beside Spark.
    "-Xmx512m",
    # A broker that ran out of memory is better gone, and seen to be gone, than half alive.
    "-XX:+ExitOnOutOfMemoryError",
    # The quick compiler only: rows are there 4 s earlier after a start on two cores, when Spark wants them too. With
    # both compilers a message would cost a fifth to a third less; still, it takes hundreds of thousands a second.
    "-XX:TieredStopAtLevel=1",
    # The collector for small heaps, which gives back what it does not need: 310 MB instead of 430 after 600,000
    # records, for no more of the processor.
    "-XX:+UseSerialGC",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    *TRIMMING,
    "-Djava.awt.headless=true",
    f"-Dlog4j2.configurationFile={LOGGING_FILE}",
    "-Dlog4j2.disableJmx=true",
)

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": LOG_DIR,
    # One node: each internal topic has one copy, and one partition is quick to create.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # After a crash, the node takes its own former self for alive until this has passed. The default is 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # A missing topic is an error that Turnout reports, never one that appears by being asked for.
    "auto.create.topics.enable": "false",
    "message.max.bytes": str(LARGEST_RECORD_BYTES),
    "replica.fetch.max.bytes": str(LARGEST_RECORD_BYTES),
    # The request around the record has a header.
    "socket.request.max.bytes": str(LARGEST_RECORD_BYTES + _MIB),
    # A segment has to hold the largest record; above that, small ones keep compaction close behind the writer.
    "log.segment.bytes": str(128 * _MIB),
    # The segment being written is never compacted, and that of a small topic would not fill up for days: a compacted
    # topic is cleaned after ten minutes at the latest.
    "log.cleaner.max.compaction.lag.ms": "600000",
    # Allocated at the start. Room for 1.2 million keys in one pass (24 bytes each); more keys take more passes.
    "log.cleaner.dedupe.buffer.size": str(32 * _MIB),
    # Allocated for each segment being written, on file systems without holes at full size. Enough for a segment.
    "log.index.size.max.bytes": str(_MIB),
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
}

LOGGING = f"""\
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {LOG_FILE}
appender.file.filePattern = {LOG_FILE}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss,SSS}} %p %m (%c{{1}})%n
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 5MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


def server_properties(
    port: int, controller_port: int, overrides: Mapping[str, str], more_listeners: Sequence[str] = ()
) -> str:
    """The text of a properties file; what is in `overrides` wins."""
    listeners = [f"PLAINTEXT://{HOST}:{port}", *more_listeners]
    properties = {
        **_PROPERTIES,
        "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{controller_port}"]),
        "advertised.listeners": ",".join(listeners),
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        **overrides,
    }
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
