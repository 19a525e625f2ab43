"""The command `compare`: options in the order of the models, JSON, tables, and errors on one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from oodometer.cli.main import main

from ..snapshots import assert_snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    for name, strength in {"a": 2.0, "b": 1.0, "a_away": 1.2, "b_away": 0.6}.items():
        margin = rng.normal(strength, 1.5, 600)
        confidence = 1 / (1 + np.exp(-np.abs(margin)))
        prediction = np.where(margin > 0, label, 1 - label)
        lines = [f"{y},{p},{c:.6f}" for y, p, c in zip(label, prediction, confidence, strict=True)]
        (path / f"{name}.csv").write_text("\n".join(["label,prediction,confidence", *lines]) + "\n")
    (path / "goal.csv").write_text(
        "confidence\n" + "\n".join(f"{c:.3f}" for c in rng.uniform(0.5, 1, 200)) + "\n"
    )
    return path


def run(folder: Path, *words: str) -> int:
    return main(
        [
            "compare",
            *(str(folder / w) if w.endswith((".csv", ".json", ".html")) else w for w in words),
        ]
    )


def test_everything_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        folder, "a.csv", "b.csv", "--out-of-domain", "a_away.csv", "--out-of-domain", "b_away.csv",
        "--target", "goal.csv", "--target", "goal.csv", "--name", "first", "--name", "second",
        "--require", "0.8", "--energy", "4", "--energy", "2", "--json", "out.json", "-v",
    )  # fmt: skip
    assert code == 0
    printed = capsys.readouterr().out
    assert_snapshot(printed)
    for part in (
        "out of domain",
        "first",
        "second",
        "DiDMA",
        "on the target, estimated without labels",
        "OOD share",
        "may be answered by",
        "thresholds in domain",
    ):
        assert part in printed
    result = json.loads((folder / "out.json").read_text())
    assert [model["name"] for model in result["models"]] == ["first", "second"]
    one = result["models"][1]
    assert one["computation"] == 0.5
    assert one["out_of_domain"]["rows"] == 600
    assert [row["accuracy"] for row in one["in_domain"]["operating_points"]] == [0.8]
    assert one["target"]["rows"] == 200
    assert one["nidma"]["kind"] == "empirical"
    assert result["argv"].startswith("oodometer")


def test_json_on_standard_output_is_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "a.csv", "b.csv", "--energy", "2", "--energy", "4", "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in result["models"]] == ["a", "b"]
    assert result["rankings"]["accuracy"][0]["model"] == "a"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.csv"], "at least two models"),
        (["a.csv", "none.csv"], "none.csv"),
        (["a.csv", "goal.csv"], "known truth"),
        (["a.csv", "b.csv", "--target", "goal.csv"], "--target is given once for 2 models"),
        (["a.csv", "b.csv", "--score", "margni"], "did you mean"),
        (["a.csv", "b.csv", "--level", "95"], "level"),
    ],
)
def test_errors_are_one_line(
    folder: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, *words) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.count("\n") == 1


def test_evaluate_prints_findings_and_thresholds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(folder / "a.csv"), "-v"]) == 0
    printed = capsys.readouterr().out
    assert_snapshot(printed)
    assert "disca" in printed
    rng = np.random.default_rng(1)
    confidence = np.linspace(0.999, 0.5, 2000)
    correct = np.concatenate([rng.random(100) < 0.5, np.ones(1900, dtype=bool)])
    lines = "\n".join(f"{c:.5f},{int(y)}" for c, y in zip(confidence, correct, strict=True))
    (folder / "bad.csv").write_text("confidence,correct\n" + lines + "\n")
    assert main(["evaluate", str(folder / "bad.csv"), "-v"]) == 0
    assert_snapshot(capsys.readouterr().out)


def test_the_scores_of_selective_answering_take_their_options(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DiSCA = x / a + y / b - z penalty, its parts counted here; DiDMA and NiDMA by hand from it."""
    assert (
        run(
            folder, "a.csv", "b.csv", "--out-of-domain", "a_away.csv", "--out-of-domain", "b_away.csv",
            "--parameters", "11e6", "--parameters", "4e6", "--optimal-parameters", "5e6",
            "--tolerance", "0.9", "--weights", "0.5,0.25,0.25",
            "--didma-weights", "0.75,0.25", "--nidma-weights", "0.6,0.4", "--json", "-",
        )
        == 0
    )  # fmt: skip
    models = json.loads(capsys.readouterr().out)["models"]
    ratios = {"a": 5 / 11, "b": 5 / 4}
    for model in models:
        scores = []
        for file, domain in ((model["name"], "in_domain"), (f"{model['name']}_away", None)):
            rows = np.genfromtxt(folder / f"{file}.csv", delimiter=",", names=True)
            order = np.argsort(-rows["confidence"], kind="stable")
            right, confidence = (
                (rows["label"] == rows["prediction"])[order],
                rows["confidence"][order],
            )
            at = np.arange(6, 601, 6) - 1  # 100 equal steps of coverage
            accuracy, confidence = (right.cumsum() / np.arange(1, 601))[at], confidence[at]
            a = confidence[np.argmax(accuracy < 1)]
            low = accuracy < 0.9  # where it never is, the lowest confidence stands for b
            b = confidence[np.argmax(low)] if low.any() else confidence[-1]
            rise, step = np.diff(accuracy), -np.diff(confidence)
            up = np.flatnonzero(rise > 1e-12)
            weight = np.arange(len(up), 0, -1)
            penalty = (weight * rise[up] / np.maximum(step[up], 0.001)).sum() / weight.sum()
            scores.append(0.5 / a + 0.25 / b - 0.25 * penalty)
            if domain is not None:
                found = model[domain]["metrics"]["disca"]
                assert found["value"] == pytest.approx(scores[0], rel=1e-3)
        didma = 0.75 * scores[0] + 0.25 * ratios[model["name"]]
        assert model["didma"]["value"] == pytest.approx(didma, rel=1e-3)
        nidma = 0.6 * didma + 0.4 * scores[1]
        assert model["nidma"]["value"] == pytest.approx(nidma, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--weights", "0.5,0.5"], "expected three weights x, y, z that sum to 1, got 0.5"),
        (["--weights", "half"], "expected --weights as numbers, such as 0.5,0.5, got"),
        (["--didma-weights", "1"], "expected two weights p and q that sum to 1, got 1"),
        (["--tolerance", "95"], "expected a tolerance from 0.5 to 1, an accuracy, got 95"),
        (["--parameters", "3", "--parameters", "4"], "give --optimal-parameters, too"),
        (["--optimal-parameters", "3"], "needs the parameters of each model"),
    ],
)
def test_options_of_the_scores_that_make_no_sense(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(folder, "a.csv", "b.csv", *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    base = rng.random(500) < 0.7
    changes = {"base": (0, 0), "worse": (0.05, 0.3), "same": (0.01, 0.005), "close": (0.2, 0.12)}
    for name, (up, down) in changes.items():
        luck = rng.random(500)
        right = np.where(base, luck >= down, luck < up)
        lines = [json.dumps({"id": i, "correct": bool(r)}) for i, r in enumerate(right)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("new", "words", "code", "verdict"),
    [
        ("worse", (), 3, "worse"),
        ("same", ("--strict",), 0, "not_worse"),
        ("close", (), 0, "undecided"),
        ("close", ("--strict",), 4, "undecided"),
        ("worse", ("--anytime",), 3, "worse"),
    ],
)
def test_a_gate_ends_with_its_exit_code(
    versions: Path, new: str, words: tuple[str, ...], code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    files = [str(versions / f"{name}.jsonl") for name in ("base", new)]
    page = versions / "gate.md"
    gate = ["compare", *files, "--fail-drop", "0.02", *words]
    assert main([*gate, "--json", str(versions / "o.json"), "--out", str(page)]) == code
    result = json.loads((versions / "o.json").read_text())
    assert result["gate"]["verdict"] == verdict
    assert result["gate"]["drop"] == 0.02
    assert "Gate: " in capsys.readouterr().out.split("The better")[0]
    assert "- Gate: " in page.read_text()
    assert main([*gate, "-q"]) == code
    assert ("Gate: " in capsys.readouterr().err) == (code > 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--fail-drop", "2"), "0.02 for 2 points"),
        (("--fail-drop", "-0.1"), "a drop from 0 on"),
        (("--strict",), "--fail-drop 0.02"),
        (("--fail-drop", "0.1", "{same}"), "BASE NEW"),
        (("--target", "rows"), "2 models"),
    ],
)
def test_gates_that_make_no_sense(
    versions: Path, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(versions / f"{name}.jsonl") for name in ("base", "close")]
    extra = [word.format(same=versions / "same.jsonl") for word in words]
    assert main(["compare", *files, *extra]) == 2
    assert says in capsys.readouterr().err
