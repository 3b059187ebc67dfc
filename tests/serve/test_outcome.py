import asyncio

import pytest

from turnout.config import load
from turnout.control.message import ControlMessage
from turnout.serve.outcome import outcome_of
from turnout.tables.public import PublicTables

MESSAGE = ControlMessage(0, 7, 0, b"{}")
OTHER = ControlMessage(1, 7, 0, b"{}")


@pytest.fixture
def tables() -> PublicTables:
    return PublicTables(load(None, env={}))


def waiting(tables: PublicTables, *later: str | None, seconds: float = 10.0) -> str | None:
    """What is answered if these outcomes come after it was asked for."""

    async def wait() -> str | None:
        asked = asyncio.create_task(outcome_of(tables.registry, "control_raw", MESSAGE.id, seconds))
        for outcome in later:
            await asyncio.sleep(0.01)
            tables.outcome(OTHER, "applied")
            tables.outcome(MESSAGE, outcome)
        return await asked

    return asyncio.run(wait())


def test_an_outcome_that_is_known_already_is_answered_at_once(tables: PublicTables) -> None:
    tables.outcome(MESSAGE, "applied")
    assert waiting(tables) == "applied"


def test_an_outcome_is_waited_for(tables: PublicTables) -> None:
    assert waiting(tables, None, "rejected: not JSON") == "rejected: not JSON"


def test_the_first_outcome_is_the_answer(tables: PublicTables) -> None:
    assert waiting(tables, "superseded", "applied") == "superseded"


def test_what_takes_too_long_has_no_answer(tables: PublicTables) -> None:
    tables.outcome(MESSAGE, None)
    tables.outcome(OTHER, "applied")
    assert waiting(tables, seconds=0.02) is None


def test_a_message_that_is_not_read_yet_is_waited_for_too(tables: PublicTables) -> None:
    assert waiting(tables, seconds=0.02) is None


def test_an_answer_leaves_nobody_behind_who_is_told(tables: PublicTables) -> None:
    waiting(tables, "applied")
    tables.outcome(MESSAGE, "no change")  # to a closed event loop it could not be told
