"""The login page and what comes after it, in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.artefacts import keep
from tests.browser.fed import FedTurnout
from tests.browser.visit import LOAD_MS
from tests.serve.security.guarded import OPERATOR, TOKENS, VIEWER, WRONG


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[FedTurnout]:
    """Open to a viewer's and an operator's token."""
    guarded = FedTurnout({"TURNOUT_SERVE__AUTH__TOKENS": repr(TOKENS), "TURNOUT_STATE_DIR": str(tmp_path)})
    yield guarded
    guarded.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def until_connected(page: Page) -> None:
    expect(page.locator("#connection")).to_have_text("connected", timeout=LOAD_MS)


def test_a_viewer_looks_on_and_an_operator_switches(guarded: FedTurnout, page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(guarded.url)
    expect(page).to_have_url(f"{guarded.url}/login", timeout=LOAD_MS)
    log_in(page, WRONG)
    expect(page.get_by_role("alert")).to_have_text("This token is not known here.", timeout=LOAD_MS)
    keep(page, "login")

    log_in(page, VIEWER)
    expect(page).to_have_url(f"{guarded.url}/", timeout=LOAD_MS)
    until_connected(page)
    expect(page.locator("#user")).to_contain_text("wall-screen (viewer)")
    expect(page.get_by_role("button", name="Switch…")).to_be_disabled()
    keep(page, "viewer")

    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{guarded.url}/login", timeout=LOAD_MS)
    log_in(page, OPERATOR)
    until_connected(page)
    expect(page.locator("#user")).to_contain_text("deploy-bot (operator)")
    page.get_by_role("button", name="Switch…").click()
    dialog = page.get_by_role("dialog", name="Switch to other topics, or another join")
    dialog.get_by_role("radio", name=re.compile("^inner ")).check()
    dialog.get_by_role("button", name="Switch", exact=True).click()
    expect(page.locator("#outcome")).to_contain_text("Applied", timeout=LOAD_MS)
    assert len(guarded.published.values) == 1
    assert complaints == []


def test_when_the_login_ends_elsewhere_the_page_goes_to_the_login(guarded: FedTurnout, page: Page) -> None:
    page.goto(f"{guarded.url}/login")
    log_in(page, VIEWER)
    until_connected(page)
    other = page.context.new_page()
    other.goto(guarded.url)
    until_connected(other)
    other.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{guarded.url}/login?next=%2F", timeout=LOAD_MS)


def test_where_nobody_is_asked_nobody_is_shown(fed: FedTurnout, page: Page) -> None:
    page.goto(fed.url)
    until_connected(page)
    expect(page.locator("#user")).to_be_hidden()
    expect(page.get_by_role("button", name="Switch…")).to_be_enabled()
