"""The command that a page offers next is one that runs on the files of that page."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli.main import main
from oodometer.reports.sections import after_history, next_step
from oodometer.results.history import job_view
from oodometer.results.view import View

QUICK = ["--method", "source", "--backtest", "none"]
PAIR = ["digits/reference/svm.csv", "digits/target/svm.csv"]
COMMANDS = {
    "estimate": ["estimate", *PAIR, *QUICK],
    "sampled": ["estimate", "--sample", "digits", *QUICK],
    "audit": ["audit", *PAIR, "--labels", "digits/ten.csv", *QUICK[:2]],
    "evaluate": ["evaluate", PAIR[0]],
    "files": ["evaluate", PAIR[0], "digits/reference/tree.csv"],
    "scores": ["evaluate", "scores.csv"],
    "backtest": ["backtest", PAIR[0], "--method", "source", "--family", "none", "--no-cache"],
    "renamed": ["evaluate", "renamed.csv", "--map", "truth=label"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a sample, and of scores, in the folder of the command."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--sample", "digits", "-q"]) == 0
    text = "".join(f"{i},{(7 * i) % 10 / 10}\n" for i in range(200))
    (tmp_path / "scores.csv").write_text(f"id,score\n{text}", encoding="utf-8")
    table = Path(PAIR[0]).read_text(encoding="utf-8")
    head, rest = table.split("\n", 1)
    (tmp_path / "renamed.csv").write_text(
        head.replace("label", "truth") + "\n" + rest, encoding="utf-8"
    )
    return tmp_path


def json_of(words: list[str], path: Path) -> dict[str, Any]:
    assert main([*words, "-q", "--json", str(path)]) == 0
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_is_to_be_done_next_runs(words: list[str], folder: Path) -> None:
    result = json_of(words, folder / "result.json")
    line = next_step(str(result["command"]), result)["line"]
    command = shlex.split(line)
    assert command[0] == "oodometer"
    assert not {"TARGET", "REFERENCE", "OTHER"} & {*command}
    assert main([*command[1:], "-q"]) == 0, line


def test_a_history_asks_for_labels_where_nobody_should_act(folder: Path) -> None:
    run = {"argv": ["oodometer", "estimate", *PAIR]}
    doubted = after_history(View("", "", trust="none"), run)
    assert main([*shlex.split(doubted["line"])[1:], "-q", *QUICK[:2]]) == 0
    assert "Nothing" not in doubted["text"]
    assert "line" not in after_history(View("", "", trust="low"), run)


def test_the_last_finished_chunk_stands_first() -> None:
    run = {
        "number": 1, "at": "2026-02-10T05:00:00", "rows": 60, "value": 0.8, "lower": 0.7,
        "upper": 0.9, "level": 0.9, "kind": "empirical", "reference_accuracy": 0.9,
    }  # fmt: skip
    chunk = {
        "kind": "chunk", "metric": "accuracy", "lower": 0.5, "upper": 0.95, "rows": 30,
        "trust": "low", "fell": "holds", "alarms": [], "truth": None, "seen": [1],
        "at": "2026-02-10", "partial": False,
    }  # fmt: skip
    january = {**chunk, "name": "2026-01", "value": 0.88}
    february = {**chunk, "name": "2026-02 (partial)", "value": 0.6, "partial": True}
    view = job_view({"job": "shop", "runs": [run], "parts": [january, february]})
    assert view.title.endswith("of 2026-01")
    assert view.number == "88.0 %"
    assert any("2026-02 (partial): 60.0 %" in sentence for sentence in view.sentences)
    alone = job_view({"job": "shop", "runs": [run], "parts": [february]})
    assert alone.number == "60.0 %"
