"""The labelling page: one file that loads nothing, and in a browser the whole way from rows to labels."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oodometer import audit
from oodometer.predictions import Predictions
from oodometer.testing import example_record

_spec = importlib.util.spec_from_file_location(
    "report_browser", Path(__file__).parent.with_name("reports") / "browser.py"
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

REFERENCE, TARGET = example_record(300, seed=1), example_record(60, seed=2, difficulty=1.5)
SOURCE = Predictions.from_arrays(probabilities=REFERENCE.probabilities, label=REFERENCE.label)
EVIL = (
    "</script><script>window.hit=1</script><img src=x onerror=window.hit=1> \"quoted\", 'so' \U0001f600 \u2028 "
    + "w" * 900
)
ROWS = 12


def frame() -> dict[str, Any]:
    ids = ["=evil", 'a"b,c', *(f"{i:04d}" for i in range(2, len(TARGET)))]
    texts = [f"{EVIL} {i}" for i in range(len(TARGET))]
    return {"probabilities": TARGET.probabilities, "id": ids, "review": texts, "<b>stars</b>": [3.25] * len(TARGET)}


def ask(**more: Any) -> Any:
    return audit(SOURCE, frame(), methods=["ac"], **more)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "rows.html"
    ask(suggest=ROWS, out=out, seed=4)
    return out


def test_it_is_one_file_that_loads_nothing_and_runs_nothing_of_the_data(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 2
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|@import|url\(|<link|<iframe|fetch\(|XMLHttp", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)
    assert len(text) < 60_000
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    data = json.loads(found[1])
    assert data["classes"] == ["0", "1", "2", "3"]
    assert data["saved"] == ["id", "draw", "row", "stratum", "probability", "weight", "share"]
    assert [data["columns"][i] for i in data["texts"]] == ["review"]
    assert [data["columns"][i] for i in data["folded"]] == ["<b>stars</b>"]
    assert len(data["rows"]) == ROWS
    for row in data["rows"]:
        at = int(row["saved"][2])
        assert row["cells"] == [f"{EVIL} {at}", "3.25"]
        assert row["said"] == str(TARGET.predicted[at])


def test_without_texts_the_columns_are_open_and_without_classes_one_judges(tmp_path: Path) -> None:
    outputs = {"confidence": [0.9, 0.8, 0.7] * 9, "correct": [True, False, True] * 9}
    target = {"confidence": [0.9, 0.5], "age": [1.5, 20], "time": ["2024-01-01", "2024-01-02"]}
    out = tmp_path / "rows.html"
    audit(outputs, target, suggest=2, methods=["ac"], out=out)
    found = re.search(r'id="data">(.*?)</script>', out.read_text(encoding="utf-8"))
    data = json.loads(found[1])
    assert [data["columns"][i] for i in data["open"]] == ["age"]
    assert [data["columns"][i] for i in data["folded"]] == ["time"]
    assert (data["answer"], data["classes"], data["words"]) == ("correct", ["true", "false"], ["right", "wrong"])


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with _module.Browser(chromium) as found:
        yield found


def press(browser: Any, key: str) -> None:
    browser.run(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")


@pytest.mark.browser
def test_the_whole_way(browser: Any, page: Path, tmp_path: Path) -> None:
    for width, dark in ((400, False), (1280, True)):
        browser.open(page, width=width, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") == width
    browser.run("localStorage.clear()")
    browser.open(page, width=1280)
    assert browser.run("document.getElementById('said').hidden"), "the model's answer would sway"
    assert browser.run("document.querySelector('#texts .text').textContent").startswith(EVIL)
    for i in range(ROWS):
        row = browser.run("Number(data.rows[here].saved[2])")
        if i == 2:
            press(browser, "d")
            continue
        if i == 5:  # a slip that is taken back, after the page was opened again
            for _ in range(50):  # a new process of chromium may look before the old one's answers have come to the disk
                browser.open(page, width=1280)
                if browser.run("answers.size"):
                    break
            assert browser.run("answers.size") == 5
            press(browser, "1")
            press(browser, "u")
        press(browser, str(TARGET.label[row]))  # classes are digits, and so are their keys
    assert browser.run("document.getElementById('progress').textContent") == "11 labelled, 1 not known, 0 left"
    press(browser, "m")
    assert browser.run("document.getElementById('said').textContent").startswith("The model says: ")
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    browser.run("document.getElementById('save').click()")
    browser.wait("Browser.downloadProgress", state="completed")
    saved = tmp_path / "rows.csv"
    with saved.open(newline="", encoding="utf-8-sig") as file:
        told = list(csv.DictReader(file))
    assert sum(one["label"] == "" for one in told) == 1
    found = ask(labels=saved)
    rows = [int(one["row"]) for one in told if one["label"]]
    assert found.labels == 11
    assert found.correct == int((TARGET.predicted == TARGET.label)[rows].sum())
    assert browser.run("window.hit === undefined")
    assert browser.complaints() == []
    assert browser.addresses() == [page.as_uri()]


@pytest.mark.browser
def test_many_classes_are_searched(browser: Any, tmp_path: Path) -> None:
    names = [f"kind {i:02d}" for i in range(30)]
    p = [[0.1 / 29] * 30 for _ in range(40)]
    for i, row in enumerate(p):
        row[i % 30] = 0.9
    out = tmp_path / "many.html"
    data = {"probabilities": p, "classes": names}
    audit({**data, "label": [names[i % 30] for i in range(40)]}, data, methods=["ac"], suggest=3, out=out)
    browser.open(out, width=400)
    press(browser, "/")
    browser.run(
        "const box = document.getElementById('search'); box.value = 'ND 17'; box.dispatchEvent(new Event('input'))"
    )
    assert browser.run("document.querySelectorAll('#classes button').length") == 1
    press(browser, "Enter")
    assert browser.run("answers.get(0)") == "kind 17"
    assert browser.run("here") == 1
    assert browser.run("table().split('\\n')[1]").endswith(",kind 17")
    assert browser.complaints() == []
