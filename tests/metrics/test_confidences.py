"""Which confidence orders errors best: areas against scikit-learn and the metrics, errors against the bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oodometer import Predictions
from oodometer.errors import NotApplicable
from oodometer.metrics import Confidences, area_under_accuracy_coverage, compared_confidences

from ..snapshots import raises_snapshot


def sample(questions: int, repeats: int = 1, seed: int = 0) -> tuple[dict[str, Any], Any, Any]:
    """Three confidences that tell right from wrong well, a little and not at all; rows of a question share much."""
    rng = np.random.default_rng(seed)
    skill = np.repeat(rng.standard_normal(questions), repeats)
    right = rng.random(len(skill)) < 1 / (1 + np.exp(-skill))
    noise = np.repeat(rng.standard_normal((2, questions)), repeats, axis=1)
    good, weak = skill + 0.5 * noise[0], np.round(skill + 2 * noise[1])
    return (
        {"good": good, "weak": weak, "none": rng.random(len(skill))},
        right,
        np.repeat(np.arange(questions), repeats),
    )


def by_name(out: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row for row in out["ranking"]}


def test_areas_are_those_of_others() -> None:
    values, right, _ = sample(300)
    rows = by_name(compared_confidences(values, right))
    for name, own in values.items():
        assert rows[name]["auroc"].value == pytest.approx(roc_auc_score(right, own))
        ranks = np.unique(own, return_inverse=True)[1] / 1000  # the area asks for the order alone
        assert rows[name]["auc_coverage"].value == pytest.approx(
            area_under_accuracy_coverage(ranks, right)
        )


@pytest.mark.parametrize("repeats", [1, 6])
def test_errors_are_those_of_a_bootstrap_of_questions(repeats: int) -> None:
    values, right, question = sample(200, repeats)
    rows = by_name(compared_confidences(values, right, question, level=0.6827))
    rng, gaps, areas = np.random.default_rng(1), [], []
    for _ in range(400):
        drawn = rng.integers(0, 200, 200)
        at = (drawn[:, None] * repeats + np.arange(repeats)).ravel()
        each = {name: roc_auc_score(right[at], own[at]) for name, own in values.items()}
        gaps.append(each["weak"] - each["good"])
        areas.append(
            [
                each["good"],
                area_under_accuracy_coverage(
                    np.argsort(np.argsort(values["good"][at])) / 1e4, right[at]
                ),
            ]
        )
    auroc, coverage = np.std(areas, axis=0)
    assert rows["good"]["auroc"].width / 2 == pytest.approx(auroc, rel=0.15)
    assert rows["good"]["auc_coverage"].width / 2 == pytest.approx(coverage, rel=0.15)
    # simultaneous over three pairs: 1.6 standard errors where one alone has 1
    assert 1.3 < rows["weak"]["difference"].width / 2 / np.std(gaps) < 2.0


def test_two_that_are_equally_good_are_tied_in_most_draws() -> None:
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        skill = rng.standard_normal(100)
        right = rng.random(100) < 1 / (1 + np.exp(-skill))
        values = {name: skill + rng.standard_normal(100) for name in "abc"}
        wrong += len(compared_confidences(values, right)["tied"]) < 3
    assert wrong <= 16  # 5 % of 200, and chance


def test_a_worse_one_is_found_and_a_copy_is_no_rival() -> None:
    values, right, _ = sample(2000)
    out = compared_confidences(
        {**values, "twin": values["good"] * 3 + 1, "flat": np.ones(2000)}, right
    )
    assert (out["best"], out["tied"], out["same"]) == ("good", ["good"], ["flat"])
    assert by_name(out)["good"]["alike"] == ["twin"]
    assert by_name(out)["none"]["difference"].upper < 0


def test_rows_where_one_is_unknown_are_left_out_of_all() -> None:
    values, right, _ = sample(100)
    values["weak"][:40] = np.nan
    out, rest = (
        compared_confidences(values, right),
        {name: own[40:] for name, own in values.items()},
    )
    assert out["rows"] == 60
    assert (
        by_name(out)["good"]["auroc"]
        == by_name(compared_confidences(rest, right[40:]))["good"]["auroc"]
    )


def test_without_errors_there_is_nothing_to_order() -> None:
    with raises_snapshot(NotApplicable):
        compared_confidences({"a": np.arange(3.0)}, [1, 1, 1])


def test_of_very_many_rows_a_sample_is_compared() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(300_000) < 0.6
    logs = -rng.exponential(np.where(right, 0.3, 0.5)[:, None], (300_000, 2))
    record = Predictions.from_arrays(token_logprobs=logs, correct=right)
    out = Confidences().compute(record)
    assert (out["rows"], out["of_rows"]) == (131_072, 300_000)
    assert by_name(out)["sequence_probability"]["auroc"].value == pytest.approx(
        roc_auc_score(right, logs.sum(1)), abs=0.01
    )
