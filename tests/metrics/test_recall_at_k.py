"""R@k against scikit-learn's top-k accuracy and a plain sort, merging, ties, and wrong input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import top_k_accuracy_score

import oodometer
from oodometer import Predictions
from oodometer.errors import InputError, UsageError
from oodometer.metrics import RecallAtK, recall_at_k
from oodometer.registry import create


def test_it_is_top_k_accuracy() -> None:
    rng = np.random.default_rng(0)
    scores, label = rng.normal(size=(300, 10)), rng.integers(0, 10, 300)
    for k in (1, 2, 5, 9):
        expected = top_k_accuracy_score(label, scores, k=k, labels=np.arange(10))
        assert recall_at_k(scores.tolist(), label.tolist(), k=k) == pytest.approx(expected)
    record = Predictions.from_candidates(scores.tolist(), label=label.tolist())
    found = create("metric", "recall_at_k:5").compute(record)
    assert found.value == pytest.approx(top_k_accuracy_score(label, scores, k=5, labels=np.arange(10)))
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
    places = [sorted(range(len(row)), key=lambda i, row=row: (-row[i], i)).index(at) for row, at in rows]
    assert recall_at_k(scores, label, k=k) == np.mean([place < k for place in places])
    record = Predictions.from_candidates(scores, label=label)
    metric = RecallAtK(k=k)
    whole = metric.compute(record)
    assert whole.value == np.mean([place < k for place in places])
    assert whole.extras["mean_reciprocal_rank"] == pytest.approx(np.mean([1 / (1 + place) for place in places]))
    halves = metric.merge(metric.summarize(record.slice(0, 1)), metric.summarize(record.slice(1, len(record))))
    assert metric.finish(halves).to_dict() == whole.to_dict()


def test_rows_of_unknown_truth_are_left_out() -> None:
    record = Predictions.from_candidates([[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]], label=[1, None, 1])
    assert RecallAtK().compute(record).value == 0.5


def test_evaluate_tells_it_of_candidates_alone() -> None:
    record = Predictions.from_candidates([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]], label=[1, 1])
    found = oodometer.evaluate(record)
    assert [row["value"] for row in found["recall_at_k"].extras["by_k"]] == [0.5, 1.0]
    classes = oodometer.evaluate(Predictions.from_probabilities([[0.2, 0.8], [0.3, 0.7]], label=[1, 0]))
    assert "recall_at_k" not in {*classes.metrics, *(one.method for one in classes.skipped)}


@pytest.mark.parametrize("k", [0, -1, True])
def test_wrong_k(k: object) -> None:
    with pytest.raises(UsageError, match="a k of at least 1"):
        recall_at_k([[1.0, 2.0]], [0], k=k)
    with pytest.raises(UsageError, match="such as recall_at_k:5"):
        create("metric", "recall_at_k:x")


def test_wrong_labels() -> None:
    with pytest.raises(InputError, match="a position below 2"):
        recall_at_k([[1.0, 2.0]], [2])
    with pytest.raises(InputError, match="a true candidate for every sample"):
        recall_at_k([[1.0, 2.0]], [None])
