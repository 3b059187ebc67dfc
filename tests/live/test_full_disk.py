"""A disk that is full: the switch is rejected with that reason, a live pipeline comes back when there is room."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, fill, first_generation
from tests.waiting import until
from turnout.java import JavaParts
from turnout.kafka.embedded import EmbeddedBroker
from turnout.kafka.keeper import Keeper

MIB = 1024 * 1024
RECOVERY_SECONDS = 90


class Disk:
    """A small file system of its own."""

    def __init__(self, path: Path, size_mib: int) -> None:
        self.path = path
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "turnout-test", str(path)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            pytest.skip(f"a disk that can be filled takes the right to mount one: {mounted.stderr.strip()}")

    def fill(self) -> None:
        with suppress(OSError), (self.path / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * MIB)

    def make_room(self) -> None:
        (self.path / "filler").unlink()

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk", 192)
    yield disk
    disk.unmount()


def test_a_full_state_directory(disk: Disk, broker: EmbeddedBroker, spark: SparkSession) -> None:
    rig = Rig(broker, spark, disk.path, CONFIG)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    other = f"other-{rig.topics.left}"
    rig.cluster.create_topics([other])
    with first_generation(rig) as running:
        disk.fill()
        outcome = running.control(usersTopic=other)
        assert outcome.startswith("rejected: ")
        assert "No space left on device" in outcome
        rig.sender.send_row(rig.topics.left, {"userId": "next", "name": "first"})
        until(lambda: rig.table("final_ui").total() == 51, "the old generation goes on")
        disk.make_room()
        assert running.control(usersTopic=other) == "applied"
        assert len(list((disk.path / "pipelines").iterdir())) <= 2, "nothing is left of the failed one"


def test_a_full_bus(disk: Disk, parts: JavaParts, broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedBroker(disk.path / "kafka", parts.broker) as bus:
        keeper = Keeper(bus)
        keeper.start()
        rig = Rig(broker, spark, tmp_path, CONFIG, bus=bus)
        fill(rig, rig.topics.left, rig.topics.right, "first")
        try:
            with first_generation(rig):
                disk.fill()
                rig.sender.send_row(rig.topics.left, {"userId": "meanwhile", "name": "first"})
                until(lambda: rig.tables.status_row()["state"] == "degraded", "it notices", RECOVERY_SECONDS)
                assert rig.table("final_ui").total() >= 50  # the last page of a file may have had room for it
                disk.make_room()
                until(lambda: rig.table("final_ui").total() == 51, "it catches up", RECOVERY_SECONDS)
                until(lambda: rig.tables.status_row()["state"] == "live", "it recovers", RECOVERY_SECONDS)
        finally:
            keeper.stop()
