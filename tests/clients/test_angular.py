"""The Angular example, built, and driven in Chromium before a real Turnout: one visit, whatever happens meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.running import USERS_AND_ACCOUNTS, RunningTurnout
from tests.clients.front import running_front
from tests.clients.node import built_angular
from tests.torture.users_kafka import free_port
from turnout.java import java_parts
from turnout.kafka.embedded import EmbeddedBroker

SOON_MS = 60_000
SWITCH_MS = 180_000
"""Spark starts another query, on two cores that other tests use too."""

PICTURES = Path("build/pictures")

# Notes the fewest rows that were ever drawn.
WATCH = """
() => {
  window.fewest = Infinity;
  const look = () => {
    window.fewest = Math.min(window.fewest, document.querySelectorAll("[role=table] [role=cell]").length / 6);
    requestAnimationFrame(look);
  };
  look();
}
"""


@pytest.fixture(scope="module")
def turnout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTurnout]:
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), java_parts(print).broker) as broker:
        running = RunningTurnout(broker, tmp_path_factory.mktemp("turnout"), USERS_AND_ACCOUNTS)
        for suffix, name in (("", "Ada"), ("_b", "Grace")):
            for number in range(3):
                running.send(
                    f"users{suffix}", userId=f"u{number}", name=f"{name} {number}", email=None, age=30 + number
                )
            running.send(f"accounts{suffix}", userId="u1", accountType="savings", balance=1234.5)
        running.start()
        try:
            running.until_ready()
            yield running
        finally:
            running.end()


@pytest.mark.browser
@pytest.mark.live
@pytest.mark.timeout(1200)  # packages and a build the first time, and two starts of Spark
def test_the_angular_example(turnout: RunningTurnout, browser: Browser) -> None:
    with running_front(built_angular(), turnout.url, free_port()) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        problems: list[str] = []
        context.on("weberror", lambda problem: problems.append(str(problem.error)))
        page = context.new_page()
        page.goto(url)

        rows_show_and_more_come(page, turnout)
        page.evaluate(WATCH)
        the_form_says_why_a_switch_is_rejected(page)
        a_switch_shows_the_new_rows_in_the_same_page(page)
        viewer = the_viewer_shows_them_too(page)
        a_restart_is_survived(page, viewer, turnout)

        assert page.evaluate("window.fewest") >= 1  # never an empty moment
        assert problems == []
        context.close()


def rows_show_and_more_come(page: Page, turnout: RunningTurnout) -> None:
    expect(cells(page, "Ada 1")).to_have_text(["u1", "Ada 1", "–", "31", "savings", "1,234.50"], timeout=SOON_MS)
    expect(page.get_by_text("3 rows")).to_be_visible()
    turnout.send("users", userId="u9", name="Ada 9", email="ada@example.com", age=99)
    expect(cells(page, "Ada 9")).to_have_text(["u9", "Ada 9", "ada@example.com", "99", "–", "–"], timeout=SOON_MS)


def the_form_says_why_a_switch_is_rejected(page: Page) -> None:
    page.get_by_label("Users topic").fill("nowhere")
    page.get_by_role("button", name="Switch").click()
    expect(page.get_by_text("Rejected:")).to_contain_text("nowhere", timeout=SOON_MS)
    expect(cells(page, "Ada 1")).to_have_count(6)
    picture(page, "angular-rejected")


def a_switch_shows_the_new_rows_in_the_same_page(page: Page) -> None:
    page.get_by_label("Users topic").fill("users_b")
    page.get_by_label("Accounts topic").fill("accounts_b")
    page.get_by_label("Join type").select_option("inner")
    page.get_by_role("button", name="Switch").click()
    expect(page.get_by_text("The switch: applied")).to_be_visible(timeout=SWITCH_MS)
    expect(cells(page, "Grace 1")).to_have_text(["u1", "Grace 1", "–", "31", "savings", "1,234.50"], timeout=SOON_MS)
    expect(page.get_by_text("Ada")).to_have_count(0)
    expect(page.locator("app-status-line")).to_contain_text("users_b inner join accounts_b")
    picture(page, "angular-switched")


def the_viewer_shows_them_too(page: Page) -> Page:
    """In a tab of its own."""
    viewer = page.context.new_page()
    viewer.goto(page.url)
    viewer.get_by_role("link", name="Viewer").click()
    expect(drawn_by_perspective(viewer)).to_contain_text(["Grace 1"], timeout=SOON_MS)
    return viewer


def a_restart_is_survived(page: Page, viewer: Page, turnout: RunningTurnout) -> None:
    turnout.end()
    for each in (page, viewer):
        expect(each.get_by_text("Connection lost")).to_be_visible(timeout=SOON_MS)
    expect(cells(page, "Grace 1")).to_have_count(6)
    expect(drawn_by_perspective(viewer)).to_contain_text(["Grace 1"])
    picture(page, "angular-lost")
    turnout.send("accounts_b", userId="u2", accountType="checking", balance=5)
    turnout.start()
    expect(cells(page, "Grace 2")).to_contain_text(["u2", "Grace 2"], timeout=SWITCH_MS)
    expect(drawn_by_perspective(viewer)).to_contain_text(["Grace 1", "Grace 2"], timeout=SOON_MS)
    for each in (page, viewer):
        expect(each.get_by_text("Connection lost")).to_have_count(0)
    picture(viewer, "angular-viewer")


def cells(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text).get_by_role("cell")


def drawn_by_perspective(page: Page) -> Locator:
    return page.locator("perspective-viewer-datagrid regular-table tbody tr")


def picture(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png")
