"""`compare` of pass@k, pass^k and maj@k by question, and of costs on the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oodometer import compare
from oodometer.cli.main import main
from oodometer.errors import InputError, UsageError
from oodometer.inference.paired import Paired
from oodometer.inference.reliability import pass_at_k, pass_hat_k

from ..snapshots import assert_snapshot, raises_snapshot


def answers(questions: int, repeats: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """Rows of a system, and how many answers of each question are right."""
    rng = np.random.default_rng(seed)
    right = rng.random((questions, repeats)) < rng.beta(1, 1, questions)[:, None]
    ids = np.repeat([f"q{i}" for i in range(questions)], repeats).tolist()
    cost = np.random.default_rng(seed + 9).lognormal(-3, 1, right.size)
    rows = {"id": ids, "correct": right.ravel().astype(int).tolist(), "cost": cost}
    return rows, right.sum(axis=1)


A, PASSED_A = answers(40, 6, 1)
B, PASSED_B = answers(40, 4, 2)


def test_systems_are_compared_by_question_each_with_its_own_number_of_answers() -> None:
    found = compare([A, B], names=["a", "b"], metrics=["pass^3", "pass@2"])
    gap = found.difference
    values = [
        pass_hat_k(np.full(40, repeats), passed, 3)
        for repeats, passed in ((6, PASSED_A), (4, PASSED_B))
    ]
    by_hand = Paired(np.stack(values)).difference(1, 0, 0.95)
    assert (gap["metric"], gap["k"], gap["rows"]) == ("pass_hat_k", 3, 40)
    assert (gap["value"], gap["lower"], gap["upper"], gap["p_value"]) == pytest.approx(
        (by_hand.value, by_hand.lower, by_hand.upper, by_hand.p_value)
    )
    assert gap["value"] == pytest.approx(values[1].mean() - values[0].mean())
    other, cost = found.beside
    assert (other["metric"], other["share"], cost["metric"], cost["share"]) == (
        "pass@2",
        True,
        "cost",
        False,
    )
    repeats, passed = (np.full(40, 6), PASSED_A)
    assert other["values"]["a"] == pytest.approx(pass_at_k(repeats, passed, 2).mean())
    assert cost["values"]["b"] == pytest.approx(np.mean(B["cost"]))
    assert (found.difference["p_value"] < 0.05) == (gap["lower"] > 0 or gap["upper"] < 0)


def test_a_question_that_one_file_lacks_is_left_out_with_all_its_answers() -> None:
    short = {name: list(cells)[:100] for name, cells in B.items()}  # 25 questions of 4
    found = compare([A, short], names=["a", "b"], metrics=["pass^3"])
    assert found.difference["rows"] == 25
    assert_snapshot(found.warnings)
    expected = pass_hat_k(np.full(25, 6), PASSED_A[:25], 3).mean()
    assert found["a"].in_domain.metrics["pass_hat_k"].value == pytest.approx(expected)
    (cost,) = found.beside
    assert cost["values"]["a"] == pytest.approx(np.mean(A["cost"][:150]))


def test_three_systems_are_told_apart_or_not() -> None:
    worse = {**A, "correct": [0] * 240}
    found = compare([A, B, worse], names=["a", "b", "none"], metrics=["pass@2"])
    assert found.to_best[-1]["model"] == "none"
    assert "none" not in found.groups[0]


def test_a_majority_needs_answers_and_enough_of_them() -> None:
    with raises_snapshot(InputError):
        compare([A, B], metrics=["maj@3"])
    with raises_snapshot(InputError):
        compare([A, B], metrics=["pass^5"])
    with raises_snapshot(UsageError):
        compare([A, B], metrics=["pass^2"], judge=["j"], labels="human")
    with raises_snapshot(UsageError):
        compare([A, B], metrics=["f1"])
    given = [
        {**rows, "prediction": ["x" if right else "y" for right in rows["correct"]]}
        for rows in (A, B)
    ]
    found = compare(given, metrics=["maj@3"])
    expected = [
        np.mean(stats.hypergeom(repeats, passed, 3).sf(1))
        for repeats, passed in ((4, PASSED_B), (6, PASSED_A))
    ]
    assert found.difference["value"] == pytest.approx(expected[0] - expected[1])


def test_costs_stand_beside_who_is_right(tmp_path: Path, capsys: Any) -> None:
    for name, rows in (("a", A), ("b", {**A, "cost": [2 * c for c in A["cost"]]})):
        lines = (
            json.dumps({"id": f"{q}-{i}", "correct": bool(right), "cost": cost})
            for i, (q, right, cost) in enumerate(
                zip(rows["id"], rows["correct"], rows["cost"], strict=True)
            )
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / f"{name}.jsonl") for name in "ab"]
    assert main(["compare", *files, "--json", str(tmp_path / "found.json")]) == 0
    assert_snapshot(capsys.readouterr().out)
    (cost,) = json.loads((tmp_path / "found.json").read_text())["beside"]
    assert cost["difference"]["value"] == pytest.approx(np.mean(A["cost"]))
    assert cost["difference"]["lower"] > 0
    assert cost["p_value"] < 0.001
