"""Whoever uses the page, on whatever screen, in Chromium: by keyboard, by screen reader, in light and dark."""

import itertools
import logging
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.artefacts import keep
from tests.browser.conftest import Open
from tests.browser.fed import FedTurnout
from tests.browser.visit import Visit
from turnout.orchestrator.states import State

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

# Perspective's element is not ours to mend.
CHECK = """
async () => {
  const { violations } = await axe.run({ exclude: ["perspective-viewer"] }, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => [id, help, ...nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)]);
}
"""
FOCUSED = """
() => {
  const it = document.activeElement;
  return it.getAttribute("aria-label") || it.labels?.[0]?.innerText.trim() || it.id || it.innerText.trim();
}
"""
# What has no text of its own but for that of others is left out: only what people read or press can be cut or covered.
BOXES = """
() => [...document.querySelectorAll("header h1, header dt:not(.unseen), header dd, header button, header progress, " +
    "#connection")]
  .filter((each) => each.checkVisibility() && !each.querySelector("button") && each.textContent.trim() !== "" ||
    each.matches("progress:not([hidden])"))
  .map((each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    const cut = each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline" && !each.title;
    return { what: each.dataset.value || each.id || each.textContent.trim(), left, top, right, bottom, cut };
  })
"""
SIDEWAYS = """() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"""

SIZES: list[ViewportSize] = [
    {"width": 1280, "height": 800},
    {"width": 2560, "height": 1440},
    {"width": 1024, "height": 700},
]
Scheme = Literal["light", "dark"]


@pytest.fixture
def busy(fed: FedTurnout) -> FedTurnout:
    """With something to see in each part of the page."""
    fed.hurry()
    id_ = fed.control('{"usersTopic": "nowhere"}', "rejected: topic 'nowhere' does not exist")
    fed.log("Building a pipeline on users + accounts")
    fed.log("The broker is slow", logging.WARNING)
    fed.log(f"Rejected control message {id_}: topic 'nowhere' does not exist", logging.ERROR)
    fed.reject('{"userId": "u1", "age":', "it is not JSON: the end is missing")
    return fed


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(busy: FedTurnout, visit: Open, scheme: Scheme) -> None:
    seen = visit(busy.url)
    page = seen.page
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(AXE.read_text())  # by the browser's own door: the page itself runs no script but its own
    assert page.evaluate(CHECK) == []

    seen.open_switch()
    seen.fill(usersTopic="users_b")
    expect(page.locator("#preview")).to_contain_text("users_b")
    assert page.evaluate(CHECK) == []
    seen.fill(usersTopic="nowhere")
    expect(page.locator("#preview")).to_contain_text("does not exist")
    assert page.evaluate(CHECK) == []
    keep(page, f"switch-refused-{scheme}")
    page.keyboard.press("Escape")

    for menu in ("Add panel", "Layouts"):
        page.get_by_role("button", name=menu).click()
        assert page.evaluate(CHECK) == []
        page.keyboard.press("Escape")

    for opener in (page.get_by_role("button", name="Log", exact=True), page.locator("#rejected")):
        opener.click()
        assert page.evaluate(CHECK) == []
    page.get_by_role("button", name="Log", exact=True).click()
    keep(page, f"log-{scheme}")
    page.get_by_role("button", name="0:0").click()
    assert page.evaluate(CHECK) == []


def test_the_notice_can_be_read(busy: FedTurnout, visit: Open) -> None:
    seen = visit(busy.url)
    seen.page.evaluate(AXE.read_text())
    for scheme, message in (
        ("light", "control message 0:1 rejected: no"),
        ("dark", "control message 0:2 rejected: no"),
    ):
        seen.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        busy.show("users", "accounts", message=message)
        expect(seen.notice).to_contain_text(f"C{message[1:]}")
        assert seen.page.evaluate(CHECK) == []


def focused(page: Page) -> str:
    name: str = page.evaluate(FOCUSED)
    return name


def tab(page: Page, times: int) -> list[str]:
    """What has the focus after each press."""
    names = []
    for _ in range(times):
        page.keyboard.press("Tab")
        names.append(focused(page))
    return names


def test_the_header_by_keyboard(busy: FedTurnout, visit: Open) -> None:
    page = visit(busy.url).page
    assert tab(page, 5) == ["Switch…", "Add panel", "Layouts", "Log", "rejected"]


def test_the_switch_dialog_by_keyboard(busy: FedTurnout, visit: Open) -> None:
    seen = visit(busy.url)
    page, opener = seen.page, seen.page.get_by_role("button", name="Switch…")
    opener.focus()
    page.keyboard.press("Enter")
    expect(seen.dialog.get_by_label("usersTopic", exact=True)).to_be_focused()
    expect(page.locator("#preview")).to_contain_text("live")
    page.keyboard.press("Enter")  # there is nothing to send yet
    expect(seen.outcome).to_have_text("")
    page.keyboard.press("Escape")
    expect(seen.dialog).to_be_hidden()
    expect(opener).to_be_focused()

    page.keyboard.press("Enter")
    expect(seen.dialog).to_be_visible()
    page.keyboard.press("Tab")
    offered = seen.dialog.get_by_label("Topics on the broker, for the left side")
    expect(offered.get_by_role("option", name="users_b")).to_be_attached()
    page.keyboard.press("End")  # of the topics that are offered
    expect(seen.dialog.get_by_label("usersTopic", exact=True)).to_have_value("accounts_b")
    page.keyboard.press("ArrowUp")
    expect(seen.dialog.get_by_label("usersTopic", exact=True)).to_have_value("users_b")
    assert tab(page, 2) == ["accountsTopic", "Topics on the broker, for the right side"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # to the next join type
    expect(page.locator("#preview")).to_contain_text("joinType: left → inner")
    expect(seen.send_button).to_be_enabled()
    assert tab(page, 2) == ["Undo last switch", "Switch"]
    page.keyboard.press("Enter")
    expect(seen.outcome).to_contain_text("Applied in")
    assert b'"usersTopic":"users_b"' in busy.published.values[-1]
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()


def test_the_menus_by_keyboard(busy: FedTurnout, visit: Open) -> None:
    seen = visit(busy.url)
    page = seen.page
    add, menu = page.get_by_role("button", name="Add panel"), page.get_by_role("group", name="Add a panel")
    add.focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(add).to_be_focused()

    page.keyboard.press("Enter")
    expect(menu.get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("button").last).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(menu.get_by_role("button").nth(2)).to_be_focused()
    before = seen.page.locator("perspective-viewer-tab").count()
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
    expect(page.locator("perspective-viewer-tab")).to_have_count(before + 1)

    layouts = page.get_by_role("button", name="Layouts")
    layouts.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save as…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name of the layout")).to_be_focused()
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    expect(seen.notice).to_contain_text("Layout By keyboard is saved")
    expect(layouts).to_be_focused()


@pytest.mark.parametrize(
    ("opener", "content", "inside"),
    [("[data-drawer=log]", "Log lines", "0:0"), ("[data-drawer=rejected]", "Rejected records", "Copy")],
)
def test_the_drawer_by_keyboard(busy: FedTurnout, visit: Open, opener: str, content: str, inside: str) -> None:
    page = visit(busy.url).page
    drawer = page.get_by_role("region", name="Log and rejected records")
    page.locator(opener).focus()
    page.keyboard.press("Enter")
    expect(drawer.get_by_role("list", name=content)).to_be_focused()
    button = drawer.get_by_role("button", name=inside)
    expect(button).to_be_visible()  # the rows come a moment after the drawer
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.locator(opener)).to_be_focused()


def overlapping(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (one["what"], other["what"])
        for one, other in itertools.combinations(boxes, 2)
        if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1
    ]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
@pytest.mark.parametrize("kind", ["short", "long"])
def test_nothing_is_cut_or_covered(busy: FedTurnout, browser: Browser, size: ViewportSize, kind: str) -> None:
    if kind == "long":
        lags = {"users-of-the-eastern-region-v2": 1_234_567, "accounts-of-the-eastern-region-v2": None}
        busy.service.lag = lambda: dict(lags)  # type: ignore[method-assign]
        words = "building generation 12 for users-of-the-eastern-region-v2 + accounts-of-the-eastern-region-v2 (full)"
        left, right = lags
        busy.show(left, right, words, State.CATCHING_UP)
    with browser.new_context(viewport=size) as context:
        seen = Visit(context.new_page(), busy.url)
        expect(seen.value("state")).to_have_text("catching up" if kind == "long" else "live")
        expect(seen.value("lag")).to_have_text(
            "none"
            if kind == "short"
            else "users-of-the-eastern-region-v2 1,234,567, accounts-of-the-eastern-region-v2 unknown"
        )
        boxes = seen.page.evaluate(BOXES)
        keep(seen.page, f"header-{kind}-{size['width']}")
        assert len(boxes) > 15
        assert overlapping(boxes) == []
        assert [box["what"] for box in boxes if box["cut"]] == []
        assert [box for box in boxes if box["left"] < 0 or box["right"] > size["width"]] == []
        assert seen.page.evaluate(SIDEWAYS) <= 0
        for opener in seen.page.locator("[data-drawer]").all():
            opener.click()
            assert seen.page.evaluate(SIDEWAYS) <= 0
        for menu in ("Add panel", "Layouts"):
            seen.page.get_by_role("button", name=menu).click()
            expect(seen.page.locator(".menu:popover-open")).to_be_in_viewport(ratio=1)
            seen.page.keyboard.press("Escape")
        assert seen.complaints == []  # before the dialog: the browser reports each preview that is refused
        seen.open_switch()
        for each in (seen.dialog, seen.send_button):
            expect(each).to_be_in_viewport(ratio=1)
        assert seen.elsewhere() == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (2560, "light")])
def test_pictures_of_the_first_layout(busy: FedTurnout, browser: Browser, width: int, scheme: Scheme) -> None:
    size: ViewportSize = {"width": width, "height": 800 if width == 1280 else 1440}
    with browser.new_context(viewport=size, color_scheme=scheme) as context:
        seen = Visit(context.new_page(), busy.url)
        seen.until_drawn("joined", ["u1", "name 1", "name1@example.com", "21", "checking", "100.00"])
        expect(seen.page.locator("[slot=totals]")).to_be_visible()
        keep(seen.page, f"first-layout-{width}-{scheme}")
