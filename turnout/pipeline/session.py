"""The one Spark session: settings that the live join needs, each with its reason."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from turnout.class_archive import ClassArchive, class_archive
from turnout.java import Java, find_java
from turnout.memory import ARENAS, ARENAS_VARIABLE, TRIMMING
from turnout.properties import SECRET_PATTERN, is_named_secret

# Real-time mode holds a task slot for each source partition and each shuffle partition of every pipeline, all at
# once, and old and new pipelines run side by side during a switch. Slots are threads that mostly wait: in local
# mode there may be far more of them than cores.
LOCAL_SLOTS = 128

_STATE = "spark.sql.streaming.stateStore."

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
JVM_OPTIONS = " ".join(
    [
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",  # one that is out of memory limps on for ever; one that is gone is started again
        *TRIMMING,
    ]
)

_SETTINGS: Mapping[str, str] = {
    "spark.app.name": "turnout",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.liveUpdate.period": "0",  # tells at once that a real-time query's tasks run: they start once a batch
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",  # JSON fields are: "Name" and "name" are two columns
    # Fixed for the life of a checkpoint, and each costs a slot.
    SHUFFLE_PARTITIONS: "1",
    # The default, 50 ms, is most of a row's way through the pipeline: p50 32 ms instead of 7.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    _STATE + "providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    _STATE + "checkpointFormatVersion": "2",  # real-time mode refuses 1
    _STATE + "rocksdb.changelogCheckpointing.enabled": "true",  # upload what changed, not the whole store
    _STATE + "rocksdb.trackTotalNumberOfRows": "false",  # counting costs a read before each write
    "spark.sql.streaming.stopTimeout": "10000",  # the default, 0, waits for ever
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    # What ended queries leave for Spark's UI: half a megabyte for each switch, a thousand times by default.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.streaming.ui.retainedQueries": "5",
    # An ended query's state store is unloaded, and its consumers are closed, by the next look after them.
    _STATE + "maintenanceInterval": "10s",
    "spark.kafka.consumer.cache.timeout": "30s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "10s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "10s",
    "spark.driver.memory": "1g",
    EXTRA_OPTIONS: JVM_OPTIONS,
    "spark.sql.adaptive.enabled": "false",  # streaming ignores it, with a warning for each query
}

# In listings of its configuration, in plans and in event logs, Spark hides what this matches by name or by value. Its
# own pattern does not know a private key, which is in the options of a source that logs in with a certificate.
_REDACTION = "spark.redaction.regex"

_LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}

_CLUSTER_SETTINGS: Mapping[str, str] = {
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    f"spark.executorEnv.{ARENAS_VARIABLE}": str(ARENAS),
    # A real-time query whose executor is lost has lost its place: it fails at once, and is resumed from its checkpoint.
    # Executors that come and go by demand would do that to it all the time.
    "spark.dynamicAllocation.enabled": "false",
}

# The notifier tells the end of every real-time query as an error, in a way that makes log4j itself fail now and then; a
# query that fails is told by others.
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
logger.notifier.name = org.apache.spark.util.ErrorNotifier
logger.notifier.level = off
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


def start_session(master: str, conf: Mapping[str, str], jars: Sequence[Path], log_file: Path) -> SparkSession:
    """Start Spark. `conf` is the user's and wins over what stands here."""
    # Else Spark's workers take the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    jvm_options = [f"-Dlog4j2.configurationFile={_log4j(log_file)}", *spark_archive(find_java(), jars).flags]
    settings = {**_SETTINGS, **(_LOCAL_SETTINGS if is_local(master) else _CLUSTER_SETTINGS), **conf}
    master = _local_master(master)
    settings |= _with_jars(settings, master, jars)
    settings[_REDACTION] = "|".join([SECRET_PATTERN, *([conf[_REDACTION]] if _REDACTION in conf else [])])
    settings[EXTRA_OPTIONS] = " ".join([settings.get(EXTRA_OPTIONS, ""), *jvm_options]).strip()
    _launch({"spark.master": master, **settings})
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def spark_archive(java: Java, jars: Sequence[Path]) -> ClassArchive:
    """In the Python environment, which has most of the classes, and takes it along when it goes."""
    return class_archive(Path(sys.prefix, "share", "turnout"), "spark", java, class_path(jars))


def class_path(jars: Sequence[Path]) -> list[Path]:
    """Spark's own jars by name. Spark itself says `jars/*`, which Java reads in the order of the file system: another
    one, as where an image is unpacked, has another order, and then the archive does not fit."""
    return [*jars, *sorted(Path(pyspark.__file__).with_name("jars").glob("*.jar"))]


def is_local(master: str) -> bool:
    return master.startswith("local")


def _with_jars(settings: Mapping[str, str], master: str, jars: Sequence[Path]) -> dict[str, str]:
    """Where Spark finds its Kafka connector: here on the class path itself, of which there is an archive; executors
    are sent it, so that nothing has to be installed where they run."""
    paths, ours = settings.get("spark.driver.extraClassPath"), os.pathsep.join(map(str, class_path(jars)))
    here = {"spark.driver.extraClassPath": f"{paths}{os.pathsep}{ours}" if paths else ours}
    if is_local(master):
        return here
    return {**here, "spark.jars": ",".join([*filter(None, [settings.get("spark.jars")]), *map(str, jars)])}


def _launch(settings: Mapping[str, str]) -> None:
    """Start Spark's process. PySpark by itself would put all settings on its command line, where every user of the
    machine can read them: it is told the secrets afterwards."""
    shown = SparkConf()
    for name, value in settings.items():
        if not is_named_secret(name):
            shown.set(name, value)
    SparkContext._ensure_initialized(conf=shown)


def _local_master(master: str) -> str:
    """`local` and `local[*]` leave the number of slots to us; `local[8]` is what the user wants."""
    return f"local[{LOCAL_SLOTS}]" if re.fullmatch(r"local(\[\*\])?", master) else master


def _log4j(log_file: Path) -> Path:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    settings = log_file.with_suffix(".log4j2.properties")
    settings.write_text(_LOG4J.format(log=log_file.absolute()))
    return settings.absolute()
