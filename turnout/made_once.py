"""Files that are made up once, by whoever needs them first, and then stay as they are."""

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ONLY_OURS = 0o600


def made_once(file: Path, make_up: Callable[[], bytes]) -> bytes:
    """Its content. It is there whole or not at all, also after a crash; of several that start at once, the first one
    counts."""
    if not file.exists():
        made_up = file.with_suffix(f".{uuid.uuid4().hex[:12]}")
        try:
            with os.fdopen(os.open(made_up, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_OURS), "wb") as unfinished:
                unfinished.write(make_up())
                unfinished.flush()
                os.fsync(unfinished.fileno())
            with suppress(FileExistsError):
                os.link(made_up, file)
        finally:
            made_up.unlink(missing_ok=True)
    return file.read_bytes()
