"""Files by their ending: what they hold is what the result says; other endings are refused before any work."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import UsageError, WorkError
from oodometer.outputs.files import _write_table
from oodometer.reports import pdf

from ..snapshots import raises_snapshot
from .conftest import EVIL


@pytest.fixture(scope="module")
def place(tables: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables as files."""
    folder = tmp_path_factory.mktemp("tables")
    for name, one in zip(("reference", "target", "labelled"), tables, strict=True):
        pyarrow.csv.write_csv(one, folder / f"{name}.csv")
    return folder


def test_csv_and_parquet_hold_the_frame(made: dict[str, Any], tmp_path: Path) -> None:
    for name in ("estimate", "slices", "audit", "backtest"):
        expected = made[name].to_frame(wide=True, library="pandas")
        times = [one for one in ("start", "end") if one in expected]
        expected = expected.astype(dict.fromkeys(times, "datetime64[ms]"))  # what parquet knows
        read = pd.read_parquet(made[name].save(tmp_path / f"{name}.parquet"))
        assert "headline" in read.iloc[0].tolist()
        pd.testing.assert_frame_equal(read, expected, check_dtype=False)
        text = pd.read_csv(made[name].save(tmp_path / f"{name}.csv"), parse_dates=times)
        text = text.astype(dict.fromkeys(times, "datetime64[ms]"))
        pd.testing.assert_frame_equal(text, expected, check_dtype=False, rtol=1e-12)
    methods = made["estimate"].save(tmp_path / "methods.csv", what="methods")
    assert pd.read_csv(methods)["method"].tolist() == ["headline", "source", "atc", "cbpe"]


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    table = pa.table(
        {"=name": ["=1+1", "-x", "@a", "-0.5", "b", None], "value": [-1.0, 2, 3, 4, 5, 6]}
    )
    with (tmp_path / "a.csv").open("wb") as file:
        _write_table("csv", table, file)
    read = pd.read_csv(tmp_path / "a.csv")
    assert read.columns.tolist() == ["'=name", "value"]
    assert read["'=name"].fillna("").tolist() == ["'=1+1", "'-x", "'@a", "-0.5", "b", ""]
    assert read["value"].tolist() == [-1, 2, 3, 4, 5, 6]


def test_json_markdown_and_pages(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made["slices"]
    assert json.loads(found.save(tmp_path / "a.json").read_text()) == json.loads(
        json.dumps(found.to_dict())
    )
    text = found.save(tmp_path / "a.md").read_text()
    assert text.startswith(f"# Estimated accuracy: {100 * found.headline.value:.1f} %\n")
    assert "| north | " in text
    assert "<b>" not in text.replace("\\<b\\>", "")
    page = made["diagnose"].save(tmp_path / "a.html").read_text()  # a verb without a page of charts
    assert page.startswith("<!doctype html>")
    assert made["diagnose"].kind in page
    given: list[Any] = []
    monkeypatch.setattr(
        "oodometer.reports.render", lambda told, found: given.append(told) or "the page"
    )
    assert found.save(tmp_path / "b.html").read_text() == "the page"
    assert given == [found.to_dict()]


@pytest.mark.browser
def test_pdf_is_printed_by_a_browser(made: dict[str, Any], tmp_path: Path, chromium: str) -> None:
    printed = made["diagnose"].save(tmp_path / "a.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert b"/Type /Page" in printed
    assert [one.name for one in tmp_path.iterdir()] == ["a.pdf"]


def test_without_a_browser_one_line_says_what_to_do(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(pdf.VARIABLE, raising=False)
    with raises_snapshot(UsageError):
        made["diagnose"].save(tmp_path / "a.pdf")
    monkeypatch.setenv(pdf.VARIABLE, "no-such-browser --flag")
    with raises_snapshot(UsageError):
        pdf.browser()
    kept = tmp_path / ".cache/ms-playwright/chromium-1200/chrome-linux/chrome"
    kept.parent.mkdir(parents=True)
    kept.write_text("#!/bin/sh\necho boom >&2; exit 3\n")
    kept.chmod(kept.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(pdf.VARIABLE, f"{kept} --flag")
    assert pdf.browser() == [str(kept), "--flag"]
    monkeypatch.delenv(pdf.VARIABLE)
    monkeypatch.setattr("sys.platform", "linux")
    assert pdf.browser() == [str(kept)]
    with raises_snapshot(WorkError):
        made["diagnose"].save(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.html.gz", "a.jsonl"])
def test_other_endings_are_refused(made: dict[str, Any], tmp_path: Path, name: str) -> None:
    with raises_snapshot(UsageError):
        made["diagnose"].save(tmp_path / name)
    with raises_snapshot(UsageError):
        oodometer.write_report(made["estimate"], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_chosen_only_where_one_is_written(made: dict[str, Any], tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        made["estimate"].save(tmp_path / "a.csv", what="rows")
    with raises_snapshot(UsageError):
        made["estimate"].save(tmp_path / "a.json", what="methods")


def test_what_was_read_is_not_written_over(place: Path, tmp_path: Path) -> None:
    reference = str(place / "reference.csv")
    before = Path(reference).read_bytes()
    found = oodometer.evaluate(reference, metrics=["accuracy"])
    with raises_snapshot(UsageError):
        found.save(reference)
    assert Path(reference).read_bytes() == before


QUICK = ("--method", "cbpe", "--backtest", "none")


def test_a_command_writes_every_file_that_is_asked_for(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(place / "reference.csv"), str(place / "target.csv")]
    outs = [tmp_path / f"a.{ending}" for ending in ("csv", "parquet", "json", "md")]
    given = [word for out in outs for word in ("--out", str(out))]
    assert (
        main(
            [
                "estimate",
                *files,
                "--by",
                "place",
                *QUICK,
                *given,
                "--json",
                str(tmp_path / "b.json"),
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "Estimated accuracy" in shown
    read = pd.read_csv(outs[0])
    assert read["part"].tolist() == ["headline", "slice", "slice"]
    pd.testing.assert_frame_equal(pd.read_parquet(outs[1]), read, check_dtype=False, rtol=1e-12)
    read = read[1:]
    assert set(read["slice"]) == {"north", EVIL}
    told = json.loads(outs[2].read_text())
    assert told == json.loads((tmp_path / "b.json").read_text())
    assert told["argv"].startswith("oodometer")
    assert {part["value"]: part["headline"]["value"] for part in told["slices"]} == pytest.approx(
        dict(zip(read["slice"], read["value"], strict=True))
    )


@pytest.mark.parametrize(
    ("command", "option"),
    [("estimate", "--out"), ("evaluate", "--save"), ("audit", "--save"), ("backtest", "--out"), ("compare", "--out"),
     ("diagnose", "--out"), ("rank", "--save"), ("estimate", "--report")],
)  # fmt: skip
def test_an_unknown_ending_is_refused_before_the_work(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / name) for name in ("no-1.csv", "no-2.csv")][
        : 1 if command == "backtest" else 2
    ]
    assert main([command, *files, option, str(tmp_path / "a.xlsx")]) == 2
    said = capsys.readouterr().err
    assert (
        "a.xlsx: expected a name that ends in .csv, .parquet, .json, .html, .pdf or .md" in said
    ), said
    assert said.count("\n") == 1


def test_all_files_or_none(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "no" / "b.csv"
    arguments = [
        "evaluate",
        str(place / "reference.csv"),
        "--metric",
        "accuracy",
        "--out",
        str(tmp_path / "a.csv"),
    ]
    assert main([*arguments, "--out", str(bad)]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([*arguments, "--out", f"{tmp_path}/./a.csv"]) == 2
    assert "are one file" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
