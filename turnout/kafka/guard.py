"""Runs a command that must not outlive its owner: `guard.py COMMAND…`, with the owner holding a pipe to its stdin.

The owner may end in any way, also by SIGKILL: the system then closes the pipe, and the guard stops the command. It
works the same on Linux and macOS. The guard is started in a session of its own, so that Ctrl-C in a terminal reaches
the owner alone, which then stops things in its own order.

It says the command's process id on stdout (a line), and ends with the command's exit code. The command writes both
its outputs to the guard's stderr. Nothing of Turnout is imported here: this has to start at once.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL. A broker closes its files in half a second; Turnout promises to be gone in five."""

_PR_SET_PDEATHSIG = 1
"""From Linux's <sys/prctl.h>: the signal that a process gets when its parent dies."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(command: list[str]) -> int:
    signals = _signals_as_bytes()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        preexec_fn=_die_with_guard(),  # noqa: PLW1509 - there are no other threads here
    )
    _say(child.pid)
    while child.poll() is None:
        readable, _, _ = select.select([sys.stdin.fileno(), signals], [], [])
        owner_gone = sys.stdin.fileno() in readable and not os.read(sys.stdin.fileno(), 1)
        told_to_stop = signals in readable and not set(os.read(signals, 64)).isdisjoint(STOP_SIGNALS)
        if owner_gone or told_to_stop:
            _stop(child)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _signals_as_bytes() -> int:
    """A file descriptor on which each signal arrives as a byte, so that one `select` waits for all there is."""
    arriving, sending = os.pipe()
    os.set_blocking(sending, False)
    signal.set_wakeup_fd(sending)
    for number in (signal.SIGCHLD, *STOP_SIGNALS):
        signal.signal(number, lambda *_: None)
    return arriving


def _say(pid: int) -> None:
    """Tells the owner, and closes stdout, so that the owner sees the end of it."""
    with suppress(BrokenPipeError):  # then the owner is gone already, as stdin will say too
        os.write(1, f"{pid}\n".encode())
    os.close(1)


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _die_with_guard() -> Callable[[], None] | None:
    """For the case that the guard itself is killed. Linux only: elsewhere the command would then be left alone."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    guard = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:  # it died before we asked
            os._exit(1)

    return in_child


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
