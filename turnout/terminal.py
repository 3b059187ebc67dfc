"""What a long-running command shows: how far it is while it starts, and log lines."""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.text import Text

from turnout.config import LogFormat
from turnout.loglines import json_line, print_line

LOGGERS = {"turnout": logging.INFO, "uvicorn": logging.WARNING}
"""Whose lines are shown, from which level on."""

SILENT = logging.CRITICAL + 1


class Terminal(logging.Handler):
    """On a TTY a turning wheel below the lines says what is waited for, until `settled`. In JSON every line is an
    object, what is said to a person too."""

    def __init__(self, console: Console | None = None, log_format: LogFormat = LogFormat.TEXT) -> None:
        super().__init__()
        self._json = log_format is LogFormat.JSON
        self._console = console or Console(highlight=False)
        self._wheel: Status | None = None

    def listen(self) -> None:
        for name, level in LOGGERS.items():
            logger = logging.getLogger(name)
            logger.setLevel(level)
            logger.addHandler(self)
            # Py4J gives the root logger a handler when Spark's process dies: each line would be shown twice.
            logger.propagate = False

    def keep_stderr(self, file: Path) -> None:
        """What Java and librdkafka write to stderr goes to this file; what Python writes goes where it went.

        They say little that matters, at any time, and in the middle of a line.
        """
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1)
        with file.open("ab") as kept:
            os.dup2(kept.fileno(), 2)

    def progress(self, text: str) -> None:
        """Something that takes its time begins."""
        if self._json or not self._console.is_terminal:
            self.say(text)
        elif self._wheel is None:
            self._wheel = self._console.status(Text(text))
            self._wheel.start()
        else:
            self._wheel.update(Text(text))

    def settled(self) -> None:
        """Nothing is waited for any more."""
        wheel, self._wheel = self._wheel, None
        if wheel is not None:
            wheel.stop()

    def stopping(self) -> None:
        """Log lines are not shown any more: parts that are being stopped complain about each other."""
        self.setLevel(SILENT)
        self.settled()
        self.say("Stopping …")

    def say(self, text: str) -> None:
        """Something for a person to read."""
        if self._json:
            self._write_json(logging.LogRecord("turnout", logging.INFO, "", 0, text.strip(), (), None))
            return
        self._console.print(Text(text), soft_wrap=True)
        self._console.file.flush()

    def _write_json(self, record: logging.LogRecord) -> None:
        self._console.file.write(json_line(record) + "\n")
        self._console.file.flush()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._emit(record)
        except OSError:  # nobody reads any more; the lines are in the table of log lines too
            self.setLevel(SILENT)

    def _emit(self, record: logging.LogRecord) -> None:
        if self._json:
            self._write_json(record)
            return
        message = record.getMessage()
        if self._wheel is not None and record.levelno == logging.INFO:
            self._wheel.update(Text(f"{message} …"))
        if record.exc_info:
            message += "\n" + logging.Formatter().formatException(record.exc_info)
        print_line(self._console, datetime.fromtimestamp(record.created, UTC), record.levelname, message)
        self._console.file.flush()
