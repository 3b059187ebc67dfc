"""Plain Structured Streaming, as most people would write it: two streams, a join, a function for each batch.

`python -m bench.peers.pyspark_join BOOTSTRAP DIRECTORY all inner JARS PARTITIONS [LEFT RIGHT NOTED]`, in Turnout's
environment: the same Spark, with its default settings but for the partitions of the join, which are 200 by default.

The join is an inner one, which is where most people end up: a left outer one of streams is refused without watermarks,
and with them shows a row without a match only when time has passed it by. Spark's join has no notion of the latest row
of a key: each row is shown with each one of the other side, and all of them are kept for ever.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.peers.peer import CHECK_MODULUS, EVERY_PAIR, Check, Join, run
from bench.seen import Sightings

USER = "userId STRING, name STRING, email STRING, age LONG"
ACCOUNT = "userId STRING, accountType STRING, balance DOUBLE"


class PlainSpark:
    def __init__(self, bootstrap: str, directory: Path, jars: str, partitions: int) -> None:
        self.sightings = Sightings()
        self._bootstrap, self._directory = bootstrap, directory
        self._queries, self._partitions = 0, partitions
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[*]").appName("plain").config("spark.jars", jars)
        builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", partitions)
        self._spark = builder.getOrCreate()

    def about(self) -> Mapping[str, object]:
        return {"version": self._spark.version, "settings": f"inner join, {self._partitions} partitions"}

    def begin(self, left: str, right: str) -> None:
        joined = self._stream(left, USER).join(self._stream(right, ACCOUNT), "userId")
        self._rows = self._checksum = 0
        self._queries += 1
        # What it has shown is gone with its process, so another one begins anew.
        checkpoint = str(self._directory / f"checkpoint-{os.getpid()}-{self._queries}")
        writer = joined.writeStream.foreachBatch(self._take).option("checkpointLocation", checkpoint)
        self._query = writer.start()

    def check(self) -> Check:
        if error := self._query.exception():
            raise error
        return Check(rows=self._rows, checksum=self._checksum)

    def end(self) -> None:
        self._query.stop()

    def _stream(self, topic: str, columns: str) -> DataFrame:
        records = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        value = F.from_json(F.col("value").cast("string"), columns)
        return records.select(value.alias("value")).select("value.*")

    def _take(self, batch: DataFrame, _number: int) -> None:
        if self.sightings.with_rows:
            rows = batch.select("age", "balance").collect()
            self.sightings.note([row.age for row in rows], [row.balance for row in rows])
            return
        left, right = F.col("age"), F.col("balance").cast("long")
        (total,) = batch.agg(
            F.count("*").alias("rows"), F.sum(left + left * right % CHECK_MODULUS).alias("check")
        ).collect()
        self._rows += total.rows
        self._checksum += total.check or 0
        if total.rows:
            self.sightings.note()


def main(bootstrap: str, directory: str, keep: str, kind: str, jars: str, partitions: str, *at_once: str) -> None:
    assert Join.told(keep, kind) == EVERY_PAIR, "it knows no other join"
    run(PlainSpark(bootstrap, Path(directory), jars, int(partitions)), *at_once)


if __name__ == "__main__":
    main(*sys.argv[1:])
