"""What Turnout needs in order to run with a config, looked at piece by piece. Nothing is started, nothing is kept."""

from collections.abc import Iterator

from turnout.check.clusters import clusters
from turnout.check.finding import Finding, Verdict
from turnout.check.machine import places, programs
from turnout.config import Config

__all__ = ["Finding", "Verdict", "findings"]


def findings(config: Config) -> Iterator[Finding]:
    """One finding after the other, as they are made."""
    yield from programs()
    yield from clusters(config)
    yield from places(config)
