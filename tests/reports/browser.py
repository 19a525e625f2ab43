"""A browser that tests can ask: headless chromium over a pipe, as wide, as dark or on paper as one wants."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
]  # fmt: skip

PATIENCE = 120  # seconds without a word after which chromium is given up


def _pipe() -> tuple[int, int]:
    """A pipe whose descriptors are neither 3 nor 4."""
    ends = os.pipe()
    moved = (
        fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, 20),
        fcntl.fcntl(ends[1], fcntl.F_DUPFD_CLOEXEC, 20),
    )
    for end in ends:
        os.close(end)
    return moved


class Browser:
    """One page of one chromium; a context manager."""

    def __init__(self, program: str) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.out = _pipe()
        self.back, theirs_out = _pipe()
        # The protocol is spoken over descriptors 3 and 4.
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', program, *FLAGS]
        command.append(f"--user-data-dir={self.folder.name}")
        self.process = subprocess.Popen(
            command,
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], PATIENCE)[0]:
                raise TimeoutError(f"chromium says nothing for {PATIENCE} s")
            block = os.read(self.back, 1 << 16)
            if not block:
                raise RuntimeError("chromium ended")
            self.buffer += block
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol and its answer; events that come between are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method: str, **params: Any) -> None:
        """Until an event of this kind with these parameters has come, however long the page takes."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event.get("method") == method and params.items() <= event["params"].items():
                    return
            seen = len(self.events)
            self.events.append(self._read())

    def open(self, path: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Open a file and wait until its charts stand still."""
        self.events.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=path.resolve().as_uri())
        wait = (
            "document.readyState === 'complete' && [...document.querySelectorAll('.chart')]"
            ".every(c => c.querySelector('svg.marks') || c.classList.contains('failed'))"
        )
        deadline = time.monotonic() + 30
        while not self.run(wait):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the charts were not drawn: {self.complaints()}")
            time.sleep(0.05)
        time.sleep(0.3)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def addresses(self) -> list[str]:
        """Everything that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings on the console since the page was opened."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(
                    str(params["exceptionDetails"].get("exception", {}).get("description"))
                )
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in (
                "error",
                "warning",
            ):
                found.append(params["entry"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
            ):
                found.append(str(params["args"]))
        return found

    def violations(self, axe: str) -> list[Any]:
        """What axe-core (its source) finds wrong with the page, with everything unfolded: rule and elements."""
        self.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.run(f"{axe};0")
        wanted = (
            "found.violations.map(one => [one.id, one.nodes.map(node => node.html.slice(0, 120))])"
        )
        script = f"axe.run(document, {{resultTypes: ['violations']}}).then(found => JSON.stringify({wanted}))"
        answer = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        return json.loads(answer["result"]["value"])

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def paper(self, path: Path) -> None:
        """The page as it prints."""
        path.write_bytes(
            base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.out)
        os.close(self.back)
        self.folder.cleanup()
