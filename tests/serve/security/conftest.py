from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.security.guarded import TOKENS, Guarded, guarded


@pytest.fixture
def turnout(tmp_path: Path) -> Iterator[Guarded]:
    """Open to three tokens."""
    with guarded(tmp_path, {"auth": {"tokens": TOKENS}}) as turnout:
        yield turnout
