"""End to end on scores of candidates: numbers against plain numpy on the same files, and one line for bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.cli import main
from oodometer.fields import NO_CLASSES

from ..snapshots import assert_snapshot

Rows = list[dict[str, Any]]


def asked(rows: int, seed: int, gain: float) -> Rows:
    """Two to seven candidates a row, the right one better by ``gain``; scores are the logits of its posterior."""
    rng = np.random.default_rng(seed)
    out: Rows = []
    for number in range(rows):
        count = int(rng.integers(2, 8))
        label = int(rng.integers(count))
        scores = rng.normal(size=count)
        scores[label] += gain
        out.append({"id": number, "candidate_scores": (gain * scores).tolist(), "label": label})
    return out


REFERENCE, TARGET = asked(900, 1, 1.6), asked(700, 2, 1.2)


def put(path: Path, rows: Rows, *names: str) -> str:
    path.write_text("".join(json.dumps({n: row[n] for n in names}) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("candidates")
    put(folder / "ref.jsonl", REFERENCE, "candidate_scores", "label")
    put(folder / "target.jsonl", TARGET, "id", "candidate_scores")
    put(folder / "labelled.jsonl", TARGET, "candidate_scores", "label")
    return folder


def softmax(scores: list[float]) -> np.ndarray[Any, Any]:
    powers = np.exp(np.array(scores) - max(scores))
    found: np.ndarray[Any, Any] = powers / powers.sum()
    return found


def confidence(rows: Rows) -> np.ndarray[Any, Any]:
    return np.array([softmax(row["candidate_scores"]).max() for row in rows])


def verdicts(rows: Rows) -> np.ndarray[Any, Any]:
    return np.array([int(np.argmax(row["candidate_scores"])) == row["label"] for row in rows])


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json", "-"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_evaluate(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "evaluate", files / "labelled.jsonl")
    sure, right = confidence(TARGET), verdicts(TARGET)
    shares = [softmax(row["candidate_scores"]) for row in TARGET]
    labels = [row["label"] for row in TARGET]
    brier = np.mean(
        [((p - np.eye(len(p))[y]) ** 2).sum() for p, y in zip(shares, labels, strict=True)]
    )
    loss = np.mean([-np.log(p[y]) for p, y in zip(shares, labels, strict=True)])
    cell = np.minimum((sure * 15).astype(int), 14)
    ece = sum(abs(right[cell == b].sum() - sure[cell == b].sum()) for b in range(15)) / len(right)
    ordered = right[np.argsort(-sure)]
    coverage = (np.cumsum(ordered) / np.arange(1, len(ordered) + 1)).mean()
    expected = {
        "accuracy": right.mean(),
        "brier": brier,
        "nll": loss,
        "ece": ece,
        "auc_coverage": coverage,
    }
    metrics = found["metrics"]
    for name, value in expected.items():
        assert metrics[name]["value"] == pytest.approx(value, abs=1e-9), name
        assert metrics[name]["lower"] <= value <= metrics[name]["upper"], name
    why = {one["metric"]: one["why"] for one in found["skipped"]}
    names = (
        "confusion",
        "f1",
        "roc_auc",
        "macro_precision",
        "macro_recall",
        "macro_f1",
        "per_class",
    )
    assert why == dict.fromkeys(names, NO_CLASSES)


def test_estimate(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "estimate", files / "ref.jsonl", files / "target.jsonl")
    sure, right, far = confidence(REFERENCE), verdicts(REFERENCE), confidence(TARGET)
    threshold = np.sort(sure)[::-1][right.sum() - 1]
    entropy = [
        np.array([sum(p * np.log(p)) for p in (softmax(r["candidate_scores"]) for r in rows)])
        for rows in (REFERENCE, TARGET)
    ]
    lowest = np.sort(entropy[0])[::-1][right.sum() - 1]
    expected = {
        "source": right.mean(),
        "ac": far.mean(),
        "doc": right.mean() - (sure.mean() - far.mean()),
        "atc": (far >= threshold).mean(),
        "atc-entropy": (entropy[1] >= lowest).mean(),
    }
    by_name = {one["method"]: one for one in found["estimates"]}
    for name, value in expected.items():
        assert by_name[name]["value"] == pytest.approx(value, abs=1e-9), name
    assert found["reference"] == {
        **found["reference"],
        "rows": 900,
        "accuracy": pytest.approx(right.mean()),
    }
    truth = verdicts(TARGET).mean()
    assert abs(found["headline"]["value"] - truth) < 0.08
    assert {"cbpe", "im", "pape", "importance", "threshold:margin"} <= set(by_name)
    why = {one["method"]: one["why"] for one in found["skipped"]}
    for name in ("label-shift", "bbse", "sld", "leap", "cot", "dis2", "threshold-classwise"):
        assert why[name] == NO_CLASSES, name


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_labels_from_another_file(
    files: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Positions that do not start at 0 are still positions: a file of labels alone does not number them anew."""
    some = [row for row in TARGET if row["label"] >= 1][:120]
    path = tmp_path / f"labels.{form}"
    if form == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(
                [["id", "label"], *([row["id"], row["label"]] for row in some)]
            )
    else:
        put(path, some, "id", "label")
    expected = verdicts(some).mean()
    found = run(capsys, "estimate", files / "ref.jsonl", files / "target.jsonl", "--labels", path)
    assert found["target"]["labelled"] == 120
    assert found["target"]["accuracy"]["value"] == pytest.approx(expected)


def test_audit(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = [row for row in TARGET if row["label"] >= 1][:80]
    path = tmp_path / "few.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["row", "label"], *([row["id"], row["label"]] for row in some)])
    found = run(capsys, "audit", files / "ref.jsonl", files / "target.jsonl", "--labels", path)
    assert (found["labels"], found["correct"]) == (80, verdicts(some).sum())


def test_reports_and_other_commands(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = [str(files / "ref.jsonl"), str(files / "target.jsonl")]
    assert main(["diagnose", *pair, "-v"]) == 0
    assert main(["backtest", pair[0], "-v"]) == 0
    assert main(["compare", pair[0], str(files / "labelled.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert f"class_prior left out: {NO_CLASSES}" in " ".join(shown.split())
    for command in (["evaluate", pair[0]], ["estimate", *pair, "--backtest", "none"]):
        page = tmp_path / f"{command[0]}.html"
        assert main([*command, "--report", str(page)]) == 0
        assert "</html>" in page.read_text()


BAD: dict[str, tuple[str, str]] = {
    "one candidate": (
        '{"candidate_scores": [1.0]}',
        "row 2: column candidate_scores: expected at least 2 candidates, got 1",
    ),
    "a label too far": (
        '{"candidate_scores": [1, 2], "label": 2}',
        "row 2: column label: expected a position below 2, the number of candidates in the row, got 2",
    ),
    "not finite": (
        '{"candidate_scores": [1, NaN]}',
        "row 2: column candidate_scores[1]: expected a finite number, got nan",
    ),
    "a name": ('{"candidate_scores": [1, 2], "label": "B"}', "row 2: column label"),
    "classes as well": (
        '{"candidate_scores": [1, 2], "logits": [1, 2]}',
        "column logits: expected no field of classes",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, words = BAD[case]
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"candidate_scores": [0.5, 0.1], "label": 0}}\n{bad}\n')
    for command in (["evaluate", str(path)], ["estimate", str(path), str(path)]):
        assert main(command) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1), shown.err
        assert str(path) in shown.err
        assert words in shown.err


def test_a_reference_of_classes_and_a_target_of_candidates(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classes = put(
        tmp_path / "c.jsonl",
        [{"probabilities": [0.9, 0.1], "label": 0}] * 30,
        "probabilities",
        "label",
    )
    for pair in ((classes, files / "target.jsonl"), (files / "ref.jsonl", classes)):
        assert main(["estimate", *map(str, pair)]) == 2
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1
        assert_snapshot(shown)
