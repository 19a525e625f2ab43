"""The labelling page: one file that loads nothing, and in a browser the whole way from rows to labels."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import audit
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import as_source
from oodometer.store.write import guarded, same_cell, unguarded
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

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
    return {
        "probabilities": TARGET.probabilities,
        "id": ids,
        "review": texts,
        "<b>stars</b>": [3.25] * len(TARGET),
    }


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
    assert (data["answer"], data["classes"], data["words"]) == (
        "correct",
        ["true", "false"],
        ["right", "wrong"],
    )
    asked = {
        "question": ["a long question that stands large on the page?"] * 2,
        "answer": ["Paris", "Rome"],
    }
    audit(outputs, {"confidence": [0.9, 0.5], **asked}, suggest=2, methods=["ac"], out=out)
    found = re.search(r'id="data">(.*?)</script>', out.read_text(encoding="utf-8"))
    data = json.loads(found[1])
    assert [data["columns"][i] for i in data["open"]] == ["answer"], "who judges has to see it"


def test_it_asks_in_the_words_of_the_user(tmp_path: Path) -> None:
    def asked(labels: Any, name: str, **more: Any) -> str:
        out = tmp_path / "rows.html"
        reference = {"p": [0.2, 0.7, 0.9, 0.4] * 9, name: labels * 9}
        audit(
            reference, {"p": [0.3, 0.8]}, suggest=2, methods=["ac"], out=out, positive="p", **more
        )
        return html.unescape(re.search(r"<h1[^>]*>(.*?)</h1>", out.read_text(encoding="utf-8"))[1])

    assert asked([0, 1, 1, 0], "label") == "Which is it: 0 or 1?"
    assert asked([0, 1, 1, 0], "<b>repaid", mapping={"<b>repaid": "label"}) == "<b>repaid: 0 or 1?"
    assert (
        asked([0, 1, 1, 0], "label", question="Was the loan <i>repaid</i>?")
        == "Was the loan <i>repaid</i>?"
    )


@pytest.mark.browser
def test_answers_of_another_tab_are_read_before_ours_are_kept(browser: Any, page: Path) -> None:
    browser.open(page, width=1280)
    browser.run("localStorage.clear(); answers.clear(); here = 0; show()")
    other = "JSON.stringify({answers: [[7, '2']], here: 3})"
    browser.run(f"localStorage.setItem(memory, {other})")
    browser.run(
        f"window.dispatchEvent(new StorageEvent('storage', {{key: memory, newValue: {other}}}))"
    )
    browser.run("document.querySelectorAll('#classes button')[1].focus()")
    press(browser, "1")
    kept = json.loads(browser.run("localStorage.getItem(memory)"))
    assert dict(map(tuple, kept["answers"])) == {0: "1", 7: "2"}
    assert browser.run("document.activeElement.textContent[0]") == "1", (
        "the keyboard stays on its button"
    )
    browser.run("localStorage.clear()")


def press(browser: Any, key: str) -> None:
    browser.run(
        f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"
    )


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
            for _ in range(
                50
            ):  # a new process of chromium may look before the old one's answers have come to the disk
                browser.open(page, width=1280)
                if browser.run("answers.size"):
                    break
            assert browser.run("answers.size") == 5
            press(browser, "1")
            press(browser, "u")
        press(browser, str(TARGET.label[row]))  # classes are digits, and so are their keys
    told = browser.run("document.getElementById('progress').textContent")
    assert told == "11 labelled, 1 not known, 0 left; kept in this browser"
    press(browser, "m")
    assert browser.run("document.getElementById('said').textContent").startswith("The model says: ")
    browser.ask(
        "Browser.setDownloadBehavior",
        behavior="allow",
        downloadPath=str(tmp_path),
        eventsEnabled=True,
    )
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
@pytest.mark.parametrize(("width", "dark"), [(400, True), (1280, False)])
def test_nothing_bars_anybody_from_labelling(
    browser: Any, page: Path, axe: str, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.violations(axe) == []


@pytest.mark.browser
def test_many_classes_are_searched(browser: Any, tmp_path: Path) -> None:
    names = [f"kind {i:02d}" for i in range(30)]
    p = [[0.1 / 29] * 30 for _ in range(40)]
    for i, row in enumerate(p):
        row[i % 30] = 0.9
    out = tmp_path / "many.html"
    data = {"probabilities": p, "classes": names}
    audit(
        {**data, "label": [names[i % 30] for i in range(40)]},
        data,
        methods=["ac"],
        suggest=3,
        out=out,
    )
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


REFERENCE_here, TARGET_here = (
    example_record(300, seed=1),
    example_record(200, seed=2, difficulty=1.5),
)
SOURCE_here = Predictions.from_arrays(
    probabilities=REFERENCE_here.probabilities, label=REFERENCE_here.label
)
NASTY = ["=1+1", "+SUM(A1)", "-well", "@x", "\t=1", "-0.5", "plain", 'say "é", \n</script>']
ODD_IDS = ["007", "1234567890123456789", "1e5", "=cmd", "ü7", "-3"]


def rows_of(record: Predictions) -> list[dict[str, Any]]:
    """The target as a stranger has it: odd ids, odd texts, columns called as ours."""
    names = [f"p_{c}" for c in range(record.probabilities.shape[1])]
    return [
        {
            "cust": ODD_IDS[i] if i < len(ODD_IDS) else f"{i:05d}",
            "text": NASTY[i % len(NASTY)],
            "weight": 70 + i,
            "row": i + 1000,
            **{name: float(p) for name, p in zip(names, record.probabilities[i], strict=True)},
            "label": None,
        }
        for i in range(len(record))
    ]


MAPPING = {"cust": "id"} | {f"p_{c}": f"prob_{c}" for c in range(4)}


@pytest.fixture(scope="module", params=["csv", "jsonl", "parquet"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("target") / f"target.{request.param}"
    rows = rows_of(TARGET_here)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)
    return path


def ask_here(target: Path, **more: Any) -> Any:
    return audit(SOURCE_here, target, methods=["ac"], mapping=MAPPING, **more)


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def write_sheet(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_rows_go_out_with_all_columns_and_come_back(target: Path, tmp_path: Path) -> None:
    out = tmp_path / "next.csv"
    found = ask_here(target, suggest=200, out=out)
    assert out.read_bytes().startswith(b"\xef\xbb\xbf"), (
        "a letter is not ASCII: Excel needs the mark"
    )
    rows, given = read_sheet(out), rows_of(TARGET_here)
    assert list(rows[0])[:4] == ["cust", "text", "target_weight", "target_row"]
    assert list(rows[0])[-7:] == [
        "draw",
        "row",
        "stratum",
        "probability",
        "weight",
        "share",
        "label",
    ]
    for row, at in zip(rows, found.suggestion.row.tolist(), strict=True):
        assert int(row["row"]) == at
        assert unguarded(row["cust"]) == given[at]["cust"]
        assert unguarded(row["text"]) == given[at]["text"]
        assert int(row["target_row"]) == at + 1000
        assert float(row["p_2"]) == given[at]["p_2"]
        assert row["label"] == ""
        assert not any(cell[:1] in tuple("=+@\t") for cell in row.values())
    assert sum(row["text"].startswith("'") for row in rows) == 200 * 5 // 8
    for row in rows[:60]:
        row["label"] = str(TARGET_here.label[int(row["row"])])
    back = ask_here(target, labels=write_sheet(tmp_path / "back.csv", rows))
    plain = {
        "row": found.suggestion.row[:60],
        "label": TARGET_here.label[found.suggestion.row[:60]],
    }
    assert back.labels == 60
    same = ask_here(target, labels=plain)
    assert (back.correct, back.estimate) == (same.correct, same.estimate)


def test_what_a_spreadsheet_does_to_a_file_is_forgiven(target: Path, tmp_path: Path) -> None:
    """As LibreOffice and Excel save it: 007 is 7, long numbers are rounded, semicolons, decimal commas, sorted anew."""
    out = tmp_path / "next.csv"
    ask_here(target, suggest=200, out=out)
    rows = read_sheet(out)[::-1]
    assert any(row["cust"] == "007" for row in rows)
    for row in rows:
        row["label"] = str(TARGET_here.label[int(row["row"])])
        row["cust"] = {"1234567890123456789": "1,23457E+18", "1e5": "100000"}.get(
            row["cust"], row["cust"].lstrip("0")
        )
        row["probability"] = f"{float(row['probability']):.6g}".replace(".", ",")
    found = ask_here(target, labels=write_sheet(tmp_path / "back.csv", rows, ";"))
    assert found.labels == 200
    assert found.correct == int((TARGET_here.predicted == TARGET_here.label).sum())
    other = next(row for row in rows if row["cust"] == "7")
    other["cust"] = "8"
    with raises_snapshot(InputError):
        ask_here(target, labels=write_sheet(tmp_path / "wrong.csv", rows, ";"))


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "arrow"])
def test_tables_keep_what_was_there(target: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"next.{ending}"
    found = ask_here(target, suggest=30, out=out)
    table = as_source(out, mapping={"cust": "id"}, extra_columns=["text", "row"])
    assert table.columns[-1] == "label"
    record, given = table.read(["label"]), rows_of(TARGET_here)
    assert (record.columns["row"] == found.suggestion.row).all()
    assert record.columns["text"].tolist() == [
        given[at]["text"] for at in found.suggestion.row.tolist()
    ]


def test_a_threshold_and_a_lone_probability(tmp_path: Path) -> None:
    p = np.linspace(0.02, 0.98, 60)
    frame = {"score": p, "note": [f"n{i}" for i in range(60)]}
    asked: dict[str, Any] = {"positive": "score", "threshold": 0.6, "methods": ["ac"]}
    out = tmp_path / "next.csv"
    audit({**frame, "label": (p > 0.5).astype(int)}, frame, suggest=20, out=out, **asked)
    rows = read_sheet(out)
    for row in rows:
        row["label"] = str(int(p[int(row["row"])] >= 0.6))
    back = audit(
        {**frame, "label": (p > 0.5).astype(int)}, frame, labels=write_sheet(out, rows), **asked
    )
    assert (back.labels, back.correct) == (20, 20)


def test_files_that_no_sheet_can_be(tmp_path: Path) -> None:
    plain = {"probabilities": TARGET_here.probabilities}
    for out, message in (
        ("x.xlsx", "for a spreadsheet"),
        ("x.npz", "a page to label on"),
        ("x", "end the name in"),
    ):
        with pytest.raises(UsageError, match=message):
            audit(SOURCE_here, plain, suggest=3, out=tmp_path / out)
    with raises_snapshot(UsageError):
        audit(SOURCE_here, plain, suggest=3, out=tmp_path / "x.csv", key="draw")


def test_cells() -> None:
    assert [guarded(text) for text in NASTY[:6]] == [
        "'=1+1",
        "'+SUM(A1)",
        "'-well",
        "'@x",
        "'\t=1",
        "-0.5",
    ]
    assert all(unguarded(guarded(text)) == text for text in (*NASTY, *ODD_IDS, "", "'", "'a"))
    same = [
        ("007", "7"),
        ("1e5", "100000"),
        ("true", "TRUE"),
        ("a", " a "),
        ("=x", "'=x"),
        (None, None),
    ]
    assert all(same_cell(*pair) for pair in same)
    other = [
        ("7", "8"),
        ("12345", "12346"),
        ("a", "A"),
        ("1234567890123456", "1234567890123956"),
        ("7", None),
    ]
    assert not any(same_cell(*pair) for pair in other)
