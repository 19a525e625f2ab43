"""Metrics against scikit-learn; other libraries are in tests/references."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, precision_recall_fscore_support, roc_auc_score
from sklearn.metrics import confusion_matrix as sklearn_confusion
from sklearn.metrics import log_loss as sklearn_log_loss

from oodometer import Predictions
from oodometer import metrics as m
from oodometer.estimators import CBPE


@pytest.fixture(scope="module")
def record() -> Predictions:
    rng = np.random.default_rng(11)
    probabilities = rng.dirichlet(np.full(5, 0.4), 2000)
    label = np.array([rng.choice(5, p=p) for p in probabilities**0.5 / (probabilities**0.5).sum(1, keepdims=True)])
    return Predictions.from_probabilities(probabilities, label=label)


def test_confusion_and_classes(record: Predictions) -> None:
    table = m.ConfusionTable().compute(record)
    assert table["counts"] == sklearn_confusion(record.label, record.predicted).tolist()
    precision, recall, f1, support = precision_recall_fscore_support(record.label, record.predicted)
    rows = m.PerClass().compute(record)
    assert [row["support"] for row in rows] == support.tolist()
    for name, expected in (("precision", precision), ("recall", recall), ("f1", f1)):
        assert [row[name].value for row in rows] == pytest.approx(expected.tolist())


def test_macro_averages(record: Predictions) -> None:
    precision, _, f1, _ = precision_recall_fscore_support(record.label, record.predicted, average="macro")
    assert m.MacroPrecision().compute(record).value == pytest.approx(precision)
    assert m.MacroF1().compute(record).value == pytest.approx(f1)
    assert m.MacroRecall().compute(record).value == pytest.approx(
        balanced_accuracy_score(record.label, record.predicted)
    )


def test_macro_averages_where_a_class_is_never_predicted() -> None:
    label, predicted = [0, 0, 1, 2], [0, 1, 1, 1]
    found = Predictions.from_classes(predicted, label=label, classes=[0, 1, 2, 3])
    precision, _, f1, _ = precision_recall_fscore_support(label, predicted, average="macro", zero_division=0)
    assert m.MacroPrecision().compute(found).value == pytest.approx(precision)
    assert m.MacroF1().compute(found).value == pytest.approx(f1)
    never = m.PerClass().compute(found)[2]["precision"]  # 0/0 counts as 0 here as well
    assert (never.value, never.lower, never.upper) == (0, 0, 1)


def test_macro_interval_is_that_of_a_bootstrap(record: Predictions) -> None:
    rng = np.random.default_rng(12)
    for metric in (m.MacroF1(), m.MacroRecall(), m.MacroPrecision()):
        draws = [metric.compute(record.take(rng.integers(0, len(record), len(record)))).value for _ in range(200)]
        assert metric.compute(record).width / 2 / 1.96 == pytest.approx(np.std(draws), rel=0.2)


def test_auc_without_labels_is_that_of_scikit_learn_on_the_reference_itself(record: Predictions) -> None:
    """Nothing to carry over: on the rows it learnt from, the expected AUC is the one that their labels show."""
    rows = CBPE().fit(record).estimate(record).details["per_class"]
    for k, row in enumerate(rows):
        expected = roc_auc_score(record.label == k, record.probabilities[:, k])
        assert row["auc"]["value"] == pytest.approx(expected, abs=0.01)


def test_brier_and_log_loss(record: Predictions) -> None:
    assert m.Brier().compute(record).value == pytest.approx(brier_score_loss(record.label, record.probabilities))
    two = Predictions.from_probabilities(record.probabilities[:, :1] * [1, -1] + [0, 1], label=record.label > 0)
    found, peer = m.Brier().compute(two), brier_score_loss(two.label, two.probabilities[:, 1])
    assert [found.value, m.brier_score(two.probabilities, two.label)] == pytest.approx([peer] * 2)
    assert found.extras["sum_over_classes"] == pytest.approx(2 * peer)
    parts = found.extras["decomposition"]
    assert parts["uncertainty"] == pytest.approx(two.label.mean() * (1 - two.label.mean()))
    assert sum(s * v for s, v in zip((1, -1, 1, 1, -1), parts.values(), strict=True)) == pytest.approx(peer)
    expected = sklearn_log_loss(record.label, record.probabilities)
    assert m.NegativeLogLikelihood().compute(record).value == pytest.approx(expected)
    assert m.log_loss(record.probabilities, record.label) == pytest.approx(expected)


def test_log_loss_of_logits_that_underflow() -> None:
    """p(true) = exp(-200) is 0 in float32; the loss is 200 nats all the same."""
    logits = np.array([[200.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    found = m.NegativeLogLikelihood().compute(Predictions.from_logits(logits, label=[1, 0]))
    assert found.value == pytest.approx((200 + np.log(2)) / 2)
