"""The tables that ship with the package, and ``--sample`` in the place of files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import oodometer
from oodometer.cli import main
from oodometer.cli.samples import COMMANDS, filled
from oodometer.datasets import (
    load_car_loan,
    load_digit_models,
    load_judged,
    load_runs,
    write_sample,
)
from oodometer.datasets.samples import TABLES


def test_tables_are_small_and_their_source_is_named() -> None:
    assert sum(path.stat().st_size for path in TABLES.rglob("*")) < 1_000_000
    sources = (TABLES / "SOURCES.md").read_text(encoding="utf-8")
    folders = [path.name for path in TABLES.iterdir() if path.is_dir()]
    assert sorted(folders) == sorted(COMMANDS)
    assert all(f"| `{name}` |" in sources for name in folders)


def test_car_loans_have_every_month_and_raw_names() -> None:
    loan = load_car_loan(as_frame=True)
    assert isinstance(loan.reference, pd.DataFrame)
    assert list(loan.target) == [name for name in loan.reference if name != "repaid"]
    assert loan.target["timestamp"].dt.to_period("M").nunique() == 11
    assert (loan.labels["id"] == loan.target["id"]).all()
    right = (
        (loan.target["y_pred"] == loan.labels["repaid"])
        .groupby(loan.target["timestamp"].dt.year)
        .mean()
    )
    assert right.round(3).tolist() == [0.942, 0.927]  # what NannyML's own files hold


def test_models_of_digits_have_a_known_order() -> None:
    digits = load_digit_models()
    assert isinstance(digits.ten, pa.Table)
    truth = digits.labels["label"].to_numpy()
    right = {
        name: float((table.drop(["id"]).to_pandas().to_numpy().argmax(axis=1) == truth).mean())
        for name, table in digits.targets.items()
    }
    order = sorted(right, key=right.__getitem__, reverse=True)
    assert order == ["svm", "neighbors", "logistic", "forest", "bayes", "tree"]
    result = oodometer.rank(digits.targets, examples=digits.ten)
    assert "Most likely the best of 6 models: svm" in str(result)


def test_made_evaluations_are_as_their_docs_say(tmp_path: Path) -> None:
    verdicts = load_judged(as_frame=True)
    truth = pd.read_parquet(TABLES / "judged/truth.parquet")
    assert verdicts["human_passed"].count() == 150
    assert (
        verdicts["human_passed"].dropna() == truth["correct"][verdicts["human_passed"].notna()]
    ).all()
    assert [
        round(float(verdicts[name].mean()), 3) for name in ("judge_passed", "second_passed")
    ] == [0.688, 0.502]
    assert truth["correct"].mean() == pytest.approx(0.542, abs=5e-4)
    small, large = load_runs(as_frame=True).values()
    assert (small["id"] == large["id"]).all()
    assert [table["correct"].mean() for table in (small, large)] == [0.64, 0.7125]
    assert ((small["score"] == 1) == small["correct"]).all()
    write_sample("runs", tmp_path)
    for name, table in (("small", small), ("large", large)):  # the logs hold the same answers
        for task, rows in table.groupby("group"):
            (log,) = (tmp_path / name).glob(f"samples_{task}_*.jsonl")
            answers = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            assert [answer["exact_match"] for answer in answers] == rows["correct"].tolist()


@pytest.mark.parametrize("sample", COMMANDS)
def test_files_that_are_written_are_those_of_the_commands(sample: str, tmp_path: Path) -> None:
    written = {str(path.relative_to(tmp_path)) for path in write_sample(sample, tmp_path)}
    for command, words in COMMANDS[sample].items():
        named = {
            word.rpartition("=")[2]
            for word in shlex.split(words)
            if word.endswith((".csv", ".jsonl"))
        }
        assert named <= written, command
        paths = [
            word.rpartition("=")[2]
            for word in filled([command, "--sample", sample])[0]
            if "/" in word
        ]
        assert all(Path(path).exists() for path in paths)


def test_sample_stands_for_the_files_that_demo_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--sample", "digits"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "Wrote 14 files into digits. Go there (cd digits), and try:"
    (command,) = (
        shlex.split(line)[1:] for line in listed if line.startswith("  oodometer estimate")
    )
    monkeypatch.chdir(tmp_path / "digits")
    assert main([*command, "--backtest", "none"]) == 0
    by_files = capsys.readouterr()
    assert main(["estimate", "--sample=digits", "--backtest", "none"]) == 0
    by_name = capsys.readouterr()
    assert by_name.out == by_files.out
    assert by_name.err == (
        f"sample digits: {COMMANDS['digits']['estimate']} (oodometer demo --sample digits writes the files)\n"
    )
    assert main(["estimate", "--sample", "digits", "--backtest", "none", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rank", "--sample", "car-loan"], "expected rank --sample digits, got car-loan"),
        (["estimate", "--sample", "carloan"], "did you mean car-loan?"),
        (["estimate", "--sample"], "got nothing"),
        (
            ["demo", "--sample", "digit"],
            "expected --sample to be one of car-loan, digits, judged, runs, sums, got 'digit'",
        ),
    ],
)
def test_a_sample_that_is_not_there_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_rows_of_ones_own_choice_take_the_place_of_the_ten() -> None:
    assert "--labels" in filled(["audit", "--sample", "car-loan"])[0]
    assert (
        "--labels"
        not in filled(["audit", "--sample", "car-loan", "--suggest", "10", "--out", "rows.csv"])[0]
    )


def test_a_fitted_file_stands_in_the_place_of_the_reference() -> None:
    words, stands = filled(["estimate", "model.oodo", "--sample", "car-loan", "--every", "month"])
    assert words[:2] == ["estimate", "model.oodo"]
    assert words[2].endswith("target.parquet")
    assert words[3:] == ["--every", "month"]
    assert stands.startswith("sample car-loan: target.csv (")


@pytest.mark.parametrize(
    ("sample", "command"), [("sums", "read"), ("digits", "fit"), ("digits", "evaluate")]
)
def test_commands_that_demo_lists_work(
    sample: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sample(sample, tmp_path)
    assert main([command, *shlex.split(COMMANDS[sample][command])]) == 0
    assert capsys.readouterr().out.startswith(("Accuracy: 81.7 %", "Fitted ", "Accuracy: 98.8 %"))


def test_help_and_errors_of_usage_name_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "-h"]) == 0
    assert "No files yet? oodometer estimate --sample car-loan" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["history", "-h"]) == 0
    assert "--sample" not in capsys.readouterr().out
    assert main(["estimate"]) == 2
    assert "no files yet? oodometer estimate --sample car-loan;" in capsys.readouterr().err
