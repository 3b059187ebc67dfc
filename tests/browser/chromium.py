"""Chromium as tests drive it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# The first is for root, as in a container; the others keep the browser itself from asking around.
FLAGS = (
    "--no-sandbox --disable-background-networking --disable-component-update --disable-sync --no-first-run"
).split()


@contextmanager
def started_chromium() -> Iterator[Browser]:
    """While it runs, no other code of this thread can have an event loop."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert chromium, "The browser tests need Chromium: install it (Debian: apt install chromium), or set CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()
