"""A log line as it is shown: in colour and by the clock on the wall for a person, plain and complete for a file, as
one JSON object for a program."""

import logging
from datetime import UTC, datetime

import orjson
from rich.console import Console
from rich.text import Text

_STYLES = {"INFO": "cyan", "WARNING": "yellow", "ERROR": "bold red", "CRITICAL": "bold red"}
_LEVEL_WIDTH = len("WARNING")
FIELDS = ("generation", "pipeline")
"""What a line may say it is about, beside its message (`extra=` of the logging module)."""


def print_line(console: Console, moment: datetime, level: str, message: str) -> None:
    # A terminal wraps lines by itself, and a file has room: neither wants them broken.
    line = _coloured(moment, level, message) if console.is_terminal else _plain(moment, level, message)
    console.print(line, soft_wrap=True)


def _coloured(moment: datetime, level: str, message: str) -> Text:
    clock = moment.astimezone().strftime("%H:%M:%S")
    return Text.assemble((clock, "dim"), " ", (level.ljust(_LEVEL_WIDTH), _STYLES.get(level, "")), " ", message)


def _plain(moment: datetime, level: str, message: str) -> Text:
    return Text(f"{_iso(moment)} {level} {message}")


def json_line(record: logging.LogRecord) -> str:
    """The same words as in a line of text; a traceback stands by itself."""
    line: dict[str, object] = {
        "ts": _iso(datetime.fromtimestamp(record.created, UTC)),
        "level": record.levelname,
        "logger": record.name,
        "msg": _text(record.getMessage()),
    }
    line |= {field: getattr(record, field) for field in FIELDS if hasattr(record, field)}
    if record.exc_info:
        line["exception"] = _text(logging.Formatter().formatException(record.exc_info))
    return orjson.dumps(line).decode()


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(words: str) -> str:
    """What others sent may hold half of a surrogate pair, which is no text: as an escape."""
    return words.encode(errors="backslashreplace").decode()
