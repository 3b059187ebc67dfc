"""What the page shows, in Chromium, against a real Turnout."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.running import RunningTurnout
from tests.browser.visit import Visit
from tests.waiting import until

Open = Callable[[str], Visit]


def test_rows_arrive_in_the_open_panel(turnout: RunningTurnout, visit: Open, number: int) -> None:
    seen = visit(turnout.url)
    seen.only(number)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])

    turnout.send("payments", orderId=number, method="cash")
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50", "cash"])
    payments = seen.add("payments_ui")
    seen.view(payments, filter=[["orderId", "==", number]])
    seen.until_drawn(payments, [str(number), "cash"])

    (row,) = [row for row in seen.rows("joined") if row["orderId"] == number]
    assert row == {"orderId": number, "item": "lamp from a", "price": 12.5, "method": "cash"}
    assert seen.elsewhere() == []
    assert seen.complaints == []


def test_the_first_layout_has_the_data_a_chart_the_log_and_the_status(
    turnout: RunningTurnout, visit: Open, number: int
) -> None:
    seen = visit(turnout.url)
    panels = {panel: seen.config(panel) for panel in seen.panels}
    assert {config["table"] for config in panels.values()} == {
        "final_ui",
        "orchestrator_status",
        "orchestrator_logs",
    }
    # The first amount and the first text of the side that has both, whatever the configuration calls them.
    chart = panels["totals"]
    assert (chart["title"], chart["plugin"], chart["group_by"]) == ("price by item", "Y Bar", ["item"])


def test_the_header_tells_how_it_goes(turnout: RunningTurnout, visit: Open, number: int) -> None:
    seen = visit(turnout.url)
    expect(seen.value("state")).to_have_text("live")
    expect(seen.value("left")).to_have_text("orders")
    expect(seen.value("join")).to_have_text("left")
    expect(seen.value("right")).to_have_text("payments")
    expect(seen.value("generation")).to_have_text(str(turnout.status()["generation"]))
    expect(seen.value("lag")).to_have_text("none")
    expect(seen.page).to_have_title("orders + payments · Turnout")

    def is_told_of_a_new_row() -> bool:
        turnout.send("orders", orderId=number, item="desk from a", price=99)
        try:
            expect(seen.value("newest")).to_have_text(re.compile(r"^(now|[1-9] s ago|[1-9]\.0 s ago)$"), timeout=10_000)
            expect(seen.value("rate")).to_have_text(re.compile(r"^(?!0 /s)[\d.,]+ /s$"), timeout=10_000)
        except AssertionError:
            return False
        return True

    # A row is new for some seconds only: where a busy machine lets them pass, the next one counts.
    until(is_told_of_a_new_row, "the header tells of a new row", 60)
    expect(seen.value("latency")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    before = int(seen.value("rejected").inner_text())
    turnout.send_raw("orders", b"rubbish")
    expect(seen.value("rejected")).to_have_text(str(before + 1))
