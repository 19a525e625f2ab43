"""Operating points: by hand, against scipy, and in simulations where the chosen threshold must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from oodometer import Predictions
from oodometer.errors import UsageError
from oodometer.metrics import OperatingPoints, operating_point
from oodometer.registry import create


def test_by_hand() -> None:
    """1,000 rows, 40 of them give thresholds; the surest 400 are right, then every other."""
    confidence = np.linspace(1, 0.91, 1000)
    correct = np.concatenate([np.ones(400), np.arange(600) % 2])
    found = operating_point(confidence, correct, accuracy=0.95)
    assert (found["tests"], found["set_aside"]) == (40 + 39 + 1, 40)
    answers = confidence >= found["threshold"]
    assert answers.sum() == found["answered"] == 1000 * found["coverage"]["value"]
    assert 370 <= found["answered"] <= 430  # with 444 answered accuracy is 0.95, and 0.9 with 500
    assert found["selective_accuracy"]["value"] == correct[answers].mean()
    assert found["selective_accuracy"]["lower"] == 0.95
    # at the whole level the test rejects, at a fifth of it no threshold more lenient does
    assert binomtest(int(correct[answers].sum()), found["answered"], 0.95, alternative="greater").pvalue <= 0.05
    # what was merely observed goes further: 444 rows, 22 of them wrong, or a few more
    assert 0.44 <= found["observed"]["coverage"] <= 0.45


def test_everything_may_be_answered() -> None:
    found = operating_point(np.linspace(1, 0.5, 500), np.arange(500) > 2, accuracy=0.9)
    assert (found["coverage"]["value"], found["threshold"]) == (1.0, 0.0)


def test_nothing_can_be_proved() -> None:
    few = operating_point([0.9] * 20, [1] * 20, accuracy=0.95)
    assert few["coverage"] is None
    assert "needs at least 64 rows" in few["why"]
    assert operating_point(np.linspace(1, 0.9, 64), [1] * 64, accuracy=0.95)["coverage"]["value"] == 1
    assert few["observed"]["coverage"] == 1.0
    bad = operating_point(np.linspace(0.9, 0.5, 300), np.arange(300) % 2 == 1, accuracy=0.95)
    assert "no part of the rows" in bad["why"]
    close = operating_point(np.linspace(0.9, 0.5, 300), np.arange(300) % 25 > 0, accuracy=0.95)
    assert "not" not in close["why"]
    assert close["threshold"] is None


def test_ties_are_answered_together() -> None:
    found = operating_point([0.9] * 250 + [0.6] * 250, [1] * 250 + [0, 1] * 125, accuracy=0.9)
    assert found["answered"] == 250
    assert 0.6 < found["threshold"] <= 0.9


def test_a_stricter_level_or_accuracy_answers_less() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(3000)
    correct = rng.random(3000) < confidence**0.2
    share = [operating_point(confidence, correct, a)["coverage"]["value"] for a in (0.85, 0.9, 0.95)]
    assert share == sorted(share, reverse=True)
    assert operating_point(confidence, correct, 0.9, level=0.999)["coverage"]["value"] <= share[1]


@pytest.mark.parametrize("rows", [300, 2000])
def test_the_promise_holds_although_the_threshold_was_chosen(rows: int) -> None:
    """Accuracy above a threshold t is known here; at most 10 % of the chosen thresholds may miss it at level 0.9."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 1, 20_001)
    rate = np.clip(0.8 + 0.25 * (grid - 0.3), 0, 1)
    above = np.cumsum(rate[::-1])[::-1] / np.arange(len(grid), 0, -1)  # accuracy of those above, uniform confidence
    missed, naive, chosen = 0, 0, 0
    for _ in range(300):
        confidence = rng.random(rows)
        correct = rng.random(rows) < np.interp(confidence, grid, rate)
        found = operating_point(confidence, correct, accuracy=0.9, level=0.9)
        if found["coverage"] is not None:
            chosen += 1
            missed += np.interp(found["threshold"], grid, above) < 0.9
        at = found["observed"]["threshold"]
        naive += at is not None and np.interp(at, grid, above) < 0.9
    assert missed / 300 <= 0.1
    assert naive / 300 > 0.2, "what was merely observed is no promise"
    if rows == 2000:
        assert chosen > 200, "a promise that is never made is worth nothing"


def test_the_table() -> None:
    record = Predictions.from_confidence(np.linspace(1, 0.5, 400), correct=np.arange(400) < 390)
    found = OperatingPoints(required=(0.9, 0.999)).compute(record)
    assert [row["accuracy"] for row in found] == [0.9, 0.999]
    assert found[0]["why"] is None
    assert found[1]["coverage"] is None
    with pytest.raises(UsageError, match="between 0 and 1"):
        OperatingPoints(required=(95,))


def test_few_levels_of_confidence() -> None:
    """Nine in ten rows share the highest level, whatever rows give their confidence as a threshold."""
    found = operating_point([1.0] * 450 + [0.75] * 50, [1] * 445 + [0] * 5 + [0, 1] * 25, accuracy=0.95)
    assert found["answered"] == 450
    assert 0.75 < found["threshold"] <= 1


def test_accuracies_asked_together_share_the_level() -> None:
    """Together they answer no more than each alone, but what is proved everywhere gives its part to the next."""
    rng = np.random.default_rng(3)
    confidence = rng.random(3000)
    correct = rng.random(3000) < 0.97 + 0.03 * confidence
    record = Predictions.from_confidence(confidence, correct=correct)
    required = (0.99, 0.9, 0.95, 0.95)
    found = OperatingPoints(required=required).compute(record)
    share = {row["accuracy"]: 0 if row["coverage"] is None else row["coverage"]["value"] for row in found}
    assert [row["accuracy"] for row in found] == list(required)
    assert share[0.9] == share[0.95] == 1
    assert 0 < share[0.99] <= operating_point(confidence, correct, 0.99)["coverage"]["value"]


def test_the_order_of_the_rows_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    confidence = rng.integers(0, 30, 900) / 30  # many ties
    correct = rng.random(900) < 0.8 + 0.2 * confidence
    mixed = rng.permutation(900)
    assert operating_point(confidence, correct, 0.9) == operating_point(confidence[mixed], correct[mixed], 0.9)


def test_probabilities_of_tokens_are_a_confidence() -> None:
    """A file with log-probabilities of tokens alone: exp of their sum, as `estimate` takes it."""
    rng = np.random.default_rng(6)
    steps = [(-rng.exponential(0.1, size=rng.integers(1, 5))).tolist() for _ in range(200)]
    correct = rng.random(200) < 0.7
    tokens = Predictions.from_arrays(token_logprobs=steps, correct=correct)
    plain = Predictions.from_confidence([math.exp(sum(one)) for one in steps], correct=correct)
    for name in ("auc_coverage", "ece", "brier"):
        metric = create("metric", name)
        assert metric.compute(tokens).value == pytest.approx(metric.compute(plain).value)
    assert create("metric", "brier").missing(Predictions.from_arrays(correct=[1])) is not None
