"""Orderings other than the confidence: every score, exact and in a histogram, and those that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.errors import NotApplicable, UsageError
from oodometer.metrics import area_under_risk_coverage, ordered_by, ranks
from oodometer.metrics.ranks import Ranks
from oodometer.registry import create, find, names

LOGITS = np.random.default_rng(0).normal(size=(500, 4)) * 3
LABEL = (LOGITS + np.random.default_rng(1).normal(size=(500, 4)) * 2).argmax(axis=1)
RECORD = Predictions.from_logits(LOGITS, label=LABEL)


def aurc(score: str | None, record: Predictions = RECORD) -> float:
    return float(ordered_by([create("metric", "aurc")], score)[0].compute(record).value)


@pytest.mark.parametrize("score", ["margin", "negative_entropy", "energy", "max_probability"])
def test_any_score_orders_the_rows(score: str) -> None:
    values = find("score", score)()(RECORD)
    place = np.empty(len(values))
    place[np.argsort(values)] = np.linspace(0.01, 0.99, len(values))  # the same order, as confidences
    assert aurc(score) == pytest.approx(area_under_risk_coverage(place, RECORD.verdicts), abs=1e-12)
    assert aurc("max_probability") == pytest.approx(aurc(None))


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=30))
def test_scores_of_any_sign_keep_their_order(values: list[float]) -> None:
    groups = Ranks.of(np.array(values) + 0.0, np.ones(len(values), dtype=np.int8), signed=True).groups
    expected = sorted(set(values), reverse=True)
    if len(groups.confidence) == len(expected):  # neighbours in the last bit count as equal
        np.testing.assert_allclose(groups.confidence, expected, rtol=1e-15, atol=5e-324)
    assert (groups.confidence[:-1] > groups.confidence[1:]).all()
    assert (groups.confidence <= np.array(expected)[: len(groups.confidence)] + 0.0).all() or len(
        groups.confidence
    ) < len(expected)


def test_many_rows_of_a_score_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = aurc("energy")
    monkeypatch.setattr(ranks, "LIMIT", 100)
    metric = ordered_by([create("metric", "aurc")], "energy")[0]
    near = metric.finish(metric.summarize(RECORD))
    assert abs(near.value - exact) <= near.extras["rounding"] + 1e-12
    assert near.value == pytest.approx(exact, abs=0.02)


def test_parts_merge_to_the_whole() -> None:
    metric = ordered_by([create("metric", "coverage_at_risk")], "energy")[0]
    parts = [metric.summarize(RECORD.slice(a, b)) for a, b in ((0, 100), (100, 350), (350, 500))]
    merged = metric.merge(parts[2], metric.merge(parts[0], parts[1]))
    assert metric.finish(merged) == metric.compute(RECORD)
    with pytest.raises(UsageError, match="different orderings"):
        metric.merge(parts[0], create("metric", "aurc").summarize(RECORD))


def test_scores_that_cannot_be_used() -> None:
    with pytest.raises(UsageError, match="learns from a reference"):
        aurc("neighbor_distance")
    with pytest.raises(UsageError, match="unknown score"):
        aurc("magrin")
    with pytest.raises(NotApplicable, match="needs `views`"):
        aurc("view_agreement")
    with pytest.raises(NotApplicable, match="needs label"):
        aurc("margin", RECORD.without_labels())


def test_calibration_keeps_the_confidence() -> None:
    chosen = ordered_by([create("metric", name) for name in names("metric")], "margin")
    keys = {metric.name: metric.state_key for metric in chosen}
    assert keys["aurc"] == keys["disca"] == keys["risk_coverage"] == "ranks:margin"
    assert keys["ks"] == keys["ece_equal_mass"] == "ranks"
