"""The switch dialog, in Chromium, against a real Turnout."""

import re
from collections.abc import Callable

import httpx
from playwright.sync_api import Route, expect

from tests.browser.artefacts import keep
from tests.browser.running import RunningTurnout
from tests.browser.visit import Visit
from tests.waiting import until

SWITCH_MS = 180_000

Open = Callable[[str], Visit]


def test_a_switch_shows_the_new_rows_in_the_same_panel_and_can_be_undone(
    turnout: RunningTurnout, visit: Open, number: int
) -> None:
    seen = visit(turnout.url)
    seen.only(number)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    seen.watch()
    seen.open_switch()
    expect(seen.dialog.get_by_label("ordersTopic", exact=True)).to_have_value("orders")
    expect(seen.dialog.get_by_role("radio", name=re.compile("^left "))).to_be_checked()
    expect(seen.send_button).to_be_disabled()  # nothing would change

    offered = seen.dialog.get_by_label("Topics on the broker, for the left side")
    expect(offered.get_by_role("option", name=re.compile(r"^orders_b\W+\d"))).to_be_attached()
    assert "control" not in " ".join(offered.locator("option").all_inner_texts())
    offered.select_option("orders_b")
    seen.fill(paymentsTopic="payments_b", joinType="inner")
    preview = seen.page.locator("#preview")
    expect(preview).to_contain_text("ordersTopic: orders → orders_b")
    expect(preview).to_contain_text("joinType: left → inner")
    expect(preview).to_contain_text(re.compile("A new pipeline is built|still runs"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    seen.page.route("**/api/control", hold)  # a pipeline that still runs is shown at once
    seen.send_button.click()
    expect(seen.outcome).to_contain_text("Under way")
    keep(seen.page, "switch-under-way")
    until(lambda: seen.outcome.is_visible() and held, "it is asked for")  # Playwright hears of it while it is asked
    (route,) = held
    route.continue_()
    expect(seen.outcome).to_have_text(re.compile(r"Applied in \d"), timeout=SWITCH_MS)

    steps = seen.dialog.get_by_role("list", name="Steps")
    for word in ("Received", "Resolved", "Changed", "Swapped"):  # each step, as the log has it
        expect(steps).to_contain_text(word)
    seen.until_drawn("joined", [str(number), "chair from b", "80.00", "card"])
    watched = seen.watched()
    assert watched["same"], "the panel is the element that it was"
    assert watched["fewest"] > 0, "there was no moment without rows"
    assert watched["updates"] > 0
    assert watched["kinds"] == ["a", "b"], "first the old rows, then the new ones, never both"
    expect(seen.value("left")).to_have_text("orders_b")
    expect(seen.value("join")).to_have_text("inner")
    expect(seen.value("state")).to_have_text("live")

    seen.page.get_by_role("button", name="Undo last switch").click()
    expect(seen.outcome).to_have_text(re.compile(r"Applied in \d"), timeout=SWITCH_MS)
    seen.page.keyboard.press("Escape")
    expect(seen.dialog).to_be_hidden()
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    expect(seen.value("left")).to_have_text("orders")
    assert seen.elsewhere() == []
    assert seen.complaints == []


def test_a_switch_by_somebody_else_is_told_and_can_be_undone(turnout: RunningTurnout, visit: Open, number: int) -> None:
    seen = visit(turnout.url)
    seen.only(number)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    turnout.switch(joinType="inner")
    expect(seen.notice).to_contain_text("Now showing orders + payments (inner).")
    seen.notice.get_by_role("button", name="Undo").click()
    expect(seen.outcome).to_have_text(re.compile(r"Applied in \d"), timeout=SWITCH_MS)
    expect(seen.value("join")).to_have_text("left")


def test_what_would_be_rejected_is_told_before_it_is_sent(turnout: RunningTurnout, visit: Open, number: int) -> None:
    before = turnout.status()
    seen = visit(turnout.url)
    seen.open_switch()
    seen.fill(ordersTopic="no-such-topic")
    expect(seen.page.locator("#preview")).to_contain_text("topic 'no-such-topic' does not exist")
    expect(seen.send_button).to_be_disabled()
    seen.fill(ordersTopic="payments")
    expect(seen.page.locator("#preview")).to_contain_text("a topic cannot be joined with itself")
    expect(seen.dialog.get_by_label("ordersTopic", exact=True)).to_have_value("payments")  # to be mended
    assert turnout.status()["generation"] == before["generation"]
    assert not [url for url in seen.requests if url.endswith("/api/control")]


def test_a_switch_that_fails_is_told_and_changes_nothing(turnout: RunningTurnout, visit: Open, number: int) -> None:
    seen = visit(turnout.url)
    seen.only(number)
    seen.until_drawn("joined", [str(number), "lamp from a", "12.50"])
    answer = httpx.post(f"{turnout.url}/api/control", json={"ordersTopic": "no-such-topic"}, timeout=60)
    assert answer.status_code == 422
    expect(seen.notice).to_contain_text("rejected: topic 'no-such-topic' does not exist")
    keep(seen.page, "switch-failed")
    expect(seen.value("state")).to_have_text("live")
    assert seen.cells("joined") == [[str(number), "lamp from a", "12.50"]]
    assert seen.config("joined")["filter"] == [["orderId", "==", number]]
    seen.notice.get_by_role("button", name="Dismiss").click()
    expect(seen.notice).to_be_hidden()
