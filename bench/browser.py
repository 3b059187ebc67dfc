"""A child process with a browser: opens pages, scrolls, and says how long it took.

It is nice to the others: what is measured is the service, and people's browsers run elsewhere.
"""

import os
import shutil
import statistics
import sys
from contextlib import ExitStack
from typing import TypedDict

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.child import answer_questions

FLAGS = (
    "--no-sandbox --disable-background-networking --disable-component-update --disable-sync --no-first-run"
    # Each page believes that somebody looks at it.
    " --disable-renderer-backgrounding --disable-background-timer-throttling --disable-backgrounding-occluded-windows"
).split()
NICENESS = 10
OPEN_MS = 120_000
ROW = "perspective-viewer-datagrid[slot=joined] regular-table tbody tr td"

SCROLL = """
async ({ seconds, step }) => {
  const grid = document.querySelector("perspective-viewer-datagrid[slot=joined]");
  const table = grid.shadowRoot.querySelector("regular-table");
  const frames = [];
  const end = performance.now() + seconds * 1000;
  let before = performance.now();
  while (before < end) {
    table.scrollTop += step;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
  }
  return { frames: frames.slice(1), rows: Math.round(table.scrollTop / 23) };
}
"""


class Question(TypedDict):
    do: str
    """`open` or `close`, so many pages; or `scroll` the first one."""
    pages: int


class Pages:
    def __init__(self, browser: Browser, url: str) -> None:
        self._browser, self._url = browser, url
        self._open: list[tuple[BrowserContext, Page]] = []

    def answer(self, question: Question) -> dict[str, object]:
        match question["do"]:
            case "open":
                return {"ms": [self._open_one() for _ in range(question["pages"])]}
            case "close":
                for context, _ in self._open:
                    context.close()
                self._open.clear()
                return {}
            case _:
                return self._scroll()

    def _open_one(self) -> float:
        """Milliseconds until the first row is drawn, in a window whose cache is empty."""
        context = self._browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        self._open.append((context, page))
        page.goto(self._url, wait_until="commit")
        page.locator(ROW).first.wait_for(timeout=OPEN_MS)
        elapsed: float = page.evaluate("performance.now()")
        return elapsed

    def _scroll(self) -> dict[str, object]:
        _, page = self._open[0]
        seen = page.evaluate(SCROLL, {"seconds": 5, "step": 2_000})
        frames = sorted(seen["frames"])
        return {
            "rows": seen["rows"],
            "frames_per_second": round(1000 / statistics.mean(frames), 1),
            "p95_ms": round(frames[int(0.95 * len(frames))], 1),
            "longest_ms": round(frames[-1], 1),
        }


def main(url: str) -> None:
    os.nice(NICENESS)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with ExitStack() as stack:
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=chromium, args=FLAGS)
        answer_questions(Pages(browser, url).answer)


if __name__ == "__main__":
    main(sys.argv[1])
