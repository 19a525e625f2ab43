"""The command `audit` as a person types it: output, JSON, the loop through files, one-line errors with code 2."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.errors import install_line
from oodometer.predictions import Predictions
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot

TARGET = example_record(500, seed=2, difficulty=1.5)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    reference = example_record(600, seed=1)
    write_predictions(
        Predictions.from_arrays(probabilities=reference.probabilities, label=reference.label),
        folder / "r.parquet",
    )
    write_predictions(Predictions.from_arrays(probabilities=TARGET.probabilities), folder / "t.csv")
    rows = np.random.default_rng(0).permutation(500)[:40]
    text = "".join(f"{row},{TARGET.label[row]}\n" for row in rows)
    (folder / "few.csv").write_text("row,label\n" + text)
    (folder / "clash.csv").write_text("row,label\n3,0\n3,1\n")
    (folder / "outside.csv").write_text("row,label\n500,0\n")
    (folder / "short.csv").write_text("label\n0\n1\n")
    (folder / "zebra.csv").write_text("row,label\n3,zebra\n")
    (folder / "blank.csv").write_text("row,label\n3,\n4,\n")
    return folder


def call(files: Path, *arguments: str) -> int:
    return main(
        ["audit", str(files / "r.parquet"), str(files / "t.csv"), "--method", "doc", *arguments]
    )


def test_it_prints_a_verdict_and_writes_json(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit.json"
    assert (
        call(files, "--labels", str(files / "few.csv"), "--level", "0.9", "--json", str(out), "-v")
        == 0
    )
    shown = capsys.readouterr().out
    for text in (
        "Label-free estimate",
        "Audited accuracy",
        "As informative as",
        "efuted",
        "clopper-pearson",
        "ppi-betting",
    ):
        assert text in shown
    found = json.loads(out.read_text())
    assert found["labels"] == 40
    assert found["level"] == 0.9
    assert found["estimate"]["lower"] <= TARGET.accuracy <= found["estimate"]["upper"]
    assert found["argv"].startswith("oodometer")


def test_the_believed_interval_is_printed_beside_the_exact_one(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit.json"
    assert call(files, "--labels", str(files / "few.csv"), "--json", str(out)) == 0
    shown = " ".join(capsys.readouterr().out.split())  # lines are folded
    believed = json.loads(out.read_text())["believed"]
    assert believed["kind"] == "empirical"
    assert believed["lower"] <= TARGET.accuracy <= believed["upper"]
    assert "(95 % exact interval" in shown
    assert_snapshot(shown)
    many = f"{believed['effective_labels']:.0f} random labels"
    assert f"95 % empirical interval, as informative as {many}" in shown


def test_rows_are_suggested_at_random_or_by_confidence(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = []
    for how in ("random", "confidence"):
        out = tmp_path / f"{how}.csv"
        assert call(files, "--suggest", "300", "--suggest-by", how, "--out", str(out)) == 0
        shares.append(float(out.read_text().splitlines()[1].rsplit(",", 2)[1]))
    assert shares[0] == 1
    assert shares[1] < 1
    capsys.readouterr()
    assert (
        call(files, "--suggest", "3", "--suggest-by", "entropy", "--out", str(tmp_path / "x.csv"))
        == 2
    )
    assert_snapshot(capsys.readouterr().err)


def test_json_on_standard_output_is_nothing_but_json(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(files, "--labels", str(files / "few.csv"), "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["command"] == "audit"


def test_the_loop_through_files(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "next.csv"
    assert (
        call(files, "--labels", str(files / "few.csv"), "--suggest", "30", "--out", str(out)) == 0
    )
    assert_snapshot(capsys.readouterr().out)
    header, *lines = out.read_text().splitlines()
    named = header.split(",")
    own = (files / "t.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert named == [*own, "draw", "row", "stratum", "probability", "weight", "share", "label"]
    filled = [f"{line}{TARGET.label[int(line.split(',')[named.index('row')])]}" for line in lines]
    out.write_text("\n".join([header, *filled]) + "\n")
    assert call(files, "--labels", str(files / "few.csv"), "--labels", str(out), "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["labels"] == 70
    assert found["estimate"]["lower"] <= TARGET.accuracy <= found["estimate"]["upper"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clash.csv", "one truth for target row 3"),
        (
            "outside.csv",
            "row 1: column row: expected the number of a target row from 0 to 499, got 500",
        ),
        ("short.csv", "as many labels as target rows (500)"),
        ("zebra.csv", "got 'zebra'"),
        ("blank.csv", "at least one known label"),
        ("none.csv", "none.csv"),
    ],
)
def test_bad_labels_are_one_line_and_code_2(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    assert call(files, "--labels", str(files / name)) == 2
    said = capsys.readouterr().err
    assert message in said
    assert name in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "there are no labels"), (["--suggest", "5"], "--out"), (["--out", "x.csv"], "--suggest")],
)
def test_calls_that_make_no_sense(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert call(files, *arguments) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_written_where_the_ending_is_unknown(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(files, "--suggest", "5", "--out", str(tmp_path / "next.txt")) == 2
    assert_snapshot(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_written_and_says_the_verdict(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    page, told = tmp_path / "audit.html", tmp_path / "audit.json"
    few = str(files / "few.csv")
    assert call(files, "--labels", few, "--report", str(page), "--json", str(told)) == 0
    found = json.loads(told.read_text())
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert f"the model got {found['correct']} right" in text
    assert ("REFUTED: the labels" if found["refuted"] else "Not refuted: the labels do not") in text
    assert {w["labels"] for w in found["outlook"]["widths"]} >= {10, 40, 100, 300}
    assert "Audited accuracy" in capsys.readouterr().out


def test_widths_are_worked_out_for_a_page_only(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(files, "--labels", str(files / "few.csv"), "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["outlook"] is None


@pytest.mark.parametrize("place", ["none/audit.html", "."])
def test_a_page_without_a_place_is_said_before_the_work(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    pytest.importorskip("vl_convert")
    suggestion = tmp_path / "next.csv"
    arguments = ("--suggest", "5", "--out", str(suggestion), "--report", str(tmp_path / place))
    assert call(files, *arguments) == 2
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_the_remedy_is_said(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = tmp_path / "audit.html"
    assert call(files, "--labels", str(files / "few.csv"), "--report", str(page)) == 2
    assert install_line("report") in capsys.readouterr().err
    assert not page.exists()
