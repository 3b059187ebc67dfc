"""A Firefox as people have it, with a profile of its own and one window: what it shows, and what it did for that."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection

from tests.browser.bidi import Bidi, BidiError, Fields, connected
from tests.waiting import until

START_SECONDS = 120
"""It takes 2 to 5 on two idle cores, the first time after an installation longer."""

END_SECONDS = 30

VIEWPORT = {"width": 1280, "height": 800}

# Under remote control it asks nobody for updates, studies and the like; these are what is left of its own business.
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
EVENTS = ["log.entryAdded", "network.beforeRequestSent"]

LOG = "firefox.log"
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


@contextmanager
def started_firefox(directory: Path) -> Iterator["Firefox"]:
    """Ends with its window; what it wrote stays in the directory."""
    with _process(directory) as process:
        address = _address(process, directory / LOG)
        with connected(f"{address}/session") as socket:
            firefox = Firefox(socket)
            yield firefox
            firefox.close()
        process.wait(END_SECONDS)


class Firefox:
    def __init__(self, socket: ClientConnection) -> None:
        self._requests: list[str] = []
        self._complaints: list[str] = []
        self._origins: set[str] = set()
        self._bidi = Bidi(socket, self._hear)
        self._bidi.command("session.new", capabilities={})
        self._bidi.command("session.subscribe", events=EVENTS)
        (window,) = self._bidi.command("browsingContext.getTree")["contexts"]
        self._window: str = window["context"]
        self._bidi.command("browsingContext.setViewport", context=self._window, viewport=VIEWPORT)

    def close(self) -> None:
        """The window, and with it the browser."""
        self._bidi.command("browser.close")

    def open(self, url: str) -> None:
        """Returns when the page's own load event was; what it fetches later is to be waited for."""
        self._origins.add(_origin(url))
        self._bidi.command("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def evaluate(self, function: str, *arguments: object) -> Any:
        """What a JavaScript function returns, or what its promise comes to, as JSON has it."""
        # As texts, because the protocol has a notation of its own for every kind of value.
        declaration = f"async (given) => JSON.stringify(await ({function})(...JSON.parse(given)))"
        result = self._call(declaration, json.dumps(arguments))
        return json.loads(result["value"]) if "value" in result else None

    def until(self, function: str, *arguments: object, seconds: float = 60) -> None:
        """Waits for a JavaScript function to return something true."""
        until(lambda: self.evaluate(function, *arguments), f"{function} in Firefox", seconds)

    def click(self, selector: str) -> None:
        """In the middle of the element, with the mouse."""
        move = {"type": "pointerMove", "x": 0, "y": 0, "origin": {"type": "element", "element": self._find(selector)}}
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._act(type="pointer", id="mouse", actions=[move, *press])

    def type(self, text: str) -> None:
        """Into what has the focus, key by key; other keys are WebDriver's code points (Enter is U+E007)."""
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._act(type="key", id="keyboard", actions=keys)

    def screenshot(self, path: Path) -> None:
        shot = self._bidi.command("browsingContext.captureScreenshot", context=self._window)
        path.write_bytes(base64.b64decode(shot["data"]))

    @property
    def complaints(self) -> list[str]:
        """Errors that scripts left uncaught or wrote on the console."""
        self._listen()
        return self._complaints

    @property
    def requests(self) -> list[str]:
        """The addresses of all that was asked for; a websocket's begins with http, and shared workers' are not told."""
        self._listen()
        return self._requests

    def elsewhere(self) -> list[str]:
        """Requests that went to another server than those that were opened."""
        own = (*self._origins, "blob:", "data:")
        return [url for url in self.requests if not url.startswith(own)]

    def _find(self, selector: str) -> Fields:
        find = "(selector) => { const it = document.querySelector(selector); it?.scrollIntoView(); return it; }"
        found = self._call(find, selector)
        assert found["type"] == "node", f"nothing on the page is {selector}"
        return {"sharedId": found["sharedId"]}

    def _act(self, **source: Any) -> None:
        self._bidi.command("input.performActions", context=self._window, actions=[source])

    def _call(self, declaration: str, argument: str) -> Fields:
        answer = self._bidi.command(
            "script.callFunction",
            functionDeclaration=declaration,
            arguments=[{"type": "string", "value": argument}],
            target={"context": self._window},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise BidiError(f"{answer['exceptionDetails']['text']}, in {declaration}")
        result: Fields = answer["result"]
        return result

    def _listen(self) -> None:
        """Any command does: what the browser said before its answer is then heard."""
        self._bidi.command("session.status")

    def _hear(self, event: str, fields: Fields) -> None:
        if event == "network.beforeRequestSent":
            self._requests.append(fields["request"]["url"])
        elif fields["level"] == "error":
            self._complaints.append(fields["text"])


@contextmanager
def _process(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    assert program, "This test needs Firefox: install it (Debian: apt install firefox-esr), or set FIREFOX."
    profile = directory / "profile"
    profile.mkdir()
    settings = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("".join(settings))
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
    with (directory / LOG).open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where it listens, once it does."""

    def said() -> re.Match[str] | None:
        assert process.poll() is None, f"Firefox ended early:\n{log.read_text()}"
        return ADDRESS.search(log.read_text())

    until(said, f"Firefox listens; its log: {log}", START_SECONDS)
    (address,) = ADDRESS.findall(log.read_text())
    return str(address)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
