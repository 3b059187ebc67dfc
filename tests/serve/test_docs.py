import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import started_chromium
from tests.serve.feeding import change
from turnout.service import Service


class Parsed(HTMLParser):
    """What a page links to, what its anchors are, and its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.update(value or "" for name, value in attrs if name in ("href", "src"))
        self.ids.update(value or "" for name, value in attrs if name == "id")


def test_the_page_has_no_script_and_nothing_from_elsewhere(http: httpx.Client) -> None:
    answer = http.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; img-src 'self'")
    page = Parsed(answer.text)
    assert "script" not in page.tags
    assert "style" not in page.tags | page.attributes
    assert all(link.startswith(("/", "#")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    for link in page.links:
        assert http.get(link).status_code == 200


def test_every_endpoint_has_its_place(http: httpx.Client) -> None:
    text = http.get("/docs").text.replace("<wbr>", "")
    for path in http.get("/openapi.json").json()["paths"]:
        assert text.count(f'<span class="path">{path}</span>') >= 2  # in the menu and in the text


def test_fastapis_own_pages_which_load_scripts_from_elsewhere_are_not_there(http: httpx.Client) -> None:
    assert http.get("/redoc").status_code == 404


def test_examples_name_the_address_that_the_reader_came_to(http: httpx.Client) -> None:
    text = http.get("/docs", headers={"Host": "tables.localhost"}).text
    assert "curl http://tables.localhost/api/tables<" in text
    assert "127.0.0.1" not in text
    hostile = http.get("/docs", headers={"Host": "<i>.localhost"})
    assert hostile.status_code == 200
    assert "<i>" not in hostile.text


def test_curl_examples_that_read_work_as_they_are(http: httpx.Client, server: str, service: Service) -> None:
    change(service, [("1", 1)])
    for methods in http.get("/openapi.json").json()["paths"].values():
        if "get" not in methods:
            continue
        command = methods["get"]["x-codeSamples"][0]["source"].replace("http://127.0.0.1:8400", server)
        seconds = "0.5" if " -N " in command else "10"  # events have no end
        said = subprocess.run(
            f"{command} -s -m {seconds} -w '%{{http_code}}'", shell=True, capture_output=True, text=True, check=False
        )
        expected = "404" if "/control/" in command else "503" if re.search("/topics|/readyz", command) else "200"
        assert said.stdout.endswith(expected), command


@pytest.fixture
def browser() -> Iterator[Browser]:
    with started_chromium() as browser:
        yield browser


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it_without_a_complaint(
    browser: Browser, server: str, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900}).new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server}/docs")
    assert page.title() == "Turnout: HTTP interface"
    page.get_by_role("navigation").get_by_role("link", name="GET /api/tables/{name}/changes").click()
    section = page.get_by_role("region", name="GET /api/tables/{name}/changes")
    expect(section).to_be_in_viewport()
    assert "event: swap" in section.inner_text()
    assert "there is no table" not in section.inner_text()
    section.get_by_text("Not Found").click()
    assert "there is no table 'other'; there are users_ui" in section.inner_text()
    assert _contrast(page) > 10
    assert complaints == []
    assert {request.split("/")[2] for request in requests} == {server.split("/")[2]}
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def _contrast(page: Page) -> float:
    """Of the text to its ground, as WCAG has it."""
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    light, dark = sorted((_luminance(colour) for colour in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
