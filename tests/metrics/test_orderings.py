"""Orderings other than the confidence: every score, exact and in a histogram, and those that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import top_k_accuracy_score

import oodometer
from oodometer import Predictions
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.metrics import RecallAtK, area_under_risk_coverage, ordered_by, ranks, recall_at_k
from oodometer.metrics.ranks import Ranks
from oodometer.registry import create, find, names

from ..snapshots import raises_snapshot

LOGITS = np.random.default_rng(0).normal(size=(500, 4)) * 3
LABEL = (LOGITS + np.random.default_rng(1).normal(size=(500, 4)) * 2).argmax(axis=1)
RECORD = Predictions.from_logits(LOGITS, label=LABEL)


def aurc(score: str | None, record: Predictions = RECORD) -> float:
    return float(ordered_by([create("metric", "aurc")], score)[0].compute(record).value)


@pytest.mark.parametrize("score", ["margin", "negative_entropy", "energy", "max_probability"])
def test_any_score_orders_the_rows(score: str) -> None:
    values = find("score", score)()(RECORD)
    place = np.empty(len(values))
    place[np.argsort(values)] = np.linspace(
        0.01, 0.99, len(values)
    )  # the same order, as confidences
    assert aurc(score) == pytest.approx(area_under_risk_coverage(place, RECORD.verdicts), abs=1e-12)
    assert aurc("max_probability") == pytest.approx(aurc(None))


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=30))
def test_scores_of_any_sign_keep_their_order(values: list[float]) -> None:
    groups = Ranks.of(
        np.array(values) + 0.0, np.ones(len(values), dtype=np.int8), signed=True
    ).groups
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
    with raises_snapshot(UsageError):
        metric.merge(parts[0], create("metric", "aurc").summarize(RECORD))


def test_scores_that_cannot_be_used() -> None:
    with raises_snapshot(UsageError):
        aurc("neighbor_distance")
    with raises_snapshot(UsageError):
        aurc("magrin")
    with raises_snapshot(NotApplicable):
        aurc("view_agreement")
    with raises_snapshot(NotApplicable):
        aurc("margin", RECORD.without_labels())


def test_calibration_keeps_the_confidence() -> None:
    chosen = ordered_by([create("metric", name) for name in names("metric")], "margin")
    keys = {metric.name: metric.state_key for metric in chosen}
    assert keys["aurc"] == keys["disca"] == keys["risk_coverage"] == "ranks:margin"
    assert keys["ks_calibration_error"] == keys["ece_equal_mass"] == "ranks"


def test_it_is_top_k_accuracy() -> None:
    rng = np.random.default_rng(0)
    scores, label = rng.normal(size=(300, 10)), rng.integers(0, 10, 300)
    for k in (1, 2, 5, 9):
        expected = top_k_accuracy_score(label, scores, k=k, labels=np.arange(10))
        assert recall_at_k(scores.tolist(), label.tolist(), k=k) == pytest.approx(expected)
    record = Predictions.from_candidates(scores.tolist(), label=label.tolist())
    found = create("metric", "recall_at_k:5").compute(record)
    assert found.value == pytest.approx(
        top_k_accuracy_score(label, scores, k=5, labels=np.arange(10))
    )
    assert found.extras["most_candidates"] == found.extras["fewest_candidates"] == 10
    assert RecallAtK().compute(record).value == record.accuracy


@given(
    st.lists(
        st.lists(st.integers(0, 3), min_size=2, max_size=6).flatmap(
            lambda row: st.tuples(st.just(row), st.integers(0, len(row) - 1))
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 7),
)
def test_by_a_plain_sort(rows: list[tuple[list[int], int]], k: int) -> None:
    scores, label = [[float(one) for one in row] for row, _ in rows], [at for _, at in rows]
    places = [
        sorted(range(len(row)), key=lambda i, row=row: (-row[i], i)).index(at) for row, at in rows
    ]
    assert recall_at_k(scores, label, k=k) == np.mean([place < k for place in places])
    record = Predictions.from_candidates(scores, label=label)
    metric = RecallAtK(k=k)
    whole = metric.compute(record)
    assert whole.value == np.mean([place < k for place in places])
    assert whole.extras["mean_reciprocal_rank"] == pytest.approx(
        np.mean([1 / (1 + place) for place in places])
    )
    halves = metric.merge(
        metric.summarize(record.slice(0, 1)), metric.summarize(record.slice(1, len(record)))
    )
    assert metric.finish(halves).to_dict() == whole.to_dict()


def test_rows_of_unknown_truth_are_left_out() -> None:
    record = Predictions.from_candidates([[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]], label=[1, None, 1])
    assert RecallAtK().compute(record).value == 0.5


def test_evaluate_tells_it_of_candidates_alone() -> None:
    record = Predictions.from_candidates([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]], label=[1, 1])
    found = oodometer.evaluate(record)
    assert [row["value"] for row in found["recall_at_k"].extras["by_k"]] == [0.5, 1.0]
    classes = oodometer.evaluate(
        Predictions.from_probabilities([[0.2, 0.8], [0.3, 0.7]], label=[1, 0])
    )
    assert "recall_at_k" not in {*classes.metrics, *(one.method for one in classes.skipped)}


@pytest.mark.parametrize("k", [0, -1, True])
def test_wrong_k(k: object) -> None:
    with raises_snapshot(UsageError):
        recall_at_k([[1.0, 2.0]], [0], k=k)
    with raises_snapshot(UsageError):
        create("metric", "recall_at_k:x")


def test_wrong_labels() -> None:
    with raises_snapshot(InputError):
        recall_at_k([[1.0, 2.0]], [2])
    with raises_snapshot(InputError):
        recall_at_k([[1.0, 2.0]], [None])
