"""What is shown at first fits a screen: help in 40 lines, methods in 40, answers in 24, and in 40 with months."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from oodometer.cli import main
from oodometer.cli.main import all_commands
from oodometer.outputs.terminal import fitted, view_lines
from oodometer.results.view import Grid, Point, View

from .every_command import commands

NAMES = ["", *(name for name, _ in commands(get_command(all_commands())))]


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_a_screen(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "-h"]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 40


def test_methods_is_a_table_of_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "cbpe                 probabilities         covariate shift" in lines
    assert main(["methods", "cbpe"]) == 0
    assert "assumes: P(y | x) is unchanged" in capsys.readouterr().out
    assert main(["methods", "scores"]) == 0
    assert "negative_entropy" in capsys.readouterr().out
    for name, ours, key in (
        ("sgr", "operating_points", "geifman2017"),
        ("CRC", "conformal_risk", "angelopoulos2024"),
    ):
        assert main(["methods", name]) == 0
        assert f"{ours} (metric)" in capsys.readouterr().out
        assert main(["cite", name]) == 0
        assert key in capsys.readouterr().out
    assert main(["methods", "cbp"]) == 2
    assert "did you mean cbpe" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on 240 rows of a year, and the same without labels."""
    folder = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(0)
    for side, kept in (("reference", True), ("target", False)):
        y = rng.integers(0, 2, 240)
        for model, skill in (("a", 1.5), ("b", 1.0), ("c", 0.5)):
            p = (1 / (1 + np.exp(-skill * (2 * y - 1 + rng.normal(0, 1, 240))))).round(4)
            rows = [
                f"{i},{side}-{model},2025-{1 + i // 20:02d}-03,{p[i]}{f',{y[i]}' * kept}"
                for i in range(240)
            ]
            head = "id,site,time,prob_1" + ",label" * kept
            (folder / f"{side}-{model}.csv").write_text("\n".join([head, *rows]) + "\n")
        few = [f"{i},{y[i]}" for i in range(0, 240, 24)]
        (folder / f"{side}-labels.csv").write_text("\n".join(["id,label", *few]) + "\n")
    return folder


PAIR = ["reference-a.csv", "target-a.csv"]
ANSWERS: dict[str, tuple[list[str], int]] = {
    "estimate": (["estimate", *PAIR, "--store", "runs.sqlite"], 24),
    "estimate by site": (["estimate", *PAIR, "--by", "site"], 24),
    "months": (
        ["estimate", *PAIR, "--every", "month", "--fail-below", "0.9", "--metric", "f1"],
        40,
    ),
    "diagnose": (["diagnose", *PAIR], 24),
    "backtest": (
        ["backtest", "reference-a.csv", "--repeats", "1", "--family", "none", "--no-cache"],
        24,
    ),
    "audit": (["audit", *PAIR, "--labels", "target-labels.csv"], 24),
    "evaluate": (["evaluate", "reference-a.csv"], 24),
    "compare": (["compare", *(f"reference-{m}.csv" for m in "abc")], 24),
    "compare on targets": (
        [
            "compare",
            *(f"reference-{m}.csv" for m in "ab"),
            *(w for m in "ab" for w in ("--target", f"target-{m}.csv")),
        ],
        24,
    ),
    "plan": (["plan", *(f"reference-{m}.csv" for m in "ab"), "--difference", "0.03"], 24),
    "rank": (["rank", *(f"target-{m}.csv" for m in "abc"), "--examples", "target-labels.csv"], 24),
    "history": (["history", "runs.sqlite"], 24),
    "read": (["read", "reference-a.csv"], 24),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_fits_a_screen(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words, most = ANSWERS[name]
    assert main(words) in (0, 3)
    lines = capsys.readouterr().out.splitlines()
    assert 1 < len(lines) <= most
    folded = [line for line in lines if not line.startswith("ALARM") and "  oodometer " not in line]
    assert max(map(len, folded)) <= 80  # the others are a line each, to be logged or copied


ROWS = [[f"row {i}", str(i)] for i in range(60)]


def test_what_does_not_fit_waits_and_is_counted() -> None:
    grids = (
        Grid("Models", ["model", "value"], ROWS, noun="model", marked=frozenset([58])),
        Grid("Pairs", ["pair", "value"], ROWS, noun="pair"),
    )
    notes = tuple(f"{i}. " + "a long note " * 10 for i in range(5))
    view = View(
        "Models compared", "60 models", grids=grids, notes=notes, warnings=("a", "b", "c", "d")
    )
    lines = view_lines(view, 80)
    assert len(lines) <= 22  # and a line or two on what is left out
    assert any(line.startswith("row 58") for line in lines)
    assert not any(line.startswith("row 59") for line in lines)
    assert fitted(view, 80)[1] == {"model": 52, "pair": 60, "note": 5}
    assert len(view_lines(view, 80, full=True)) > 120


def test_of_times_the_newest_are_shown_and_rows_to_label_all() -> None:
    grid = Grid("chunks", ["chunk", "value"], ROWS, noun="chunk")
    points = tuple(Point(name, 0.5, 0.4, 0.6) for name, _ in ROWS)
    lines = view_lines(View("Estimated accuracy", "80 %", grids=(grid,), points=points), 80)
    assert len(lines) <= 38
    assert lines[-1].startswith("row 59")
    label = Grid("Rows to label next", ["row", "text"], ROWS, noun="row")
    assert len(view_lines(View("Ranked", "open", grids=(label,)), 80)) > 60
