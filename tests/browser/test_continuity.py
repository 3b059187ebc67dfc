"""The page stays open: whatever happens, panels, filters, sorts, groups and scroll positions stay, in Chromium."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.line import Line
from tests.browser.running import RunningTurnout
from tests.browser.visit import DRAWN_SECONDS, Visit
from tests.waiting import until

ROWS = 120  # more than a panel shows, so that there is something to scroll
SCROLL, ROW_HEIGHT = 700, 23
BACK_MS = 60_000
RESTART_MS = 420_000

# Looks at every frame, until it has seen the row drawn by a page whose server has nothing to show yet.
WATCH_WAITING = """
(wanted) => {
  window.stayed = false;
  const look = () => {
    const grid = document.querySelector("perspective-viewer-datagrid[slot=joined]");
    const rows = [...(grid?.shadowRoot?.querySelectorAll("regular-table tbody tr") ?? [])];
    const isDrawn = rows.some((row) => [...row.cells].map((cell) => cell.innerText.trim()).join() === wanted.join());
    const isWaiting = document.querySelector("#notice").textContent.includes("Turnout has started anew");
    const isLive = document.querySelector("header [data-value=state]").textContent.trim() === "live";
    if (isDrawn && isWaiting && !isLive) window.stayed = true;
    else requestAnimationFrame(look);
  };
  look();
}
"""

Open = Callable[[str], Visit]


class Arranged:
    """A page on which somebody has set things: a filter and a sort, a scroll position, groups that are folded."""

    def __init__(self, turnout: RunningTurnout, seen: Visit, number: int) -> None:
        self.seen, self.number = seen, number
        self.item = f"item {number}"
        for row in range(ROWS):
            turnout.send("orders", orderId=number * 1000 + row, item=self.item, price=row)
        self.filter, self.sort = [["item", "==", self.item]], [["price", "desc"]]
        seen.view("joined", filter=self.filter, sort=self.sort, columns=["orderId", "item", "price"])
        self.orders = seen.add("orders_ui")
        seen.view(self.orders, group_by=["item"], columns=["price"], filter=self.filter)
        seen.until_drawn("joined", self.row(ROWS - 1))
        seen.scroll("joined", SCROLL)
        self.first = ROWS - 1 - SCROLL // ROW_HEIGHT
        self.top = self.row(self.first)
        self.until_scrolled()
        seen.watch()

    def row(self, price: int) -> list[str]:
        return [f"{self.number * 1000 + price:,}", self.item, f"{price}.00"]

    def until_scrolled(self) -> None:
        """The rows from the first one in sight on are drawn, and no others. For a moment after a panel has changed the
        viewer may draw the table's first rows instead."""

        def scrolled() -> bool:
            drawn = self.seen.cells("joined")
            return drawn != [] and drawn == [self.row(self.first - place) for place in range(len(drawn))]

        until(scrolled, f"the rows from {self.top} on are drawn", DRAWN_SECONDS)

    def is_as_it_was(self) -> None:
        config = self.seen.config("joined")
        assert (config["filter"], config["sort"]) == (self.filter, self.sort)
        assert config["columns"] == ["orderId", "item", "price"]
        assert self.seen.config(self.orders)["group_by"] == ["item"]
        assert self.seen.scrolled("joined") == SCROLL
        watched = self.seen.watched()
        assert watched["same"], "the panel is the element that it was"
        assert watched["fewest"] > 0, "there was no moment without rows"

    def shows_what_comes(self, turnout: RunningTurnout) -> None:
        """A row that sorts first moves all others down by one; the view has it."""
        turnout.send("orders", orderId=self.number * 1000 + 999, item=self.item, price=5000)
        self.seen.until_drawn("joined", self.top)
        self.seen.until_row("joined", orderId=self.number * 1000 + 999)


def test_a_switch_keeps_what_people_have_set(turnout: RunningTurnout, visit: Open, number: int) -> None:
    page = Arranged(turnout, visit(turnout.url), number)
    turnout.switch(joinType="full")
    expect(page.seen.notice).to_contain_text("Now showing orders + payments (full).")
    page.shows_what_comes(turnout)
    page.is_as_it_was()
    assert page.seen.complaints == []


def test_a_lost_connection(turnout: RunningTurnout, visit: Open, number: int) -> None:
    line = Line(turnout.port)
    page = Arranged(turnout, visit(line.url), number)
    line.cut()
    expect(page.seen.notice).to_contain_text("Connection lost, reconnecting…")
    page.until_scrolled()  # what was known last stays
    turnout.send("orders", orderId=number * 1000 + 998, item=page.item, price=4000)
    line.mend()

    expect(page.seen.notice).to_be_hidden(timeout=BACK_MS)
    page.seen.until_row("joined", orderId=number * 1000 + 998)
    page.shows_what_comes(turnout)
    page.is_as_it_was()
    line.cut()


def test_a_connection_that_dies_without_a_word_as_in_a_laptops_sleep(
    turnout: RunningTurnout, visit: Open, number: int
) -> None:
    line = Line(turnout.port)
    page = Arranged(turnout, visit(line.url), number)
    line.sleep()
    turnout.send("orders", orderId=number * 1000 + 998, item=page.item, price=4000)
    expect(page.seen.notice).to_contain_text("Connection lost, reconnecting…", timeout=BACK_MS)
    line.wake()

    expect(page.seen.notice).to_be_hidden(timeout=BACK_MS)
    page.seen.until_row("joined", orderId=number * 1000 + 998)
    page.shows_what_comes(turnout)
    page.is_as_it_was()
    line.cut()


def test_the_browser_is_offline_for_a_while(turnout: RunningTurnout, visit: Open, number: int) -> None:
    page = Arranged(turnout, visit(turnout.url), number)
    page.seen.page.context.set_offline(True)
    page.seen.page.evaluate("""() => dispatchEvent(new Event("online"))""")  # a network that comes up, and is none yet
    expect(page.seen.notice).to_contain_text("Connection lost, reconnecting…", timeout=BACK_MS)
    page.seen.page.context.set_offline(False)
    expect(page.seen.notice).to_be_hidden(timeout=BACK_MS)
    page.shows_what_comes(turnout)
    page.is_as_it_was()


def test_the_server_is_killed_and_started_again(turnout: RunningTurnout, visit: Open, number: int) -> None:
    page = Arranged(turnout, visit(turnout.url), number)
    page.seen.page.evaluate(WATCH_WAITING, page.top)
    turnout.kill()
    expect(page.seen.notice).to_contain_text("Connection lost, reconnecting…")
    turnout.start()
    expect(page.seen.notice).to_contain_text("Turnout has started anew and is catching up", timeout=RESTART_MS)
    # What was known before stays until there is something to show. The notice takes a row's height from the panel,
    # which is drawn anew for it.
    page.seen.until_drawn("joined", page.top)

    expect(page.seen.notice).to_be_hidden(timeout=RESTART_MS)
    assert page.seen.page.evaluate("() => window.stayed"), "the rows stayed while there was nothing to show"
    turnout.until_ready()
    page.shows_what_comes(turnout)
    page.is_as_it_was()
