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
    """To the demo's other pair of topics, as an inner join."""
    still(page)
    dialog = page.get_by_role("dialog", name="Switch to other topics")
    left, right = (dialog.get_by_label(f"Topics on the broker, for the {side} side") for side in ("left", "right"))
    return [
        (1.0, page.get_by_role("button", name="Switch…").click),
        (2.2, partial(left.select_option, "users_b")),
        (3.0, partial(right.select_option, "accounts_b")),
        (3.8, dialog.get_by_role("radio", name="inner").check),
        (5.0, dialog.get_by_role("button", name="Switch", exact=True).click),
        (9.0, dialog.get_by_role("button", name="Close").click),
    ]


SCENES: dict[str, Scene] = {"still": still, "switch": switch}
