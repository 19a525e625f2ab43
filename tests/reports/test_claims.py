"""The claim of every first screen: what limits it is as large as the claim, and an interval is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli.main import main

pytestmark = pytest.mark.browser
PAIR = ["digits/reference/svm.csv", "digits/target/svm.csv"]
QUICK = ["--method", "source", "--backtest", "none"]
LABELLED = ["digits/target/svm.csv", "digits/target/tree.csv", "--labels", "digits/labels.csv"]
COMMANDS = {
    "estimate": ["estimate", *PAIR, *QUICK],
    "audit": ["audit", *PAIR, "--labels", "digits/ten.csv", *QUICK[:2]],
    "evaluate": ["evaluate", PAIR[0]],
    "compare": ["compare", *LABELLED],
    "rank": ["rank", "--sample", "digits"],
    "diagnose": ["diagnose", *PAIR],
    "backtest": [
        "backtest", PAIR[0], "--method", "source", "--family", "none", "--family", "tilt",
        "--no-cache",
    ],
    "history": ["history", "runs.db"],
}  # fmt: skip
SIZES = """JSON.stringify([...document.querySelectorAll('.headline')].map(one => [
    [...one.querySelectorAll('p.big')].map(p => getComputedStyle(p).fontSize),
    one.querySelectorAll('.big.limit').length,
    one.querySelectorAll('.scale .band').length,
    one.querySelectorAll('.chances span').length]))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a sample, and a store with a run."""
    home = tmp_path_factory.mktemp("claims")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(home)
        assert main(["demo", "--sample", "digits", "-q"]) == 0
        assert main([*COMMANDS["estimate"], "--store", "runs.db", "-q"]) == 0
    return home


def page_of(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Path:
    """The page of a command, made once."""
    monkeypatch.chdir(folder)
    page = folder / f"{name}.html"
    if not page.exists():
        assert main([*COMMANDS[name], "-q", "--report", page.name]) == 0
    return page


@pytest.mark.parametrize("name", COMMANDS)
def test_no_claim_is_larger_than_what_limits_it(
    browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    page = page_of(folder, monkeypatch, name)
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        browser.open(page, width=width, dark=dark)
        for sizes, limits, bands, chances in json.loads(browser.run(SIZES)):
            assert len({*sizes}) == 1, (name, width, sizes)
            assert len(sizes) == 2 * limits  # each number has its own limit
            drawn = chances if name == "rank" else bands
            assert drawn >= limits or name in ("diagnose", "backtest")


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_bars_anybody_from_the_page(
    browser: Any, axe: str, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    page = page_of(folder, monkeypatch, name)
    for width, dark in ((1280, True), (390, False)):
        browser.open(page, width=width, dark=dark)
        assert browser.violations(axe) == []
