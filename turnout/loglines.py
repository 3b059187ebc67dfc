"""A log line as it is shown: in colour and by the clock on the wall for a person, plain and complete for a file."""

from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

_STYLES = {"INFO": "cyan", "WARNING": "yellow", "ERROR": "bold red", "CRITICAL": "bold red"}
_LEVEL_WIDTH = len("WARNING")


def print_line(console: Console, moment: datetime, level: str, message: str) -> None:
    # A terminal wraps lines by itself, and a file has room: neither wants them broken.
    line = _coloured(moment, level, message) if console.is_terminal else _plain(moment, level, message)
    console.print(line, soft_wrap=True)


def _coloured(moment: datetime, level: str, message: str) -> Text:
    clock = moment.astimezone().strftime("%H:%M:%S")
    return Text.assemble((clock, "dim"), " ", (level.ljust(_LEVEL_WIDTH), _STYLES.get(level, "")), " ", message)


def _plain(moment: datetime, level: str, message: str) -> Text:
    clock = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Text(f"{clock} {level} {message}")
