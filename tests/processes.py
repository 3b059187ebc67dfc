"""What the system says of a process."""

import subprocess

from tests.waiting import until


def is_running(pid: int) -> bool:
    """A process that has ended and that nobody has asked about (a zombie) does not run."""
    ps = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state = ps.stdout.strip()
    return bool(state) and not state.startswith("Z")


def until_gone(pid: int, seconds: float = 10.0) -> None:
    until(lambda: not is_running(pid), f"process {pid} ends", seconds)
