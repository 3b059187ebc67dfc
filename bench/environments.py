"""The Python environments of peers: one for each, made by the benchmark itself, and kept for the next time."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.child import CHECKOUT
from turnout.errors import TurnoutError

HOME = CHECKOUT / "build" / "bench"
INSTALL_SECONDS = 900


class NotInstalled(TurnoutError):
    """A peer that cannot be measured here, and why."""


def python_with(name: str, requirements: Sequence[str], say: Callable[[str], None]) -> Path:
    """The Python of the environment that has these packages."""
    place = HOME / name
    python, done, wanted = place / "bin" / "python", place / "installed.txt", "\n".join(requirements)
    if done.exists() and done.read_text() == wanted:
        return python
    say(f"Installing {', '.join(requirements)} …")
    shutil.rmtree(place, ignore_errors=True)
    log = HOME / f"{name}.install.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        _run([sys.executable, "-m", "venv", place], output.fileno(), log)
        pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _run([*pip, *requirements], output.fileno(), log)
    done.write_text(wanted)
    return python


def _run(command: Sequence[str | Path], output: int, log: Path) -> None:
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=INSTALL_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"not installed: took more than {INSTALL_SECONDS} s") from None
    except (OSError, subprocess.CalledProcessError):
        said = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
        raise NotInstalled(f"not installed: {said[0] if said else f'see {log}'}") from None
