"""Commands as a person would type them here."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path


def topic_option(table: str) -> str:
    """The option of `switch` that names a table's topic."""
    return f"--{table.replace('_', '-')}-topic"


def switch_command(topics: Mapping[str, str], join: str, options: Mapping[str, object]) -> str:
    """The command that switches to these topics, by table. Options that are None are left out."""
    words = [*this_command(), "switch"]
    for table, topic in topics.items():
        words += [topic_option(table), topic]
    words += ["--join", join]
    for name, value in options.items():
        if value is not None:
            words += [name, str(value)]
    return shlex.join(words)


def this_command() -> list[str]:
    """How the running command was started."""
    started = Path(sys.argv[0])
    if started.name != "turnout":  # python -m turnout.cli
        return [_short(Path(sys.executable)), "-m", "turnout.cli"]
    on_path = shutil.which("turnout")
    return ["turnout"] if on_path is not None and Path(on_path).samefile(started) else [_short(started)]


def _short(program: Path) -> str:
    here = Path.cwd()
    return str(program.relative_to(here) if program.is_relative_to(here) else program)
