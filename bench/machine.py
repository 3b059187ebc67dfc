"""What the figures were measured on."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version

from turnout import __version__
from turnout.java import JavaParts, find_java


@dataclass(frozen=True)
class Machine:
    cores: int
    turnout: str
    python: str
    java: int
    spark: str
    kafka: str
    polars: str


def this_machine(parts: JavaParts) -> Machine:
    return Machine(
        cores=os.cpu_count() or 0,
        turnout=__version__,
        python=platform.python_version(),
        java=find_java().version,
        spark=version("pyspark"),
        kafka=_kafka_version(parts),
        polars=version("polars"),
    )


def load_average() -> float:
    """Of the last minute: processes that run or want to. It counts the benchmark's own too."""
    return round(os.getloadavg()[0], 1)


def _kafka_version(parts: JavaParts) -> str:
    """kafka_<version of Scala>-<version of Kafka>.jar"""
    return next(jar.stem.partition("-")[2] for jar in parts.broker if jar.name.startswith("kafka_"))
