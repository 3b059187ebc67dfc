"""A short life of a real Turnout in which each kind of action happens once (tests/torture)."""

from pathlib import Path

import pytest

from tests.torture.run import live

SEED = 7

# About three minutes on two cores: a dozen starts of the service, of Spark or of a broker.
pytestmark = pytest.mark.timeout(2400)


def test_it_lives_through_everything(tmp_path: Path) -> None:
    live(tmp_path, SEED)
