"""Somebody who has the page open: what they see, and what their browser did for it."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.waiting import until

LOAD_MS = 30_000
"""6 MB of JavaScript and WebAssembly, compiled on two busy cores."""

DRAWN_SECONDS = 30

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

    def watch(self) -> None:
        self.page.evaluate(WATCH)

    def watched(self) -> dict[str, Any]:
        watched: dict[str, Any] = self.page.evaluate(WATCHED)
        return watched

    def fill(self, **fields: str) -> None:
        for label, value in fields.items():
            field = self.page.get_by_label(label)
            if label == "joinType":
                field.select_option(value)
            else:
                field.fill(value)

    @property
    def switch_button(self) -> Locator:
        return self.page.get_by_role("button", name="Switch")

    @property
    def outcome(self) -> Locator:
        return self.page.locator("#outcome")

    def elsewhere(self) -> list[str]:
        """Requests that went to another server."""
        own = (self._url, f"blob:{self._url}", "data:")
        return [url for url in self.requests if not url.startswith(own)]
