"""PDF: a page printed by a browser that is installed, since its charts are drawn by what only a browser runs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..errors import UsageError, WorkError

VARIABLE = "OODOMETER_BROWSER"
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
    "brave-browser",
    "chrome-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
# What `playwright install chromium` leaves, by system.
_PLAYWRIGHT = {"darwin": "Library/Caches/ms-playwright", "win32": "AppData/Local/ms-playwright"}
_PROGRAMS = ("chrome", "chrome.exe", "headless_shell", "chrome-headless-shell", "Chromium")
_LONGEST = 180  # seconds
# milliseconds of the page's own clock, which runs ahead while nothing is waited for
_DRAWING = 20_000


def browser() -> list[str]:
    """The browser that prints, with its flags; `UsageError` where none is found.

    The one that the variable OODOMETER_BROWSER names (flags may follow), else Chromium, Chrome, Edge or Brave on the
    path or in the usual places, else the one that playwright keeps.
    """
    named = os.environ.get(VARIABLE)
    if named:
        words = [named] if Path(named).is_file() else shlex.split(named)
        if shutil.which(words[0]) is None:
            raise UsageError(
                f"{VARIABLE} names {words[0]}, which is no program; name a Chromium, Chrome or Edge"
            )
        return words
    folder = Path.home() / _PLAYWRIGHT.get(sys.platform, ".cache/ms-playwright")
    programs = (
        file
        for release in sorted(folder.glob("chromium*"), reverse=True)
        for file in release.glob("*/**/*")
    )
    for path in (
        *map(shutil.which, _NAMES),
        *(str(file) for file in programs if file.name in _PROGRAMS),
    ):
        if path and shutil.which(path):
            return [path]
    remedy = f"install one, name it in {VARIABLE}, or write .html and print that"
    raise UsageError(
        f"a PDF is printed by a browser (Chromium, Chrome or Edge), and none was found; {remedy}"
    )


def pdf_of(page: str) -> bytes:
    """A page of HTML as PDF. Raises `UsageError` without a browser, `WorkError` where it did not print."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="oodometer-pdf-", ignore_cleanup_errors=True) as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        flags = [
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-sync",
            "--disable-component-update",
            f"--user-data-dir={Path(folder, 'profile')}",
            f"--virtual-time-budget={_DRAWING}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            # Chromium refuses to start for root with it; the page is ours, loads nothing
            flags.append("--no-sandbox")
        command = [*program, *flags, source.as_uri()]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = (
                f"took more than {_LONGEST} s"
                if isinstance(error, subprocess.TimeoutExpired)
                else str(error)
            )
            raise WorkError(
                f"cannot print the PDF: {program[0]} {why}; write .html and print that"
            ) from None
        if not printed.is_file() or not printed.stat().st_size:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = lines[-1][-200:] if lines else f"exit code {done.returncode}"
            raise WorkError(
                f"cannot print the PDF: {program[0]}: {why}; write .html and print that"
            )
        return printed.read_bytes()
