"""Chromium without a window, driven over its DevTools protocol: two pipes, JSON messages, a zero byte after each."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 30.0  # seconds
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]


def find() -> str | None:
    """Return the path of Chromium; None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextlib.contextmanager
def browser(program: str) -> Iterator["Browser"]:
    """Run a browser with an empty profile for a `with` block."""
    to_read, commands = os.pipe()
    answers, to_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium_", ignore_cleanup_errors=True) as profile:
        # It reads from file 3 and writes to file 4, whatever numbers they have here.
        words = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", program, *FLAGS]
        process = subprocess.Popen(
            [*words, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        try:
            yield Browser(commands, answers)
        finally:
            os.close(commands)  # it ends when nobody can command it any more
            os.close(answers)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


class Browser:
    """A client of the DevTools protocol: commands, results and events."""

    def __init__(self, commands: int, answers: int):
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._received = b""
        self.events: deque[dict] = deque()

    def call(self, method: str, session: str | None = None, **parameters) -> dict:
        """Send a command and wait for its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(until)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def page(self, url: str, *, width: int = 1100, height: int = 900, dark: bool = False) -> "Page":
        """Open a page in a new context without cookies or cache."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"], browserContextId=context)
        page.call("Emulation.setScrollbarsHidden", hidden=True)
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=url)
        page.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
        return page

    def _receive(self, until: float) -> dict:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], max(0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "Chromium has ended"
            self._received += piece
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str):
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters) -> dict:
        """Send a command to this tab."""
        return self._browser.call(method, self._session, **parameters)

    def run(self, script: str):
        """Evaluate an expression, and await promises."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < until, f"still not: {condition}, but: {self.run('document.body.innerText')}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """Return the visible text of an element; empty if it is hidden."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector: str) -> list[str]:
        """Return the text of each matching element."""
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)")

    def type(self, text: str) -> None:
        """Type into the focused field, replacing its content."""
        self.run("document.activeElement.select?.()")
        self.call("Input.insertText", text=text)

    def press(self, key: str, *, modifiers: int = 0) -> None:
        """Press a key, Enter or Tab, with modifiers: 2 for Control, 8 for Shift."""
        code, text = {"Enter": (13, "\r"), "Tab": (9, "")}[key]
        words = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **words)
        self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def click(self, selector: str) -> None:
        """Click on the center of an element."""
        script = f"""(() => {{
            const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{block: "center"}});
            const box = one.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        x, y = self.run(script)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def choose(self, selector: str, words: str) -> None:
        """Select an option by its text."""
        script = f"""(() => {{
            const one = document.querySelector({json.dumps(selector)});
            one.selectedIndex = [...one.options].findIndex((option) => option.text === {json.dumps(words)});
            one.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})()"""
        self.run(script)

    def resize(self, width: int, height: int) -> None:
        """Resize the tab."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path: Path) -> None:
        """Save a PNG of the whole page."""
        done = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(done["data"]))

    def told(self, method: str) -> list[dict]:
        """Return the events of this tab so far."""
        self.run("0")  # whatever was on its way is here now
        events = self._browser.events
        return [one["params"] for one in events if one.get("sessionId") == self._session and one["method"] == method]
