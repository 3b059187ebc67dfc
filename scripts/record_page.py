"""Records what people see on the page as an animated picture, in Chromium, while a scene is played.

`python -m scripts.record_page http://127.0.0.1:8400 switch.webp --seconds 10 --script switch`, with a demo there.
"""

import argparse
import base64
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

from scripts.moving_picture import Frame, write
from scripts.scenes import SCENES, Step

SIZE = ViewportSize(width=1280, height=800)
FRAMES_PER_SECOND = 5
"""People follow it, and a file stays small enough for a README."""

# A picture of a page has no mouse pointer. In the top layer, and put there again and again, to be above dialogs.
POINTER = """
addEventListener("DOMContentLoaded", () => {
  const pointer = document.createElement("div");
  pointer.popover = "manual";
  pointer.innerHTML = `<svg width="20" height="24" style="display: block" fill="black" stroke="white">
    <path d="M2 1 L2 19 L6.5 15 L9.5 22 L13 20.5 L10 14 L16 14 Z" stroke-width="1.5"/></svg>`;
  pointer.style = "inset: auto; margin: 0; padding: 0; border: 0; background: none; pointer-events: none";
  pointer.ariaHidden = "true";
  document.body.append(pointer);
  addEventListener("mousemove", ({ clientX, clientY }) => {
    Object.assign(pointer.style, { left: `${clientX - 2}px`, top: `${clientY - 1}px` });
    pointer.hidePopover();
    pointer.showPopover();
  }, true);
});
"""


def main() -> int:
    options = _options()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium:
        print("Recording needs Chromium: install it (Debian: apt install chromium), or set CHROMIUM.", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])  # may be root
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.add_init_script(POINTER)
        page.goto(options.url)
        frames = list(recorded(page, SCENES[options.script](page), options.seconds))
        browser.close()
    write(options.out, frames, options.seconds)
    print(f"{options.out}: {len(frames)} frames taken, {options.out.stat().st_size / 1e6:.2f} MB")
    return 0


def recorded(page: Page, steps: list[Step], seconds: float) -> Iterator[Frame]:
    """A frame at each tick; a busy machine leaves some out, and the rest keep their time."""
    camera = page.context.new_cdp_session(page)
    start = time.monotonic()
    todo = sorted(steps, key=lambda step: step[0])
    while (now := time.monotonic() - start) < seconds:
        while todo and todo[0][0] <= now:
            _, action = todo.pop(0)
            action()
        # Takes 0.06 s where Playwright's own screenshot takes 0.3.
        shot = camera.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        yield Frame(now, base64.b64decode(shot["data"]))
        passed = (time.monotonic() - start) * FRAMES_PER_SECOND
        page.wait_for_timeout((math.ceil(passed) - passed) / FRAMES_PER_SECOND * 1000)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record the page as an animated picture.")
    parser.add_argument("url", help="of the page")
    parser.add_argument("out", type=Path, help="the file to write, an animated WebP")
    parser.add_argument("--seconds", type=float, default=10, help="how long it plays (default: %(default)s)")
    parser.add_argument("--script", choices=SCENES, default="switch", help="what is done on the page meanwhile")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
