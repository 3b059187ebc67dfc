"""The page, in Chromium, against a real Turnout."""

import itertools
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.line import Line
from tests.browser.running import RunningTurnout
from tests.browser.visit import Visit

SWITCH_MS = 60_000

Open = Callable[[str], Visit]

_numbers = itertools.count(1)


@pytest.fixture
def number(turnout: RunningTurnout) -> int:
    """Of an order in each pair of topics, which only this test uses; the first pair is shown."""
    number = next(_numbers)
    turnout.send("orders", orderId=number, item="lamp from a", price=12.5)
    turnout.send("orders_b", orderId=number, item="chair from b", price=80)
    turnout.send("payments_b", orderId=number, method="card")
    turnout.switch(ordersTopic="orders", paymentsTopic="payments", joinType="left")
    return number


def test_rows_arrive_in_the_open_panel(turnout: RunningTurnout, visit: Open, number: int) -> None:
    seen = visit(turnout.url)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])

    turnout.send("payments", orderId=number, method="cash")
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50", "cash"])
    seen.until_drawn("right", [str(number), "cash"])

    (row,) = [row for row in seen.rows("joined") if row["orderId"] == number]
    assert row == {"orderId": number, "item": "lamp from a", "price": 12.5, "method": "cash"}
    assert seen.elsewhere() == []
    assert seen.complaints == []


def test_a_switch_by_the_form_shows_the_new_rows_in_the_same_panel(
    turnout: RunningTurnout, visit: Open, number: int
) -> None:
    seen = visit(turnout.url)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    seen.watch()

    seen.fill(ordersTopic="orders_b", paymentsTopic="payments_b", joinType="inner")
    seen.page.get_by_label("paymentsTopic").press("Enter")
    expect(seen.switch_button).to_be_disabled()
    expect(seen.outcome).to_have_text(re.compile(r"Applied in \d"), timeout=SWITCH_MS)
    expect(seen.switch_button).to_be_enabled()
    seen.until_drawn("joined", [str(number), "chair from b", "80.00", "card"])

    watched = seen.watched()
    assert watched["same"], "the panel is the element that it was"
    assert watched["fewest"] > 0, "there was no moment without rows"
    assert watched["updates"] > 0
    assert watched["kinds"] == ["a", "b"], "first the old rows, then the new ones, never both"
    status = seen.page.locator("#status")
    expect(status).to_contain_text("orders_b")
    expect(status).to_contain_text("inner")
    expect(status).to_contain_text("live")
    expect(seen.page.get_by_label("ordersTopic")).to_have_attribute("placeholder", "orders_b")
    assert seen.elsewhere() == []
    assert seen.complaints == []


def test_a_rejected_message_says_why_and_changes_nothing(turnout: RunningTurnout, visit: Open, number: int) -> None:
    before = turnout.status()
    seen = visit(turnout.url)

    seen.fill(ordersTopic="no-such-topic")
    seen.switch_button.click()
    expect(seen.outcome).to_contain_text("Rejected: topic 'no-such-topic' does not exist", timeout=SWITCH_MS)

    expect(seen.page.get_by_label("ordersTopic")).to_have_value("no-such-topic")  # to be mended
    expect(seen.page.locator("#status")).to_contain_text("live")
    assert turnout.status()["generation"] == before["generation"]
    assert turnout.status()["ordersTopic"] == "orders"
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    assert [text for text in seen.complaints if "422" not in text] == []  # Chromium notes every answer like this


def test_an_empty_form_sends_nothing(turnout: RunningTurnout, visit: Open) -> None:
    seen = visit(turnout.url)
    seen.switch_button.click()
    expect(seen.outcome).to_have_text("Fill in what should change; an empty field keeps its value.")
    assert not [url for url in seen.requests if url.endswith("/api/control")]


def test_panels_come_back_as_they_were_after_a_lost_connection(
    turnout: RunningTurnout, visit: Open, number: int
) -> None:
    line = Line(turnout.port)
    seen = visit(line.url)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    seen.page.evaluate(
        """(number) => document.querySelector("perspective-viewer").restore(
          { columns: ["item", "orderId"], filter: [["orderId", "==", number]] }, { panel: "joined" })""",
        number,
    )
    seen.until_drawn("joined", ["lamp from a", str(number)])

    line.cut()
    expect(seen.page.get_by_role("alert")).to_contain_text("Connection lost, reconnecting…")
    assert seen.cells("joined") == [["lamp from a", str(number)]], "what was known last stays"
    turnout.send("orders", orderId=number, item="desk from a", price=99)
    line.mend()

    seen.until_connected()
    expect(seen.page.get_by_role("alert")).to_be_hidden()
    seen.until_drawn("joined", ["desk from a", str(number)])
    assert sorted(seen.cells("joined")) == [["desk from a", str(number)], ["lamp from a", str(number)]]
    line.cut()
