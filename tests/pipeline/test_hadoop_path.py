"""Checkpoints where only Spark reaches, when Spark is not there. With Spark: tests/cluster, tests/live."""

from types import SimpleNamespace
from typing import Any

import pytest

from turnout.errors import BuildFailed
from turnout.pipeline.hadoop_path import HadoopPath


class Gone:
    """A JVM whose connection breaks without a word."""

    @property
    def org(self) -> Any:
        raise ConnectionResetError


HERE = SimpleNamespace(
    org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(fs=SimpleNamespace(Path=str))))
)


@pytest.mark.parametrize(
    "context",
    [
        SimpleNamespace(_jvm=None, _jsc=object()),
        SimpleNamespace(_jvm=HERE, _jsc=None),
        SimpleNamespace(_jvm=Gone(), _jsc=object()),
    ],
    ids=["another one starts", "stopped", "just died"],
)
def test_a_spark_that_is_gone_is_an_error_that_says_what_cannot_be_reached(context: SimpleNamespace) -> None:
    session: Any = SimpleNamespace(sparkContext=context)
    with pytest.raises(BuildFailed, match=r"s3a://bucket/one cannot be read or written \(spark.checkpoints\): \w+"):
        HadoopPath("s3a://bucket/one", lambda: session).remove()
