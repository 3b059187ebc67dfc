"""The TypeScript client against a real server, by its own tests."""

import sys

import pytest

from tests.clients.node import CLIENT, ROOT, packages, run


@pytest.mark.timeout(600)  # the first time, the packages come over the network
def test_the_typescript_client() -> None:
    packages(ROOT)
    run("npx", "vitest", "run", directory=CLIENT, PYTHON=sys.executable)
