"""What the benchmarks have in common as commands: a console, an orderly end, an exit code."""

import signal
import sys
import time
from collections.abc import Callable

from rich.console import Console

from turnout.ending import INTERRUPTED, STOP_SIGNALS
from turnout.errors import TurnoutError

LOG_WIDTH = 130


def run(measure: Callable[[Console], int]) -> int:
    """The exit code: what `measure` says, or that of its failure or interruption."""
    # Where nobody looks on, in a log, a table need not be squeezed into 80 columns.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        return measure(console)
    except TurnoutError as error:
        console.print(str(error), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def say(console: Console, text: str) -> None:
    # Lines, not a turning wheel: that would take its share of the process that is measured.
    console.print(f"{time.strftime('%H:%M:%S')} {text}", markup=False)
