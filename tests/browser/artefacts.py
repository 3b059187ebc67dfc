"""Pictures that a run leaves, to be looked at: build/pictures."""

from pathlib import Path

from playwright.sync_api import Page

PICTURES = Path(__file__).parents[2] / "build" / "pictures"


def keep(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")
