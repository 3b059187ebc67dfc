"""Where a Turnout keeps what it goes on from. Whoever has the same home is the same Turnout, and may take over."""

import hashlib
import uuid
from dataclasses import dataclass
from pathlib import Path

from turnout.config import Config
from turnout.errors import TurnoutError
from turnout.made_once import made_once

_FILE = "owner"


@dataclass(frozen=True)
class Home:
    id: str
    place: str
    """For people."""


def home_of(config: Config) -> Home:
    """The state directory; or the bus, where that and the checkpoints are elsewhere."""
    if config.keeps_on_bus:
        url = config.spark.checkpoints.rstrip("/")
        return Home(hashlib.sha256(url.encode()).hexdigest()[:12], url)
    return Home(_id_in(config.state_dir), str(config.state_dir.absolute()))


def _id_in(state_dir: Path) -> str:
    """Made up when it is asked for first."""
    file = state_dir / _FILE
    try:
        return made_once(file, uuid.uuid4().hex[:12].encode).decode().strip()
    except OSError as error:
        raise TurnoutError(
            f"{file} cannot be read or written: {error.strerror}. Make the directory writable."
        ) from None
