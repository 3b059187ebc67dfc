"""`kill -9` at each phase of a switch: whatever it was at, the next start makes a whole of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture.checks import nothing_piles_up, settle
from tests.torture.messages import accounts_topic, row, users_topic
from tests.torture.world import DATA_TABLES, World
from tests.waiting import until
from turnout.crash_points import CrashPoint

CRASH_SECONDS = 300
# A start builds too, so what only a switch should meet is met the second time.
AT_START_TOO = {
    CrashPoint.MANIFEST_WRITTEN,
    CrashPoint.TOPICS_CREATED,
    CrashPoint.CATCHING_UP,
    CrashPoint.RUNNING,
    CrashPoint.READY,
    CrashPoint.PROMOTED,
    CrashPoint.SWAPPED,
}

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, seed=4, patient=False)
    world.begin()
    yield world
    world.end()


def test_a_kill_at_each_phase_of_a_switch(world: World) -> None:
    for table in DATA_TABLES:
        world.add_viewer(table)
    settle(world)
    assert world.service.terminate() == 0
    for point in CrashPoint:
        world.note(f"kill -9 at {point}")
        world.start_service(f"{point}:2" if point in AT_START_TOO else str(point))
        crash_in_a_switch(world)
        topic = world.some_topic()
        world.send(topic, [b"rubbish", row(world.rng, topic)])
        world.fault()
    world.start_service()
    settle(world)
    nothing_piles_up(world)


def crash_in_a_switch(world: World) -> None:
    """Ask for other topics as soon as all is well, unless it crashes before."""
    until(lambda: not world.service.running or world.service.is_idle(), "it is live, or has crashed", CRASH_SECONDS)
    if world.service.running:
        settle(world)
        tag = world.other_tag()
        world.publish([json.dumps({"usersTopic": users_topic(tag), "accountsTopic": accounts_topic(tag)}).encode()])
    assert world.service.until_crashed(CRASH_SECONDS)
