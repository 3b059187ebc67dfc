"""One Turnout for the whole run, and a fresh browser window for each test."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import started_chromium
from tests.browser.fed import FedTurnout
from tests.browser.running import ORDERS_AND_PAYMENTS, RunningTurnout
from tests.browser.visit import Visit
from turnout.java import java_parts
from turnout.kafka.embedded import EmbeddedBroker

Open = Callable[[str], Visit]

_numbers = itertools.count(1)

# Playwright's own five seconds are few on a machine that is busy with other things.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="package")
def turnout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTurnout]:
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), java_parts(print).broker) as broker:
        running = RunningTurnout(broker, tmp_path_factory.mktemp("turnout"), ORDERS_AND_PAYMENTS)
        running.start()
        try:
            running.until_ready()
            yield running
        finally:
            running.end()


@pytest.fixture(scope="module")  # not longer: while it runs, no other test can have an event loop
def browser() -> Iterator[Browser]:
    with started_chromium() as browser:
        yield browser


@pytest.fixture
def fed() -> Iterator[FedTurnout]:
    fed = FedTurnout()
    yield fed
    fed.stop()


@pytest.fixture
def number(turnout: RunningTurnout) -> int:
    """Of an order in each pair of topics, which only this test uses; the first pair is shown."""
    number = next(_numbers)
    turnout.send("orders", orderId=number, item="lamp from a", price=12.5)
    turnout.send("orders_b", orderId=number, item="chair from b", price=80)
    turnout.send("payments_b", orderId=number, method="card")
    turnout.switch(ordersTopic="orders", paymentsTopic="payments", joinType="left")
    return number


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens the page at an address, in a window with a profile of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield lambda url: Visit(context.new_page(), url)
    context.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(900))  # the first one waits for all of Turnout to start
