"""Somebody who has the page open: what they see, and what their browser did for it."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.waiting import until

LOAD_MS = 60_000
"""6 MB of JavaScript and WebAssembly, compiled on two busy cores."""

DRAWN_SECONDS = 60

# Looks at the joined table's panel at every frame, and at its view at every update: how many rows, and of which topics.
WATCH = """
async () => {
  const grid = document.querySelector("perspective-viewer-datagrid[slot=joined]");
  const seen = { frames: 0, updates: 0, fewest: Infinity, kinds: new Set() };
  const look = () => {
    const rows = [...grid.shadowRoot.querySelectorAll("regular-table tbody tr")];
    seen.frames += 1;
    seen.fewest = Math.min(seen.fewest, rows.length);
    seen.kinds.add([...new Set(rows.map((row) => row.textContent.includes("from b") ? "b" : "a"))].sort().join("+"));
    requestAnimationFrame(look);
  };
  look();
  const view = await document.querySelector("perspective-viewer").getView({ panel: "joined" });
  await view.on_update(async () => {
    seen.updates += 1;
    seen.fewest = Math.min(seen.fewest, await view.num_rows());
  });
  window.watched = { grid, view, seen };
}
"""
WATCHED = """
async () => {
  const { grid, seen } = window.watched;
  const same = grid.isConnected && grid === document.querySelector("perspective-viewer-datagrid[slot=joined]");
  return { same, frames: seen.frames, updates: seen.updates, fewest: seen.fewest, kinds: [...seen.kinds] };
}
"""
VIEWED = """
async (panel) => (await document.querySelector("perspective-viewer").getView({ panel })).to_json()
"""
RESTORE = """
([panel, config]) => document.querySelector("perspective-viewer").restore(config, { panel })
"""
SAVED = """
async (panel) => (await document.querySelector("perspective-viewer").saveWorkspace()).panels[panel]
"""

PANELS = """() => document.querySelector("perspective-viewer").getPanelNames()"""


class Visit:
    def __init__(self, page: Page, url: str) -> None:
        self.page, self._url = page, url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(url)
        self.until_connected()

    def until_connected(self) -> None:
        expect(self.page.locator("#connection")).to_have_text("connected", timeout=LOAD_MS)
        expect(self.page.locator("body[data-panels=shown]")).to_be_visible(timeout=LOAD_MS)

    def cells(self, panel: str) -> list[list[str]]:
        """The rows that are drawn: the texts of their cells."""
        rows = self.page.locator(f"perspective-viewer-datagrid[slot={panel}] regular-table tbody tr")
        drawn: list[str] = rows.all_inner_texts()
        return [row.strip().split("\t") for row in drawn]

    def rows(self, panel: str) -> list[dict[str, Any]]:
        """The rows of the panel's own view."""
        rows: list[dict[str, Any]] = self.page.evaluate(VIEWED, panel)
        return rows

    def until_drawn(self, panel: str, row: list[str]) -> None:
        try:
            until(lambda: row in self.cells(panel), f"{row} is drawn in {panel}", DRAWN_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; what is drawn: {self.cells(panel)}") from None

    def until_row(self, panel: str, **values: object) -> None:
        """The panel's view has a row with these values, whether or not it is in sight."""
        found = f"{values} is in the view of {panel}"
        until(lambda: any(values.items() <= row.items() for row in self.rows(panel)), found, DRAWN_SECONDS)

    def watch(self) -> None:
        self.page.evaluate(WATCH)

    def watched(self) -> dict[str, Any]:
        watched: dict[str, Any] = self.page.evaluate(WATCHED)
        return watched

    def tab(self, panel: str) -> Locator:
        return self.page.locator(f"perspective-viewer-tab[slot=tab-{panel}]")

    @property
    def panels(self) -> set[str]:
        return set(self.page.evaluate(PANELS))

    def add(self, table: str) -> str:
        """A panel more, by the menu; its id."""
        before = self.panels
        self.page.get_by_role("button", name="Add panel").click()
        self.page.get_by_role("group", name="Add a panel").get_by_role("button", name=table).click()
        until(lambda: len(self.panels) > len(before), f"there is a panel of {table}", DRAWN_SECONDS)
        (panel,) = self.panels - before
        return panel

    def view(self, panel: str, **config: object) -> None:
        """Set a panel's filter, sort, groups or columns, as its settings would."""
        self.page.evaluate(RESTORE, [panel, config])

    def only(self, number: int) -> None:
        """Show this order alone: other tests may have sent more than fits on the screen."""
        self.view("joined", filter=[["orderId", "==", number]])

    def config(self, panel: str) -> dict[str, Any]:
        """What a panel is set to, as it would be saved."""
        saved: dict[str, Any] = self.page.evaluate(SAVED, panel)
        return saved

    def scroll(self, panel: str, top: int) -> None:
        self._grid(panel).evaluate("(table, top) => { table.scrollTop = top; }", top)

    def scrolled(self, panel: str) -> int:
        top: int = self._grid(panel).evaluate("(table) => table.scrollTop")
        return top

    def _grid(self, panel: str) -> Locator:
        return self.page.locator(f"perspective-viewer-datagrid[slot={panel}] regular-table")

    @property
    def notice(self) -> Locator:
        return self.page.locator("#notice")

    @property
    def outcome(self) -> Locator:
        return self.page.locator("#outcome")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog", name="Switch to other topics, or another join")

    def open_switch(self) -> None:
        self.page.get_by_role("button", name="Switch…").click()
        expect(self.dialog).to_be_visible()

    def fill(self, **fields: str) -> None:
        """The fields of the dialog, by what the configuration calls them."""
        for label, value in fields.items():
            if label == "joinType":
                self.dialog.get_by_role("radio", name=re.compile(f"^{value} ")).check()
            else:
                self.dialog.get_by_label(label, exact=True).fill(value)

    @property
    def send_button(self) -> Locator:
        return self.dialog.get_by_role("button", name="Switch", exact=True)

    def value(self, name: str) -> Locator:
        """One of the header's values."""
        return self.page.locator(f"header [data-value={name}]")

    def elsewhere(self) -> list[str]:
        """Requests that went to another server."""
        own = (self._url, f"blob:{self._url}", "data:")
        return [url for url in self.requests if not url.startswith(own)]
