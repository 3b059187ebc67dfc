"""What is done on the page while it is recorded. A scene gets the open page, makes it ready for the first frame, and
returns its steps: at which second to do what."""

from collections.abc import Callable
from functools import partial

from playwright.sync_api import Page, expect

Step = tuple[float, Callable[[], object]]
Scene = Callable[[Page], list[Step]]

READY_MS = 60_000


def still(page: Page) -> list[Step]:
    """Nothing: rows arrive by themselves."""
    expect(page.locator("#connection")).to_have_text("connected", timeout=READY_MS)
    page.locator("perspective-viewer-datagrid tbody td").first.wait_for(timeout=READY_MS)
    return []


def switch(page: Page) -> list[Step]:
    """To the demo's other pair of topics."""
    still(page)
    users, accounts = page.get_by_label("usersTopic"), page.get_by_label("accountsTopic")
    return [
        (1.0, users.click),
        *typed(page, "users_b", at=1.4),
        (2.4, accounts.click),
        *typed(page, "accounts_b", at=2.8),
        (4.4, page.get_by_role("button", name="Switch").click),
    ]


def typed(page: Page, text: str, at: float) -> list[Step]:
    """Key by key, as fast as people type."""
    return [(at + 0.1 * number, partial(page.keyboard.type, key)) for number, key in enumerate(text)]


SCENES: dict[str, Scene] = {"still": still, "switch": switch}
