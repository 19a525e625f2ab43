"""Rank metrics beyond the limit of kept rows: a histogram that is near, says how near, and merges like the rest."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.metrics import ranks
from oodometer.registry import create

NAMES = ["ece_equal_mass", "ks", "auc_coverage", "aurc", "e_aurc", "augrc"]


@pytest.fixture(scope="module")
def record() -> Predictions:
    rng = np.random.default_rng(1)
    confidence = rng.beta(4, 1, 30_000)
    confidence[:3000] = 1.0  # a saturated softmax: true ties, which cost nothing
    return Predictions.from_confidence(confidence, correct=rng.random(30_000) < confidence**2)


@pytest.mark.parametrize("name", NAMES)
def test_histogram_is_within_its_stated_error(name: str, record: Predictions, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = create("metric", name)
    exact = metric.compute(record)
    assert "rounding" not in exact.extras
    monkeypatch.setattr(ranks, "LIMIT", 1000)
    near = metric.finish(metric.summarize(record))
    assert near.extras["rounding"] < 0.02
    assert abs(near.value - exact.value) <= near.extras["rounding"] + 1e-12
    assert abs(near.value - exact.value) < 2e-4
    assert near.width == pytest.approx(exact.width, rel=0.2)  # a bootstrap has noise of its own


@pytest.mark.parametrize("name", NAMES)
def test_collapse_does_not_depend_on_the_order_of_merging(
    name: str, record: Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "LIMIT", 5000)
    metric = create("metric", name)
    a, b, c = (metric.summarize(record.slice(x, y)) for x, y in ((0, 2000), (2000, 4500), (4500, 9000)))
    left = metric.merge(metric.merge(a, b), c)
    right = metric.merge(a, metric.merge(c, b))
    assert metric.merge(a, b).exact
    assert not left.exact
    assert metric.finish(left).value == pytest.approx(metric.finish(right).value, abs=1e-12)
    assert metric.finish(left).value == pytest.approx(
        metric.finish(metric.summarize(record.slice(0, 9000))).value, abs=1e-9
    )


def test_curve_of_a_histogram_reaches_its_thresholds(record: Predictions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "LIMIT", 1000)
    metric = create("metric", "risk_coverage")
    curve = metric.finish(metric.summarize(record))
    for x, bound in zip(curve.x, curve.extra["thresholds"], strict=True):
        assert (record.confidence >= bound).mean() == pytest.approx(x, abs=2e-3)


def test_fine_bins_keep_order_and_separate_neighbours() -> None:
    values = np.array([0.0, 1e-9, 1e-3, 0.25, 0.2502, 0.4999, 0.5, 0.5005, 0.9, 0.9001, 1 - 1e-9, 1.0])
    bins = ranks._fine_bin(values)
    assert (np.diff(bins) >= 0).all()
    assert len(np.unique(bins)) >= len(values) - 2
    assert bins[0] == 0
    assert bins[-1] == ranks._FINE_BINS - 1
