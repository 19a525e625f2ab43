"""Class metrics without labels hold the truth where nothing has shifted, however wrong the confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import oodometer
from oodometer import Predictions
from oodometer.arrays import Array, softmax
from oodometer.calibrators.binned_map import fit_block_rates
from oodometer.estimators import CBPE


def over(z: Array) -> Array:
    return softmax(3 * z)


def one_sided(z: Array) -> Array:
    return softmax(z + np.eye(z.shape[1])[0] * (1.5 + (z[:, :1] > 0)))


def not_monotone(z: Array) -> Array:
    return softmax(2 * z + 3 * np.sin(3 * z))


def drawn(rows: int, classes: int, lie: Any, rng: np.random.Generator) -> Predictions:
    z = 1.8 * rng.standard_normal((rows, classes))
    label = (softmax(z).cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-9)).argmax(axis=1)
    return Predictions.from_probabilities(lie(z), label=label)


def true_auc(record: Predictions) -> float:
    return float(
        np.mean([roc_auc_score(record.label == k, record.probabilities[:, k]) for k in range(record.num_classes)])
    )


@pytest.mark.parametrize("lie", [over, one_sided, not_monotone])
@pytest.mark.parametrize("classes", [2, 3])
def test_auc_is_right_without_a_shift(classes: int, lie: Any) -> None:
    """The bias of the confidence is seen on the reference, so that it is none of the AUC's."""
    rng = np.random.default_rng(classes)
    reference, target = drawn(20_000, classes, lie, rng), drawn(20_000, classes, lie, rng)
    found = CBPE().fit(reference).estimate(target).details
    truth = true_auc(target)
    assert found["metrics"]["macro_auc"]["value"] == pytest.approx(truth, abs=0.012)
    for k in range(classes):
        share = np.mean(target.label[target.predicted == k] == k)
        assert found["per_class"][k]["precision"]["value"] == pytest.approx(share, abs=0.03)


def test_auc_intervals_hold_the_truth() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(40):
        reference, target = drawn(600, 2, not_monotone, rng), drawn(600, 2, not_monotone, rng)
        found = CBPE().fit(reference).estimate(target).details["metrics"]["macro_auc"]
        held += found["lower"] <= true_auc(target) <= found["upper"]
    assert held >= 35  # of 40, nominal 95 %


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), sharpness=st.floats(0.1, 6), shift=st.floats(-2, 2))
def test_two_classes_have_one_auc(seed: int, sharpness: float, shift: float) -> None:
    """Whatever the model, the reference and the target: class 1 ranks the rows as class 0 does, in reverse."""
    rng = np.random.default_rng(seed)

    def lie(z: Array) -> Array:
        return softmax(sharpness * z + np.array([shift, 0.0]))

    reference, target = drawn(300, 2, lie, rng), drawn(200, 2, softmax, rng)
    rows = CBPE().fit(reference).estimate(target).details["per_class"]
    if rows[0]["auc"] is None:
        assert rows[1]["auc"] is None
    else:
        assert rows[0]["auc"] == pytest.approx(rows[1]["auc"], abs=1e-9)


def test_the_command_gives_one_auc_too() -> None:
    rng = np.random.default_rng(1)
    reference, target = drawn(2000, 2, over, rng), drawn(2000, 2, over, rng)
    found = oodometer.estimate(reference, target, methods=["cbpe"])["cbpe"].details
    one, other = (row["auc"]["value"] for row in found["per_class"])
    assert one == pytest.approx(other, abs=1e-9)
    assert found["metrics"]["macro_auc"]["value"] == pytest.approx(true_auc(target), abs=0.03)


def test_a_class_that_is_never_true_has_no_auc() -> None:
    record = Predictions.from_probabilities([[0.6, 0.4]] * 300, label=[0] * 300)
    found = CBPE().fit(record).estimate(record).details
    assert [row["auc"] for row in found["per_class"]] == [None, None]
    assert "macro_auc" not in found["metrics"]


def test_block_rates_keep_totals_and_say_how_sure_they_are() -> None:
    rng = np.random.default_rng(0)
    rows = rng.poisson(3, (2, 120))
    hits = rng.binomial(rows, 0.3)
    made = fit_block_rates(rows, hits)
    assert (made.rate * rows).sum(axis=1) == pytest.approx(hits.sum(axis=1))
    drawn_again = (made.redraw(300, rng) * rows).sum(axis=2)
    spread = np.sqrt(rows.sum(axis=1) * 0.3 * 0.7)
    assert drawn_again.std(axis=0) == pytest.approx(spread, rel=0.25)
    certain = fit_block_rates(rows, rows)
    assert certain.redraw(50, rng).min() < 1, "a miss may be seen in another sample"
