"""A user of a test's own. What needs the broker is a live test."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation

from tests.secure.logins import Setting


@pytest.fixture
def user(at: Setting) -> Iterator[str]:
    """With the password `first`, for SCRAM, and the right to read the readable topic."""
    name = f"user-{uuid4().hex[:8]}"
    at.secure.set_password(name, "first")
    at.secure.allow(name, AclOperation.READ, at.topic)
    yield name
    at.secure.revoke(name, AclOperation.READ, at.topic)
    at.secure.remove_user(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "secure" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.live)
