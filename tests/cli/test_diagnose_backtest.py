"""The commands `diagnose` and `backtest` as a person types them: tables, JSON, resuming after an interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.outputs import terminal
from oodometer.predictions import Predictions
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot

QUICK = ["--method=source", "--method=atc", "--method=doc", "--family=none", "--family=class_prior"]


def slim(record: Predictions, labelled: bool) -> Predictions:
    label = record.label if labelled else None
    return Predictions.from_arrays(
        probabilities=record.probabilities, **({} if label is None else {"label": label})
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference, a target like it, and one in which a single class is left."""
    folder = tmp_path_factory.mktemp("shifts")
    write_predictions(slim(example_record(600, seed=1), True), folder / "reference.parquet")
    alike = example_record(600, seed=3)
    write_predictions(slim(alike, False), folder / "alike.csv")
    one_class = alike.take(np.flatnonzero(alike.label == alike.label[0]))
    write_predictions(slim(one_class, False), folder / "one_class.parquet")
    return folder


def trials_in(folder: Path) -> int:
    return sum(
        len(path.read_text().splitlines()) for path in (folder / "backtests").glob("*.jsonl")
    )


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen on which no line and no cell is folded."""
    monkeypatch.setenv("COLUMNS", "400")


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_diagnose_says_the_kind_first_then_the_findings(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(files / "reference.parquet"), str(files / "alike.csv"), "-v"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert_snapshot(shown[0])
    assert_snapshot(shown[1])
    assert ["test", "result", "statistic", "p", "power"] in map(cells, shown)
    assert ["test", "supports", "refutes"] in map(cells, shown)
    change = next(map(cells, (line for line in shown if line.startswith("change "))))
    alike = change[1] == "predictions and confidence are distributed as on the reference"
    assert alike == (float(change[3]) >= 0.05)


def test_diagnose_sees_a_change_and_writes_what_the_interface_names(
    files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "diagnosis.json"
    arguments = ["diagnose", str(files / "reference.parquet"), str(files / "one_class.parquet")]
    assert main([*arguments, "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["command"] == "diagnose"
    assert found["kind"] in {"label", "covariate", "support", "unknown"}
    assert found["version"]
    assert found["argv"].startswith("oodometer")
    wanted = {"name", "says", "statistic", "p_value", "power", "supports", "refutes"}
    assert all(set(one) >= wanted for one in found["findings"])
    change = next(one for one in found["findings"] if one["name"] == "change")
    assert change["p_value"] < 0.05
    assert change["refutes"] == ["source"]


def test_diagnose_on_standard_output_is_nothing_but_json(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["diagnose", str(files / "reference.parquet"), str(files / "alike.csv"), "--json", "-"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["kind"] == "none"


def test_estimate_shows_the_diagnosis_and_can_do_without_a_backtest(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["estimate", str(files / "reference.parquet"), str(files / "one_class.parquet")]
    out = tmp_path / "out.json"
    assert main([*arguments, "--backtest", "none", "--json", str(out)]) == 0
    shown = capsys.readouterr().out.splitlines()
    found = json.loads(out.read_text())
    assert (
        f"  Kind of shift: {found['diagnosis']['kind']}: {found['diagnosis']['why']}" in shown[:6]
    )
    assert found.get("backtest") is None
    assert found["headline"]["kind"] != "backtest"
    trust = next(line for line in shown if line.startswith("  Trust"))
    assert trust.startswith(f"  Trust {found['headline']['trust']}: ")
    assert found["diagnosis"]["why"] not in trust  # once is enough

    assert main([*arguments, "--backtest", str(tmp_path / "kept"), "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["backtest"]["trials"] > 20
    assert trials_in(tmp_path / "kept") >= found["backtest"]["trials"]


def test_what_the_diagnosis_says_leaves_no_gap_in_the_line_of_trust(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one.csv"
    one.write_text("".join((files / "alike.csv").read_text().splitlines(keepends=True)[:2]))
    arguments = [
        "estimate",
        str(files / "reference.parquet"),
        str(one),
        "--backtest",
        str(tmp_path / "kept"),
    ]
    assert main(arguments) == 0
    shown = capsys.readouterr().out.splitlines()
    assert_snapshot(shown)
    trust = next(line for line in shown if line.startswith("  Trust"))
    assert_snapshot(trust)
    assert main([*arguments[:2], str(files / "alike.csv"), *arguments[3:]]) == 0
    trust = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("  Trust")
    )
    assert_snapshot(trust)
    assert "kind" not in trust, "the diagnosis has a line of its own"


def test_backtest_table_is_the_mean_of_the_rows(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "backtest.json"
    arguments = [
        "backtest",
        str(files / "reference.parquet"),
        *QUICK,
        "--repeats",
        "4",
        "--no-cache",
        "-v",
    ]
    assert main([*arguments, "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    found = json.loads(out.read_text())
    families = found["families"]
    assert families == ["none", "class_prior"]
    columns = ["method", "family", "severity", "error", "bias", "coverage", "width", "cases"]
    assert list(found["rows"][0]) == columns
    _, _, _, errors, held = shown.split("\n\n")
    assert_snapshot(errors)
    assert_snapshot(held)
    for name, table, digits in (("error", errors, 1), ("coverage", held, 0)):
        head, *lines = map(cells, table.splitlines()[1:5])
        assert head == ["method", "no shift", "class prior", "all"]
        assert {line[0] for line in lines} == {"source", "atc", "doc"}
        for line in lines:
            mine = [row for row in found["rows"] if row["method"] == line[0]]
            means = [
                np.mean([row[name] for row in mine if row["family"] == family])
                for family in families
            ]
            expected = [f"{100 * value:.{digits}f}" for value in [*means, np.mean(means)]]
            assert line[1:] == expected
    best = [cells(line) for line in errors.splitlines()[2:5]]
    assert [float(line[-1]) for line in best] == sorted(float(line[-1]) for line in best)


def test_backtest_reuses_what_it_kept(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path))
    arguments = [
        "backtest",
        str(files / "reference.parquet"),
        *QUICK,
        "--repeats",
        "2",
        "--json",
        "-",
    ]
    found = []
    for _ in range(2):
        assert main(arguments) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["reused"] == 0
    assert found[1]["reused"] == found[1]["trials"] == found[0]["trials"]
    assert found[0]["rows"] == found[1]["rows"]


def test_an_interrupted_backtest_says_so_and_goes_on(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The 4th trial never ends well: three are kept, and the next run has only the others left."""
    from oodometer.cli import accuracy as command

    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path))
    arguments = ["backtest", str(files / "reference.parquet"), *QUICK, "--repeats", "2"]

    def stop(self: object, done: int, total: int) -> None:
        counted(self, done, total)
        if done == 3:
            raise KeyboardInterrupt

    counted = command._Count.__call__
    with monkeypatch.context() as patch:
        patch.setattr(command._Count, "__call__", stop)
        assert main(arguments) == 130
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert_snapshot(said[0])
    assert trials_in(tmp_path) == 3
    assert main([*arguments, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["reused"] == 3


def test_without_a_cache_an_interruption_promises_nothing(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from oodometer.cli import accuracy as command

    def stop(self: object, done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command._Count, "__call__", stop)
    assert main(["backtest", str(files / "reference.parquet"), *QUICK, "--no-cache"]) == 130
    assert_snapshot(capsys.readouterr().err.strip())


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_control_c_in_a_process_of_its_own(files: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "backtest",
        str(files / "reference.parquet"),
        "--repeats",
        "40",
    ]
    env = {**os.environ, "OODOMETER_CACHE": str(tmp_path)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "backtests").glob("*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert out == b""
    assert error.decode().strip().splitlines()[-1].startswith("oodometer: interrupted after ")
    assert b"Traceback" not in error
    assert trials_in(tmp_path) >= 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "atcc"], "atcc"),
        (["--family", "earthquake"], "earthquake"),
        (["--repeats", "0"], "at least one repeat"),
        (["--level", "95"], "level"),
    ],
)
def test_wrong_usage_of_backtest_is_one_line(
    files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backtest", str(files / "reference.parquet"), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_too_few_rows_to_backtest_on_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_predictions(slim(example_record(79, seed=1), True), tmp_path / "few.parquet")
    assert main(["backtest", str(tmp_path / "few.parquet"), "--no-cache"]) == 2
    assert_snapshot(capsys.readouterr().err)


def test_backtest_writes_a_page(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    page = tmp_path / "backtest.html"
    arguments = [
        "backtest",
        str(files / "reference.parquet"),
        *QUICK,
        "--repeats",
        "2",
        "--no-cache",
    ]
    assert main([*arguments, "--report", str(page)]) == 0
    capsys.readouterr()
    assert "chart-error-map" in page.read_text(encoding="utf-8")


def test_methods_lists_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "-v"]) == 0
    shown = capsys.readouterr().out
    for title in ("estimators", "scores", "calibrators", "metrics", "rankers", "simulations"):
        assert f"\n{title}\n" in shown
    listed = [cells(line) for line in shown.splitlines()]
    assert [
        "class_prior",
        "`label` of at least two classes",
        "other shares of the true classes",
    ] in listed


def test_the_best_of_a_table_stands_out_on_a_terminal() -> None:
    rows = [["one", "1.0"], ["two", "2.0"]]
    shown = "\n".join(
        terminal.table_lines(["method", "error"], rows, 60, bold=[(0, 1)], colour=True)
    )
    assert "\x1b[1m1.0" in shown
    assert "\x1b[1m2.0" not in shown
