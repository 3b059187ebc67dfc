"""JavaScript packages and what is built with them."""

import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT, ANGULAR = ROOT / "clients" / "typescript", ROOT / "examples" / "angular"
BUILD_SECONDS = 600
"""The packages of the example come over the network the first time."""


def run(*command: str, directory: Path, **env: str) -> None:
    """Fails with what the command said."""
    done = subprocess.run(
        command,
        check=False,
        cwd=directory,
        env={**os.environ, "CI": "1", "NO_COLOR": "1", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
    )
    assert done.returncode == 0, f"{' '.join(command)} in {directory} ended with {done.returncode}:\n{done.stdout}"


def packages(directory: Path) -> None:
    run(str(ROOT / "scripts" / "node"), str(directory), directory=ROOT)


def built_angular() -> Path:
    """The example's built files; built anew only if something they are made from has changed."""
    files, stamp = ANGULAR / "dist" / "browser", ANGULAR / "dist" / "made-from"
    sources = (file for source in (CLIENT / "src", ANGULAR / "src") for file in source.rglob("*") if file.is_file())
    made_from = _fingerprint(*sources, *ANGULAR.glob("*.json"))
    if not (stamp.exists() and stamp.read_text() == made_from):
        packages(ANGULAR)
        run("npm", "run", "build", directory=ANGULAR)
        stamp.write_text(made_from)
    return files


def _fingerprint(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
