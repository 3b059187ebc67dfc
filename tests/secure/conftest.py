"""What needs the broker is a live test."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "secure" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.live)
