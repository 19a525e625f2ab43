"""`evaluate` of several answers to a question: pass^k and maj@k as they are asked for; costs beside the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import evaluate
from oodometer.cli.main import main
from oodometer.errors import InputError, UsageError
from oodometer.inference.means import share_mean

from ..snapshots import assert_snapshot, raises_snapshot

RNG = np.random.default_rng(11)
QUESTIONS, REPEATS = 30, 6
IDS = np.repeat([f"q{i}" for i in range(QUESTIONS)], REPEATS).tolist()
RIGHT = (RNG.random((QUESTIONS, REPEATS)) < RNG.beta(1, 1, QUESTIONS)[:, None]).astype(int)


def test_curves_are_asked_for_as_the_field_writes_them() -> None:
    rows = {"id": IDS, "correct": RIGHT.ravel().tolist()}
    result = evaluate(rows, metrics=["pass^4", "pass@2", "pass^1", "pass^k"])
    assert [*result.metrics] == ["pass_hat_k", "pass_at_k"]
    curve = result["pass_hat_k"].to_dict()
    assert (curve["k"], [row["k"] for row in curve["by_k"]]) == (4, [1, 4])
    passed = RIGHT.sum(axis=1)
    by_hand = passed * (passed - 1) * (passed - 2) * (passed - 3) / (6 * 5 * 4 * 3)
    mean = share_mean(by_hand)
    assert (curve["value"], curve["lower"]) == pytest.approx((by_hand.mean(), mean.lower))
    assert curve["by_k"][0]["value"] == pytest.approx(RIGHT.mean())
    with raises_snapshot(InputError):
        evaluate(rows, metrics=["pass^7"])
    with raises_snapshot(UsageError):
        evaluate(rows, metrics=["maj@300"])
    with raises_snapshot(UsageError):
        evaluate(rows, metrics=["pass_hat_k:x"])


def test_a_majority_counts_answers_and_empty_ones_never_agree() -> None:
    answers = ["a", "a", "b", None, None, "c"]
    rows: dict[str, Any] = {"id": ["q"] * 6 + ["r"] * 6, "prediction": answers * 2}
    rows["label"] = ["a"] * 6 + ["c"] * 6
    by_k = evaluate(rows, metrics=["maj@1,6"])["maj_at_k"].to_dict()["by_k"]
    assert [row["value"] for row in by_k] == pytest.approx([(2 / 6 + 1 / 6) / 2, 0.5])


def test_the_screen_has_the_curves_side_by_side(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "log.jsonl"
    lines = (
        json.dumps({"id": name, "correct": right})
        for name, right in zip(IDS, RIGHT.ravel().tolist(), strict=True)
    )
    path.write_text("\n".join(lines))
    assert main(["evaluate", str(path)]) == 0
    out = capsys.readouterr().out
    assert_snapshot(out)
    assert main(["evaluate", str(path), "--metric", "pass^4"]) == 0
    assert capsys.readouterr().out.startswith("pass^4: ")


def test_costs_stand_beside_the_answers() -> None:
    cost = RNG.lognormal(-4, 1, len(IDS))
    rows = {"id": IDS, "correct": RIGHT.ravel().tolist(), "cost_usd": cost, "latency": [2.0] * 180}
    result = evaluate({**rows, "total_tokens": [*map(str, range(179)), "none"], "costume": cost})
    (found,) = result.costs  # latency is alike, tokens are not all numbers, costume is no cost
    assert (found.column, found.rows) == ("cost_usd", 180)
    assert found.mean.value == pytest.approx(cost.mean())
    assert found.median is not None
    assert found.median.value == pytest.approx(np.median(cost))
    assert result.to_dict()["costs"][0]["mean"]["kind"] == "asymptotic"
    assert evaluate(rows, metrics=["accuracy"]).costs == ()


def test_costs_are_read_from_text_without_those_that_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    cells = ["" if i % 4 == 0 else f"{i / 10}" for i in range(40)]
    lines = (f"q{i},{i % 2},{cell},{-i}" for i, cell in enumerate(cells))
    path.write_text("id,correct,latency (s),tokens\n" + "\n".join(lines))
    (found,) = evaluate(path).costs  # amounts below 0 are none
    assert (found.column, found.rows, found.p95) == ("latency (s)", 30, None)
    assert found.mean.value == pytest.approx(np.mean([float(cell) for cell in cells if cell]))
