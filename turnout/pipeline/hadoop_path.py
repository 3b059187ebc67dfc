"""Checkpoints on a file system that Spark knows, and Python does not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from turnout.errors import BuildFailed


class HadoopPath:
    """A path by its URL (hdfs, s3a, abfs, file …), with as much of pathlib's as checkpoints take."""

    def __init__(self, url: str, session: Callable[[], SparkSession]) -> None:
        self._url, self._session = url.rstrip("/"), session

    def __str__(self) -> str:
        return self._url

    def __truediv__(self, name: str) -> "HadoopPath":
        return HadoopPath(f"{self._url}/{name}", self._session)

    @property
    def name(self) -> str:
        return self._url.rpartition("/")[2]

    def glob(self, pattern: str) -> list["HadoopPath"]:
        """Of names right below it; none if it is not there."""
        with self._at(self / pattern) as (files, path, _):
            found = files.globStatus(path)
            return [self / status.getPath().getName() for status in found or ()]

    def read_text(self) -> str:
        with self._at(self) as (files, path, jvm):
            stream = files.open(path)
            try:
                return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def remove(self) -> None:
        """With all that is below it; that it is not there is no error."""
        with self._at(self) as (files, path, _):
            files.delete(path, True)

    @contextmanager
    def _at(self, path: "HadoopPath") -> Iterator[tuple[Any, Any, Any]]:
        """The file system, the path there, and Spark's JVM, where both are."""
        context = self._session().sparkContext
        jvm: Any = context._jvm
        if jvm is None or context._jsc is None:  # it ended since it was asked for
            raise self._unreached(path, "Spark is gone")
        try:
            there = jvm.org.apache.hadoop.fs.Path(str(path))
            yield there.getFileSystem(context._jsc.hadoopConfiguration()), there, jvm
        except (Py4JError, OSError) as error:
            first, *_ = str(getattr(error, "java_exception", error)).splitlines() or [type(error).__name__]
            raise self._unreached(path, first) from None

    @staticmethod
    def _unreached(path: "HadoopPath", reason: str) -> BuildFailed:
        return BuildFailed(f"{path} cannot be read or written (spark.checkpoints): {reason}")
