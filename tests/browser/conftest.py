"""One Turnout for the whole run, and a fresh browser window for each test."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.running import RunningTurnout
from tests.browser.visit import Visit
from turnout.java import java_parts
from turnout.kafka.embedded import EmbeddedBroker

# The first is for root, as in a container; the others keep the browser itself from asking around.
FLAGS = (
    "--no-sandbox --disable-background-networking --disable-component-update --disable-sync --no-first-run"
).split()

Open = Callable[[str], Visit]

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def turnout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTurnout]:
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), java_parts(print).broker) as broker:
        running = RunningTurnout(broker, tmp_path_factory.mktemp("turnout"))
        try:
            running.until_ready()
            yield running
        finally:
            running.end()


@pytest.fixture(scope="module")  # not the session: while it runs, no other test of this process can have an event loop
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert chromium, "The browser tests need Chromium: install it (Debian: apt install chromium), or set CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


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
            item.add_marker(pytest.mark.timeout(300))  # the first one waits for all of Turnout to start
