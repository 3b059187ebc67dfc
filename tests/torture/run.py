"""One life of a Turnout: actions at random, checks between them, and a report if something is wrong."""

import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from tests.torture.actions import ACTIONS, Action
from tests.torture.checks import nothing_piles_up, settle
from tests.torture.process import Unreachable
from tests.torture.world import DATA_TABLES, SHOWN_NOTES, World

SHOWN_LINES = 40
MOST_BETWEEN_CHECKS = 3


def live(directory: Path, seed: int, *, actions: int | None = None, minutes: float | None = None) -> None:
    """So many actions, or for so long; without either, each kind of action once."""
    world = World(directory, seed, patient=minutes is not None)
    try:
        _live(world, actions, minutes)
    except BaseException as error:
        _report(world, error)
        raise
    finally:
        world.end()


def _live(world: World, actions: int | None, minutes: float | None) -> None:
    world.note(f"seed {world.seed}, in {world.directory}")
    world.begin()
    for table in DATA_TABLES:
        world.add_viewer(table)
    settle(world)
    chosen = _each_once(world) if actions is None and minutes is None else _at_random(world)
    deadline = time.monotonic() + minutes * 60 if minutes is not None else None
    done, unchecked = 0, 0
    for action in chosen:
        world.note(action.name)
        action.do(world)
        done, unchecked = done + 1, unchecked + 1
        over = done == actions or (deadline is not None and time.monotonic() > deadline)
        if over or world.rng.randrange(MOST_BETWEEN_CHECKS) < unchecked:
            settle(world)
            unchecked = 0
        if done % 10 == 0:
            settle(world)
            nothing_piles_up(world)
        if over:
            break
    settle(world)
    nothing_piles_up(world)
    world.note(f"seed {world.seed}: {done} actions, all is well")


def _at_random(world: World) -> Iterator[Action]:
    while True:
        possible = [action for action in ACTIONS if action.possible(world)]
        yield world.rng.choices(possible, [action.weight for action in possible])[0]


def _each_once(world: World) -> Iterator[Action]:
    """In an order of its own; what is not possible yet waits its turn."""
    left = world.rng.sample(ACTIONS, len(ACTIONS))
    while left:
        action = next((action for action in left if action.possible(world)), None)
        if action is None:  # something has to be up, or down, or known
            settle(world)
            if not any(action.possible(world) for action in left):
                return  # what is left starts what runs already
            continue
        left.remove(action)
        yield action


def _report(world: World, error: BaseException) -> None:
    """All that is needed to understand it, at the end of what was printed."""
    print("\n".join(["", f"TORTURE FAILED, seed {world.seed}: {type(error).__name__}: {error}"]))
    if not isinstance(error, AssertionError):
        traceback.print_exception(error)
    print(f"\nThe last of {len(world.notes)} notes:")
    print("\n".join(world.notes[-SHOWN_NOTES:]))
    try:
        print(f"\nStatus: {world.service.status()}")
        lines = [f"{row['ts']} {row['level']} {row['msg']}" for row in world.service.table("orchestrator_logs")[1]]
    except Unreachable as silence:
        print(f"\nNo status: {silence}")
        lines = world.service.log.read_text(errors="replace").splitlines() if world.service.log.exists() else []
    print("\nThe service's last lines:")
    print("\n".join(lines[-SHOWN_LINES:]))
    print(f"\nEverything is left in {world.directory}", flush=True)
