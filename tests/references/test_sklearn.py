"""Decision metrics against scikit-learn: from counts, and from predictions through the record."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from oodometer.inference import decision_metrics as dm

sk = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed (extra: dev)")


@pytest.fixture(scope="module", params=[2, 4], ids=lambda classes: f"{classes} classes")
def pair(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, prediction and their confusion matrix; of four classes one is never predicted."""
    classes = request.param
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 600)
    guess = np.where(rng.random(600) < 0.6, truth, rng.integers(0, classes, 600))
    if classes > 2:
        guess[guess == 3] = 0
    return truth, guess, sk.confusion_matrix(truth, guess)


def test_metrics_of_counts(pair: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    truth, guess, counts = pair
    per_class = sk.precision_recall_fscore_support(truth, guess, zero_division=0)[:3]
    for ours, theirs in zip(
        (dm.class_precision, dm.class_recall, dm.class_f1), per_class, strict=True
    ):
        np.testing.assert_allclose(ours(counts, undefined=0.0), theirs)
    specificity = [sk.recall_score(truth != k, guess != k) for k in range(len(counts))]
    np.testing.assert_allclose(dm.class_specificity(counts), specificity)
    macro = sk.precision_recall_fscore_support(truth, guess, average="macro", zero_division=0)[:3]
    for ours, theirs in zip((dm.macro_precision, dm.macro_recall, dm.macro_f1), macro, strict=True):
        assert ours(counts) == pytest.approx(theirs)
    for ours, theirs in (
        (dm.accuracy, sk.accuracy_score),
        (dm.balanced_accuracy, sk.balanced_accuracy_score),
        (dm.mcc, sk.matthews_corrcoef),
        (dm.cohen_kappa, sk.cohen_kappa_score),
    ):
        assert ours(counts) == pytest.approx(theirs(truth, guess)), ours.__name__


def test_metrics_of_bins() -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 500)
    score = np.clip(rng.integers(0, 12, 500) + 4 * truth, 0, 14)  # many ties
    positives = np.bincount(score[truth == 1], minlength=16)
    negatives = np.bincount(score[truth == 0], minlength=16)
    assert dm.roc_auc(positives, negatives) == pytest.approx(sk.roc_auc_score(truth, score))
    assert dm.average_precision(positives, negatives) == pytest.approx(
        sk.average_precision_score(truth, score)
    )
    false_positives, true_positives, _ = sk.roc_curve(truth, score, drop_intermediate=False)
    wanted = false_positives[np.argmax(true_positives >= 0.95)]
    assert dm.fpr_at_tpr(positives, negatives) == pytest.approx(wanted)
    assert dm.ks_statistic(positives, negatives) == pytest.approx(
        (true_positives - false_positives).max()
    )


def test_leading_axes_and_scale() -> None:
    """Many matrices at once are as many single ones, and expected counts may be any multiple of whole ones."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (2, 3, 4, 4)).astype(float)
    for metric in (
        dm.accuracy,
        dm.macro_f1,
        dm.macro_precision,
        dm.macro_recall,
        dm.mcc,
        dm.cohen_kappa,
        dm.class_f1,
    ):
        many = metric(counts * 0.37)
        np.testing.assert_allclose(many[1, 2], metric(counts[1, 2]))
    value = dm.expected_value(counts, np.arange(16).reshape(4, 4))
    assert value[0, 1] == pytest.approx(
        (counts[0, 1] * np.arange(16).reshape(4, 4)).sum() / counts[0, 1].sum()
    )
    positives, negatives = counts[..., 0, :], counts[..., 1, :] + 1
    for metric in (dm.roc_auc, dm.average_precision, dm.ks_statistic, dm.fpr_at_tpr):
        assert metric(positives * 0.37, negatives * 0.37)[1, 0] == pytest.approx(
            float(metric(positives[1, 0], negatives[1, 0]))
        ), metric.__name__


def test_what_is_undefined() -> None:
    one_class = np.array([[5.0, 0.0], [0.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(dm.mcc(one_class))
        assert np.isnan(dm.cohen_kappa(one_class))
        assert np.isnan(dm.class_f1(one_class)[1])
        assert np.isnan(dm.class_specificity(one_class)[0])
        assert np.isnan(dm.accuracy(np.zeros((2, 2))))
        assert np.isnan(dm.macro_f1(np.zeros((2, 2))))
        for metric in (dm.roc_auc, dm.average_precision, dm.ks_statistic, dm.fpr_at_tpr):
            assert np.isnan(metric([0, 0], [1, 2])), metric.__name__
        assert np.isnan(dm.roc_auc([1, 2], [0, 0]))
        assert dm.macro_f1(one_class) == 1
