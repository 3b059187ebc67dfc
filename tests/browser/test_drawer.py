"""The drawer, in Chromium: the log as it goes on, and the records that could not be used."""

import logging

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.fed import HOSTILE, FedTurnout
from tests.browser.visit import Visit
from tests.waiting import until

SECONDS = 30
NEWEST = 500
"""Lines that the drawer has."""

SLOWEST_MS = 400
"""How long the page may stand still while lines pour in; 98 were measured on two cores with a load of eleven."""

WATCH = """
() => {
  window.slowest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.slowest = Math.max(window.slowest, duration);
  }).observe({ type: "longtask" });
}
"""


class Drawer:
    def __init__(self, seen: Visit) -> None:
        self.page: Page = seen.page
        self.root = self.page.get_by_role("region", name="Log and rejected records")
        self.log_button = self.page.get_by_role("button", name="Log", exact=True)
        self.rejected_button = self.page.locator("#rejected")
        self.lines = self.root.get_by_role("list", name="Log lines").get_by_role("listitem")
        self.records = self.root.get_by_role("list", name="Rejected records").get_by_role("listitem")
        self.follow = self.root.get_by_label("Follow")

    def open_log(self) -> None:
        self.log_button.click()
        expect(self.root.get_by_role("heading", name="Log")).to_be_visible()

    def line(self, text: str) -> Locator:
        return self.lines.filter(has_text=text)

    def scroll(self, pixels: int) -> None:
        """With the mouse's wheel."""
        self.page.locator("#lines").hover()
        self.page.mouse.wheel(0, pixels)


def test_the_log_follows_until_somebody_reads_back(fed: FedTurnout, visit: Open) -> None:
    for number in range(60):
        fed.log(f"Line {number:03}")
    drawer = Drawer(visit(fed.url))
    expect(drawer.root).to_be_hidden()
    drawer.open_log()
    expect(drawer.lines).to_have_count(60)
    expect(drawer.line("Line 059")).to_be_in_viewport()
    fed.log("Line 060")
    expect(drawer.line("Line 060")).to_be_in_viewport()
    expect(drawer.follow).to_be_checked()

    drawer.scroll(-400)
    expect(drawer.follow).not_to_be_checked()
    expect(drawer.line("Line 060")).not_to_be_in_viewport()
    reading = drawer.line("Line 037")
    expect(reading).to_be_in_viewport()
    where = reading.bounding_box()
    fed.log("Line 061")
    expect(drawer.lines).to_have_count(62)
    assert reading.bounding_box() == where, "what is read stays where it is"

    drawer.scroll(4000)
    expect(drawer.follow).to_be_checked()
    fed.log("Line 062")
    expect(drawer.line("Line 062")).to_be_in_viewport()

    drawer.scroll(-400)
    expect(drawer.follow).not_to_be_checked()
    drawer.follow.check()
    expect(drawer.line("Line 062")).to_be_in_viewport()

    drawer.log_button.click()
    expect(drawer.root).to_be_hidden()
    expect(drawer.log_button).to_have_attribute("aria-expanded", "false")


def test_what_is_selected_in_the_log_stays_selected(fed: FedTurnout, visit: Open) -> None:
    fed.log("The line to be copied")
    drawer = Drawer(visit(fed.url))
    drawer.open_log()
    drawer.line("to be copied").locator("span").select_text()
    fed.log("Another line")
    expect(drawer.lines).to_have_count(2)
    assert drawer.page.evaluate("() => String(getSelection())") == "The line to be copied"


def test_the_log_by_level_and_words(fed: FedTurnout, visit: Open) -> None:
    fed.log("Building a pipeline")
    fed.log("The broker is slow", logging.WARNING)
    fed.log("The pipeline died", logging.ERROR)
    drawer = Drawer(visit(fed.url))
    drawer.open_log()
    expect(drawer.lines).to_have_count(3)
    level, words = drawer.root.get_by_label("Level"), drawer.root.get_by_label("Contains")
    level.select_option("warnings and errors")
    expect(drawer.lines).to_contain_text(["The broker is slow", "The pipeline died"])
    level.select_option("errors")
    expect(drawer.lines).to_contain_text(["The pipeline died"])
    level.select_option("all")
    words.fill("PIPELINE")
    expect(drawer.lines).to_contain_text(["Building a pipeline", "The pipeline died"])
    fed.log("Nothing to see here")
    fed.log("Another pipeline")
    expect(drawer.lines).to_contain_text(["Building a pipeline", "The pipeline died", "Another pipeline"])
    words.fill("no such words")
    expect(drawer.lines).to_have_count(0)


def test_a_line_leads_to_its_control_message(fed: FedTurnout, visit: Open) -> None:
    id_ = fed.control('{"usersTopic": "nowhere"}', "rejected: topic 'nowhere' does not exist")
    fed.log(f"Rejected control message {id_}: topic 'nowhere' does not exist", logging.ERROR)
    drawer = Drawer(visit(fed.url))
    drawer.open_log()
    link = drawer.line("Rejected control message").get_by_role("button", name=id_)
    link.click()
    record = drawer.page.get_by_role("dialog", name=f"Control message {id_}")
    expect(record).to_be_visible()  # the record may have to be asked for first
    facts = dict(zip(record.locator("dt").all_inner_texts(), record.locator("dd").all_inner_texts(), strict=True))
    assert facts == {
        "ts": "2026-01-08T12:00:00.000Z",
        "partition": "0",
        "offset": "0",
        "value": '{"usersTopic": "nowhere"}',
        "outcome": "rejected: topic 'nowhere' does not exist",
    }
    record.get_by_role("button", name="Close").click()
    expect(record).to_be_hidden()
    expect(link).to_be_focused()


def test_a_line_about_a_control_message_that_is_gone_says_so(fed: FedTurnout, visit: Open) -> None:
    fed.log("Resolved control message 3:77 to users + accounts (left)")
    seen = visit(fed.url)
    drawer = Drawer(seen)
    drawer.open_log()
    drawer.line("Resolved").get_by_role("button", name="3:77").click()
    expect(drawer.page.get_by_role("dialog", name="Control message 3:77")).to_contain_text("not in the table any more")
    assert seen.complaints == []


def test_rejected_records_with_reason_position_and_value(fed: FedTurnout, visit: Open) -> None:
    drawer = Drawer(visit(fed.url))
    drawer.rejected_button.click()
    expect(drawer.root.get_by_role("heading", name="Rejected records")).to_be_visible()
    expect(drawer.root.get_by_text("No record has been rejected.")).to_be_visible()
    value = '{"userId": "u1", "age": "ét\\u00e9"'
    fed.reject(value, "it is not JSON: the end is missing")
    fed.reject("7", "it is not an object", topic="accounts")

    expect(drawer.records).to_have_count(2)
    expect(drawer.root.get_by_text("No record has been rejected.")).to_be_hidden()
    expect(drawer.rejected_button).to_have_text("2")
    newest, oldest = drawer.records.nth(0), drawer.records.nth(1)
    for text in ("accounts/2/41", "it is not an object", "7"):
        expect(newest.get_by_text(text, exact=True)).to_be_visible()
    for text in ("users/2/40", "it is not JSON: the end is missing", value):
        expect(oldest.get_by_text(text, exact=True)).to_be_visible()

    drawer.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = oldest.get_by_role("button")
    button.click()
    expect(button).to_have_text("Copied")
    assert drawer.page.evaluate("() => navigator.clipboard.readText()") == value
    fed.reject("8", "it is not an object")
    expect(drawer.records).to_have_count(3)
    expect(drawer.records.nth(2).get_by_role("button")).to_be_focused()  # whoever goes on by keyboard is still there


def test_one_drawer_shows_the_log_or_the_rejected_records(fed: FedTurnout, visit: Open) -> None:
    fed.log("A line")
    fed.reject("rubbish")
    drawer = Drawer(visit(fed.url))
    drawer.open_log()
    drawer.rejected_button.click()
    expect(drawer.records).to_have_count(1)
    expect(drawer.lines).to_have_count(0)  # of those that are seen
    expect(drawer.log_button).to_have_attribute("aria-expanded", "false")
    expect(drawer.rejected_button).to_have_attribute("aria-expanded", "true")
    drawer.log_button.click()
    expect(drawer.lines).to_have_count(1)
    drawer.root.get_by_role("button", name="Close the drawer").click()
    expect(drawer.root).to_be_hidden()


def test_what_looks_like_html_is_text(fed: FedTurnout, visit: Open) -> None:
    fed.offer("users", HOSTILE)
    fed.show(HOSTILE, "accounts", message=HOSTILE)
    id_ = fed.control(HOSTILE, f"rejected: {HOSTILE}")
    fed.log(f"Received control message {id_}: {HOSTILE}")
    fed.reject(HOSTILE, HOSTILE, HOSTILE)
    fed.join([(1, HOSTILE, 5.0)])
    seen = visit(fed.url)
    drawer = Drawer(seen)
    expect(seen.value("left")).to_have_text(HOSTILE)
    expect(seen.value("message")).to_have_text(HOSTILE)
    seen.until_row("joined", accountType=HOSTILE)
    until(lambda: any(HOSTILE in row for row in seen.cells("joined")), "the panel shows it as text", SECONDS)

    drawer.open_log()
    expect(drawer.line(HOSTILE)).to_have_count(1)
    drawer.line(HOSTILE).get_by_role("button", name=id_).click()
    record = seen.page.get_by_role("dialog", name="Control message")
    expect(record.get_by_text(HOSTILE, exact=True)).to_be_visible()
    expect(record.get_by_text(f"rejected: {HOSTILE}", exact=True)).to_be_visible()
    seen.page.keyboard.press("Escape")
    drawer.rejected_button.click()
    expect(drawer.records.get_by_text(HOSTILE, exact=True)).to_have_count(2)
    expect(drawer.records.get_by_text(f"{HOSTILE}/2/40")).to_be_visible()

    seen.open_switch()
    expect(seen.dialog.get_by_label("usersTopic", exact=True)).to_have_value(HOSTILE)
    expect(seen.dialog.locator("option", has_text=HOSTILE)).to_have_count(1)
    expect(seen.page.locator("#preview")).to_contain_text("onerror=")
    assert seen.page.locator("img").count() == 0
    assert seen.page.evaluate("() => window.hacked") is None


def test_many_lines_stay_quick(fed: FedTurnout, visit: Open) -> None:
    many = 2 * NEWEST
    for number in range(many):
        fed.log(f"Line {number:05}, about control message 0:{number}")
    drawer = Drawer(visit(fed.url))
    drawer.open_log()
    expect(drawer.lines).to_have_count(NEWEST)
    expect(drawer.line(f"Line {many - 1:05}")).to_be_in_viewport()
    slowest = []
    for first in range(many, many + 600, 200):  # the machine may stand still too, but not each time
        drawer.page.evaluate(WATCH)
        for number in range(first, first + 200):
            fed.log(f"Line {number:05}")
        expect(drawer.line(f"Line {first + 199:05}")).to_be_in_viewport()
        expect(drawer.lines).to_have_count(NEWEST)
        slowest.append(drawer.page.evaluate("() => window.slowest"))
        if slowest[-1] < SLOWEST_MS:
            break
    assert slowest[-1] < SLOWEST_MS, f"the page stood still for {slowest} ms"
