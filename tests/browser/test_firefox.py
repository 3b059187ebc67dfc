"""The page in Firefox, against a real Turnout; and that Firefox tells what the test then relies on."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.firefox import Firefox, started_firefox
from tests.browser.running import RunningTurnout
from tests.torture.users_kafka import free_port
from tests.waiting import until

ENTER = "\ue007"

NUMBER = 501
"""Of an order that no other test on the same Turnout uses: they count from 1."""

# Other tests may have sent more than fits on the screen.
ONLY = """
(number) => document.querySelector("perspective-viewer")
  .restore({ filter: [["orderId", "==", number]] }, { panel: "joined" })
"""

# Every grid on the page, with the texts of its drawn cells.
GRIDS = """
const cells = (grid) => [...(grid.shadowRoot?.querySelectorAll("regular-table tbody tr") ?? [])]
  .map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim()));
const holds = (grid, wanted) => cells(grid).some((row) => JSON.stringify(row) === JSON.stringify(wanted));
const grids = () => [...document.querySelectorAll("perspective-viewer-datagrid")];
"""
DRAWN = f"(wanted) => {{ {GRIDS} return grids().some((grid) => holds(grid, wanted)); }}"

# Looks at the grid that has the row, at every frame: how many rows, and of which topics.
WATCH = f"""(wanted) => {{ {GRIDS}
  const grid = grids().find((grid) => holds(grid, wanted));
  const seen = {{ fewest: Infinity, kinds: [] }};
  const look = () => {{
    const rows = cells(grid);
    const kinds = [...new Set(rows.map((row) => row.join().includes("from b") ? "b" : "a"))].sort().join("+");
    if (seen.kinds.at(-1) !== kinds) seen.kinds.push(kinds);
    seen.fewest = Math.min(seen.fewest, rows.length);
    requestAnimationFrame(look);
  }};
  look();
  window.watched = {{ grid, seen }};
}}"""
SEEN = "(kind) => window.watched.seen.kinds.includes(kind)"
WATCHED = "() => ({ connected: window.watched.grid.isConnected, ...window.watched.seen })"


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    with started_firefox(tmp_path) as firefox:
        yield firefox


def test_a_switch_shows_the_new_rows_in_the_same_grid(turnout: RunningTurnout, firefox: Firefox) -> None:
    old, new = [f"{NUMBER}", "lamp from a", "12.50", "cash"], [f"{NUMBER}", "chair from b", "80.00", "card"]
    turnout.send("orders", orderId=NUMBER, item="lamp from a", price=12.5)
    turnout.send("payments", orderId=NUMBER, method="cash")
    turnout.send("orders_b", orderId=NUMBER, item="chair from b", price=80)
    turnout.send("payments_b", orderId=NUMBER, method="card")
    turnout.switch(ordersTopic="orders", paymentsTopic="payments", joinType="left")

    firefox.open(turnout.url)
    firefox.until("() => document.body.dataset.panels === 'shown'")
    firefox.evaluate(ONLY, NUMBER)
    firefox.until(DRAWN, old)
    firefox.evaluate(WATCH, old)
    turnout.switch(ordersTopic="orders_b", paymentsTopic="payments_b", joinType="inner")
    firefox.until(SEEN, "b")
    firefox.until(DRAWN, new)

    watched = firefox.evaluate(WATCHED)
    assert watched["connected"], "the grid is the element that it was"
    assert watched["fewest"] > 0, "there was no moment without rows"
    assert watched["kinds"] == ["a", "b"], "first the old rows, then the new ones, never both, and never back"
    assert any("/perspective" in url for url in firefox.requests)
    assert firefox.elsewhere() == []
    assert firefox.complaints == []


# All that may go wrong unseen: a request by the page, by its worker and by a websocket, and errors of each kind.
CARELESS_PAGE = """<!doctype html>
<link rel="icon" href="data:,">
<input><output></output><button>Double</button>
<script>
  const [input, output, button] = ["input", "output", "button"].map((name) => document.querySelector(name));
  input.addEventListener("keydown", ({ key }) => { if (key === "Enter") output.value = input.value; });
  button.addEventListener("click", () => { output.value += output.value; });
  console.error("said");
  Promise.reject(new Error("rejected"));
  new WebSocket("ws://ELSEWHERE/socket");
  new Worker(URL.createObjectURL(new Blob(["fetch('http://ELSEWHERE/by-worker')"])));
  fetch("http://ELSEWHERE/by-page");
  throw new Error("thrown");
</script>
"""


@pytest.fixture
def careless() -> Iterator[tuple[str, str]]:
    """The address of a page, and the one of the server that it asks and that does not exist."""
    elsewhere = f"127.0.0.1:{free_port()}"

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(CARELESS_PAGE.replace("ELSEWHERE", elsewhere).encode())

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/", f"http://{elsewhere}/"
        server.shutdown()


def test_requests_elsewhere_and_errors_do_not_pass_unseen(
    firefox: Firefox, careless: tuple[str, str], tmp_path: Path
) -> None:
    page, elsewhere = careless
    firefox.open(page)
    asked = [f"{elsewhere}{path}" for path in ("by-page", "by-worker", "socket")]
    until(lambda: sorted(firefox.elsewhere()) == asked, "all three requests are seen")
    until(lambda: {"said", "Error: rejected", "Error: thrown"} <= set(firefox.complaints), "the errors are seen")

    firefox.click("input")
    firefox.type(f"żółw{ENTER}")
    firefox.click("button")
    assert firefox.evaluate("() => document.querySelector('output').value") == "żółwżółw"
    firefox.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
