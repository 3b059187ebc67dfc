"""Layouts, in Chromium: what people arrange stays, has a name, and can be handed on."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, StorageState, expect

from tests.browser.conftest import Open
from tests.browser.fed import FedTurnout
from tests.browser.visit import Visit
from tests.waiting import until

SECONDS = 30
PANELS = """async () => (await document.querySelector("perspective-viewer").saveWorkspace()).panels"""
REMEMBERED = """() => JSON.parse(localStorage.getItem("turnout.layout"))?.workspace.panels"""
THEMES = """() => [...document.querySelectorAll("perspective-viewer, perspective-viewer-datagrid[slot=joined]")]
  .map((each) => getComputedStyle(each).backgroundColor)"""

DEFAULT = sorted(["final_ui", "balance by accountType", "orchestrator_status", "orchestrator_logs"])


class Workspace:
    """The panels that somebody sees, and the menus over them."""

    def __init__(self, seen: Visit) -> None:
        self.seen, self.page = seen, seen.page

    @property
    def panels(self) -> dict[str, dict[str, Any]]:
        panels: dict[str, dict[str, Any]] = self.page.evaluate(PANELS)
        return panels

    @property
    def titles(self) -> list[str]:
        return sorted(panel["title"] for panel in self.panels.values())

    def until_titles(self, titles: list[str]) -> None:
        until(lambda: self.titles == sorted(titles), f"there are the panels {sorted(titles)}", SECONDS)

    def reload(self) -> None:
        """As somebody does who has looked at what they made for a moment."""
        until(lambda: self.page.evaluate(REMEMBERED) == self.panels, "the layout is remembered", SECONDS)
        self.page.reload()
        self.seen.until_connected()

    def choose(self, item: str) -> None:
        self.page.get_by_role("button", name="Layouts").click()
        self.item(item).click()

    def item(self, name: str) -> Locator:
        return self.page.get_by_role("group", name="Layouts").get_by_role("button", name=name, exact=True)

    def answer(self, text: str) -> None:
        self.page.locator("#ask input").fill(text)
        self.page.locator("#ask").get_by_role("button", name="Save").click()

    def save_as(self, name: str) -> None:
        self.choose("Save as…")
        self.answer(name)
        expect(self.seen.notice).to_contain_text(f"Layout {name} is saved")

    def close(self, panel: str) -> None:
        """By the menu that a right click on the panel's tab opens."""
        self.seen.tab(panel).click(button="right")
        self.page.locator("perspective-viewer").get_by_text("Close", exact=True).click()

    def header(self, panel: str, column: str) -> Locator:
        grid = self.page.locator(f"perspective-viewer-datagrid[slot={panel}]")
        return grid.get_by_role("columnheader", name=column)

    def export(self, path: Path) -> None:
        with self.page.expect_download() as download:
            self.choose("Export")
        download.value.save_as(path)

    def import_(self, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.choose("Import…")
        chooser.value.set_files(path)

    def copy_link(self) -> str:
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.choose("Copy link")
        expect(self.seen.notice).to_contain_text("A link to this layout is in the clipboard.")
        link: str = self.page.evaluate("() => navigator.clipboard.readText()")
        return link


def test_what_people_arrange_survives_a_reload(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.until_titles(DEFAULT)
    workspace.seen.add("control_raw")
    workspace.until_titles([*DEFAULT, "control_raw"])
    workspace.close("status")
    workspace.close("totals")
    left = [title for title in DEFAULT if title not in ("orchestrator_status", "balance by accountType")]
    workspace.until_titles([*left, "control_raw"])

    seen = workspace.seen
    seen.view("joined", filter=[["accountType", "==", "credit"]])
    workspace.header("joined", "balance").click()
    until(lambda: seen.config("joined")["sort"] == [["balance", "desc"]], "a click on a column sorts by it", SECONDS)
    seen.view("logs", group_by=["level"], split_by=["msg"], columns=["ts"])
    seen.until_drawn("joined", ["u29", "name 29", "name29@example.com", "49", "credit", "2,900.00"])
    workspace.reload()

    workspace.until_titles([*left, "control_raw"])
    joined, logs = workspace.panels["joined"], workspace.panels["logs"]
    assert (joined["filter"], joined["sort"]) == ([["accountType", "==", "credit"]], [["balance", "desc"]])
    assert (logs["group_by"], logs["split_by"], logs["columns"]) == (["level"], ["msg"], ["ts"])
    seen.until_drawn("joined", ["u29", "name 29", "name29@example.com", "49", "credit", "2,900.00"])
    assert len(seen.rows("joined")) == 10
    fed.add(32, "credit", 9000.0)
    seen.until_drawn("joined", ["u32", "name 32", "name32@example.com", "52", "credit", "9,000.00"])
    assert seen.complaints == []


def test_a_panel_is_renamed_on_its_tab(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.seen.tab("joined").dblclick()
    workspace.page.keyboard.type("Everybody's money")
    workspace.page.keyboard.press("Enter")
    expect(workspace.seen.tab("joined")).to_contain_text("Everybody's money")
    workspace.reload()
    expect(workspace.seen.tab("joined")).to_contain_text("Everybody's money")


def test_a_panel_is_renamed_and_closed_by_the_menu(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.seen.tab("status").click()
    workspace.choose("Rename panel…")
    expect(workspace.page.get_by_label("Title of the panel")).to_have_value("orchestrator_status")
    workspace.answer("Vitals")
    expect(workspace.seen.tab("status")).to_contain_text("Vitals")
    workspace.reload()
    expect(workspace.seen.tab("status")).to_contain_text("Vitals")
    workspace.choose("Close panel")
    workspace.until_titles([title for title in DEFAULT if title != "orchestrator_status"])
    workspace.reload()
    workspace.until_titles([title for title in DEFAULT if title != "orchestrator_status"])


def test_a_named_layout_is_kept_shown_and_deleted(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    mine = [title for title in DEFAULT if title != "balance by accountType"]
    workspace.until_titles(mine)
    workspace.save_as("No chart")
    workspace.choose("Default")
    workspace.until_titles(DEFAULT)
    workspace.choose("No chart")
    workspace.until_titles(mine)
    workspace.reload()
    workspace.until_titles(mine)
    workspace.choose("Delete the layout No chart")
    workspace.page.get_by_role("button", name="Layouts").click()
    expect(workspace.item("Default")).to_be_visible()
    expect(workspace.item("No chart")).to_have_count(0)
    workspace.until_titles(mine)  # what is shown stays


@pytest.mark.parametrize("how", ["Escape", "Cancel"])
def test_who_thinks_better_of_a_name_keeps_nothing(fed: FedTurnout, visit: Open, how: str) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.save_as("First")
    workspace.choose("Save as…")
    workspace.page.locator("#ask input").fill("Second")
    if how == "Escape":
        workspace.page.keyboard.press("Escape")
    else:
        workspace.page.locator("#ask").get_by_role("button", name="Cancel").click()
    expect(workspace.page.locator("#ask")).to_be_hidden()
    workspace.page.get_by_role("button", name="Layouts").click()
    expect(workspace.item("First")).to_be_visible()
    expect(workspace.item("Second")).to_have_count(0)


def test_a_layout_goes_from_browser_to_browser_as_a_file(
    fed: FedTurnout, visit: Open, browser: Browser, tmp_path: Path
) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    workspace.seen.view("joined", title="Rich people", filter=[["balance", ">", 2500]])
    workspace.save_as("Rich")
    workspace.export(tmp_path / "rich.json")
    with browser.new_context() as context:
        other = Workspace(Visit(context.new_page(), fed.url))
        other.import_(tmp_path / "rich.json")
        expect(other.seen.notice).to_contain_text("Layout Rich is imported.")
        assert other.panels == workspace.panels
        until(lambda: len(other.seen.rows("joined")) == 5, "the filter holds", SECONDS)
        other.choose("Default")
        other.until_titles(DEFAULT)
        other.choose("Rich")
        until(lambda: other.panels == workspace.panels, "the import is kept by its name", SECONDS)


NO_LAYOUTS = {
    "no JSON": ("lamp", "it is not a layout of Turnout"),
    "null": ("null", "it is not a layout of Turnout"),
    "other JSON": ('{"workspace": {"layout": {}, "panels": {}}}', "it is not a layout of Turnout"),
    "no panels": ('{"turnout": "layout", "workspace": {"layout": {}, "panels": {}}}', "it is not a layout of Turnout"),
    "another table": (
        '{"turnout": "layout", "workspace": {"layout": {}, "panels": {"a": {"table": "orders_ui"}}}}',
        "there is no table orders_ui",
    ),
}


@pytest.mark.parametrize("kind", NO_LAYOUTS)
def test_a_file_that_is_no_layout_changes_nothing(fed: FedTurnout, visit: Open, tmp_path: Path, kind: str) -> None:
    content, reason = NO_LAYOUTS[kind]
    workspace = Workspace(visit(fed.url))
    before = workspace.panels
    (tmp_path / "shopping.json").write_text(content)
    workspace.import_(tmp_path / "shopping.json")
    expect(workspace.seen.notice).to_have_text(f"shopping.json cannot be imported: {reason}.")
    assert workspace.panels == before
    assert workspace.seen.complaints == []


def test_a_link_shows_its_layout_and_takes_nothing_away(fed: FedTurnout, visit: Open, browser: Browser) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    workspace.seen.view("joined", title="From a link", sort=[["balance", "desc"]])
    shared, link = workspace.panels, workspace.copy_link()
    with browser.new_context() as context:
        own = Workspace(Visit(context.new_page(), fed.url))
        own.close("status")
        mine = [title for title in DEFAULT if title != "orchestrator_status"]
        own.until_titles(mine)
        own.reload()
        other = Workspace(Visit(context.new_page(), link))
        assert other.panels == shared
        expect(other.seen.notice).to_have_text(
            "This is the layout of the link. Yours is kept under Layouts, as Earlier layout."
        )
        assert other.page.url == f"{fed.url}/", "the address is clean again"
        other.reload()
        assert other.panels == shared, "it is the one that is remembered now"
        other.choose("Earlier layout")
        other.until_titles(mine)


def test_a_link_in_the_address_of_the_open_page(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    shared, link = workspace.panels, workspace.copy_link()
    workspace.choose("Default")
    workspace.until_titles(DEFAULT)
    workspace.page.evaluate("(link) => { location.href = link; }", link)
    expect(workspace.seen.notice).to_contain_text("This is the layout of the link.")
    assert workspace.panels == shared
    assert workspace.page.url == f"{fed.url}/"
    workspace.choose("Earlier layout")
    workspace.until_titles(DEFAULT)


def test_without_any_panel_there_is_still_the_menu(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    for _ in DEFAULT:
        before = workspace.titles
        workspace.choose("Close panel")
        until(lambda: workspace.titles != before, "it is gone", SECONDS)  # noqa: B023 - it is called at once
    assert workspace.panels == {}
    workspace.page.get_by_role("button", name="Layouts").click()
    expect(workspace.item("Save as…")).to_be_visible()
    expect(workspace.item("Close panel")).to_have_count(0)
    workspace.page.keyboard.press("Escape")
    workspace.seen.add("final_ui")
    workspace.until_titles(["final_ui"])
    workspace.reload()
    workspace.until_titles(["final_ui"])
    assert workspace.seen.complaints == []


def test_a_newcomer_has_nothing_to_keep(fed: FedTurnout, visit: Open, browser: Browser) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    link = workspace.copy_link()
    with browser.new_context() as context:
        other = Workspace(Visit(context.new_page(), link))
        expect(other.seen.notice).to_have_text("This is the layout of the link.")
        assert other.panels == workspace.panels


def test_a_link_that_was_cut_says_so_and_shows_what_was_there(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    workspace.close("totals")
    link = workspace.copy_link()
    workspace.reload()
    before = workspace.panels
    other = Workspace(visit(link[: len(link) // 2]))
    expect(other.seen.notice).to_have_text("The layout of the link cannot be shown: a part of it is missing.")
    assert other.panels == before
    assert other.seen.complaints == []


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "table": ({"table": "orders_ui"}, "there is no table orders_ui"),
    "column": ({"columns": ["userId", "shoeSize"]}, "table final_ui has no column shoeSize"),
    "group": ({"group_by": ["shoeSize"]}, "table final_ui has no column shoeSize"),
    "filter": ({"filter": [["shoeSize", ">", 40]]}, "table final_ui has no column shoeSize"),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_a_remembered_layout_of_another_configuration(fed: FedTurnout, browser: Browser, kind: str) -> None:
    panel, reason = MISFITS[kind]
    layout = {"type": "tab-layout", "tabs": ["joined"], "selected": 0}
    panels: dict[str, Any] = {"joined": {"table": "final_ui", "title": "final_ui", **panel}}
    remembered = json.dumps({"workspace": {"layout": layout, "panels": panels}, "active": "joined"})
    with browser.new_context(storage_state=storage(fed.url, remembered)) as context:
        workspace = Workspace(Visit(context.new_page(), fed.url))
        expect(workspace.seen.notice).to_have_text(
            f"Your layout does not fit this server: {reason}. It is kept under Layouts, as Earlier layout."
        )
        workspace.until_titles(DEFAULT)
        workspace.seen.until_row("joined", userId="u1")
        workspace.choose("Earlier layout")
        expect(workspace.seen.notice).to_have_text(f"Layout Earlier layout does not fit this server: {reason}.")
        workspace.until_titles(DEFAULT)
        assert workspace.seen.complaints == []


def test_what_is_no_layout_at_all_is_not_shown(fed: FedTurnout, browser: Browser) -> None:
    with browser.new_context(storage_state=storage(fed.url, '{"workspace": 7')) as context:
        workspace = Workspace(Visit(context.new_page(), fed.url))
        workspace.until_titles(DEFAULT)
        assert workspace.seen.complaints == []


def storage(url: str, remembered: str) -> StorageState:
    """A browser that remembers this as the layout."""
    return {"origins": [{"origin": url, "localStorage": [{"name": "turnout.layout", "value": remembered}]}]}


def test_panels_are_light_or_dark_as_the_system_is(fed: FedTurnout, visit: Open) -> None:
    workspace = Workspace(visit(fed.url))
    seen, page = workspace.seen, workspace.page
    seen.view("joined", filter=[["accountType", "==", "credit"]])
    light = page.evaluate(THEMES)
    page.emulate_media(color_scheme="dark")
    until(lambda: set(page.evaluate(THEMES)).isdisjoint(light), "the panels are dark", SECONDS)
    until(lambda: {panel["theme"] for panel in workspace.panels.values()} == {"Pro Dark"}, "each of them is", SECONDS)
    assert seen.config("joined")["filter"] == [["accountType", "==", "credit"]]
    seen.until_row("joined", userId="u2", accountType="credit")
    workspace.seen.add("users_ui")
    until(lambda: [panel["theme"] for panel in workspace.panels.values()] == ["Pro Dark"] * 5, "a new one too", SECONDS)

    workspace.reload()
    assert {panel["theme"] for panel in workspace.panels.values()} == {"Pro Dark"}
    page.emulate_media(color_scheme="light")
    until(lambda: page.evaluate(THEMES) == light, "the panels are light again", SECONDS)
    assert json.dumps(workspace.panels).count("Pro Light") == 5
