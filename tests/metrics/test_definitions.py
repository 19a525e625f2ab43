"""Every metric against its definition, written as slowly and plainly as possible."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.fft import dct
from scipy.optimize import brentq
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    precision_recall_fscore_support,
)
from sklearn.metrics import confusion_matrix as sklearn_confusion
from sklearn.metrics import log_loss as sklearn_log_loss

from oodometer import Predictions
from oodometer import metrics as m
from oodometer.metrics import calibration
from oodometer.metrics.ranks import Ranks


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# Confidences with ties at every place, and their verdicts.
TIED = [
    ([0.9, 0.9, 0.7, 0.7, 0.7, 0.1], [1, 0, 1, 1, 0, 0]),
    ([0.5] * 5, [1, 0, 0, 1, 1]),
    ([1.0, 1.0, 0.0, 0.0], [0, 1, 0, 1]),
    ([0.6], [1]),
    ([0.6], [0]),
    ([0.3, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1], [1, 1, 0, 0, 1, 0, 1]),
]


def orders(confidence: list[float], correct: list[int]) -> list[list[int]]:
    """The verdicts in every order in which the confidences fall."""
    found = [
        [correct[i] for i in order]
        for order in permutations(range(len(confidence)))
        if all(confidence[a] >= confidence[b] for a, b in pairwise(order))
    ]
    assert found
    return found


def auc(verdicts: list[int]) -> float:
    return float(np.mean([np.mean(verdicts[:k]) for k in range(1, len(verdicts) + 1)]))


def augrc(verdicts: list[int]) -> float:
    n = len(verdicts)
    return float(np.mean([sum(1 - v for v in verdicts[:k]) / n for k in range(1, n + 1)]))


@pytest.mark.parametrize(("confidence", "correct"), TIED)
def test_areas_are_means_over_all_orders_of_ties(
    confidence: list[float], correct: list[int]
) -> None:
    every = orders(confidence, correct)
    expected = float(np.mean([auc(v) for v in every]))
    perfect = auc(sorted(correct, reverse=True))
    assert m.area_under_accuracy_coverage(confidence, correct) == pytest.approx(expected, abs=1e-12)
    assert m.area_under_risk_coverage(confidence, correct) == pytest.approx(1 - expected, abs=1e-12)
    assert m.excess_area_under_risk_coverage(confidence, correct) == pytest.approx(
        perfect - expected, abs=1e-12
    )
    assert m.area_under_generalized_risk_coverage(confidence, correct) == pytest.approx(
        np.mean([augrc(v) for v in every]), abs=1e-12
    )


def test_optima_of_many_samples() -> None:
    n, wrong = 20_000, 4_000
    correct = np.arange(n) < n - wrong
    confidence = np.linspace(1, 0, n)
    e = wrong / n
    assert m.area_under_risk_coverage(confidence, correct) == pytest.approx(
        e + (1 - e) * np.log(1 - e), abs=1e-4
    )
    assert m.area_under_generalized_risk_coverage(confidence, correct) == pytest.approx(
        e**2 / 2, abs=1e-4
    )
    assert m.excess_area_under_risk_coverage(confidence, correct) == pytest.approx(0, abs=1e-12)


def ece_by_loop(confidence: list[float], correct: list[int], bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [
            (c, y)
            for c, y in zip(confidence, correct, strict=True)
            if b / bins < c <= (b + 1) / bins or (b == 0 and c == 0)
        ]
        if inside:
            total += abs(sum(c for c, _ in inside) - sum(y for _, y in inside))
    return total / len(confidence)


@pytest.mark.parametrize("bins", [1, 2, 10, 15, 37])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ece(bins: int, dtype: type, rng: np.random.Generator) -> None:
    confidence = rng.random(300).astype(dtype)
    confidence[:4] = [0, 1, 1, 0]
    correct = rng.integers(0, 2, 300)
    expected = ece_by_loop(confidence.astype(float).tolist(), correct.tolist(), bins)
    assert m.expected_calibration_error(confidence, correct, bins) == pytest.approx(
        expected, abs=1e-6
    )
    registered = m.ExpectedCalibrationError(bins).compute(_record(confidence, correct)).value
    assert registered == pytest.approx(
        m.expected_calibration_error(confidence, correct, bins), abs=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_of_bins_belong_to_the_bin_below(dtype: type) -> None:
    """With one sample on each edge i / 5, every bin but the first holds one sample."""
    edges = np.array([0.2, 0.4, 0.6, 0.8, 1.0], dtype=dtype)
    diagram = m.ReliabilityDiagram(bins=5).compute(_record(edges, np.ones(5, dtype=int)))
    assert diagram.extra["rows"].tolist() == [1] * 5
    assert diagram.x == pytest.approx(edges)


@pytest.mark.parametrize("n", [1, 2, 14, 15, 16, 100, 301])
def test_equal_mass_ece_without_ties(n: int, rng: np.random.Generator) -> None:
    confidence = rng.permutation(np.linspace(0.01, 0.99, n))
    correct = rng.integers(0, 2, n)
    order = np.argsort(confidence)
    bins = min(15, n)
    edges = [b * n // bins for b in range(bins + 1)]
    expected = (
        sum(
            abs(float(confidence[order[a:b]].sum() - correct[order[a:b]].sum()))
            for a, b in pairwise(edges)
        )
        / n
    )
    assert m.equal_mass_calibration_error(confidence, correct) == pytest.approx(expected, abs=1e-12)


def test_equal_mass_ece_shares_ties_out() -> None:
    """Two bins cut four equal confidences in half: each gets half of the three correct ones."""
    assert m.equal_mass_calibration_error([0.5] * 4, [1, 1, 1, 0], bins=2) == pytest.approx(0.25)


@pytest.mark.parametrize(("confidence", "correct"), TIED)
def test_ks(confidence: list[float], correct: list[int]) -> None:
    pairs = sorted(zip(confidence, correct, strict=True))
    found = [
        abs(sum(c - y for c, y in pairs if c <= bound)) / len(pairs)
        for bound in sorted(set(confidence))
    ]
    assert m.ks_calibration_error(confidence, correct) == pytest.approx(max(found), abs=1e-12)


def smooth_error(
    confidence: np.ndarray, correct: np.ndarray, sigma: float, points: int = 4001
) -> float:
    """The integral of |mean residual times reflected kernel|, with every image of every sample."""
    t = np.linspace(0, 1, points)
    density = np.zeros(points)
    for f, y in zip(confidence, correct, strict=True):
        images = np.concatenate([[2 * k + f, 2 * k - f] for k in range(-6, 7)])
        kernel = np.exp(-0.5 * ((t[:, None] - images) / sigma) ** 2).sum(axis=1) / (
            sigma * np.sqrt(2 * np.pi)
        )
        density += (y - f) * kernel / len(confidence)
    return float(np.trapezoid(np.abs(density), t))


@pytest.mark.parametrize("case", ["over", "under", "calibrated", "constant", "edges"])
def test_smooth_error_against_all_pairs(case: str) -> None:
    rng = np.random.default_rng(3)
    n = 60
    confidence = rng.random(n)
    share = {"over": confidence**3, "under": np.sqrt(confidence)}.get(case, confidence)
    if case == "constant":
        confidence = np.full(n, 0.73)
    if case == "edges":
        confidence = np.where(rng.random(n) < 0.5, 0.0, 1.0)
        share = np.full(n, 0.7)
    correct = (rng.random(n) < share).astype(int)
    expected = brentq(lambda s: smooth_error(confidence, correct, s) - s, 2e-3, 1.0, xtol=1e-7)
    assert m.smooth_calibration_error(confidence, correct) == pytest.approx(
        expected, rel=2e-3, abs=1e-5
    )


@pytest.mark.parametrize("halvings", [14, 40])
def test_the_smooth_error_is_that_of_plain_halvings(halvings: int) -> None:
    """To the last bit, though most halvings are decided by a root that is found another way."""
    rng = np.random.default_rng(8)
    masses = rng.standard_normal((60, 257)) * np.logspace(-5, -1.5, 60)[:, None]
    masses[::2] += (
        masses[::2, :1].clip(0) / 4
    )  # some lean to one side, as of an overconfident model
    masses[-1] = 0
    halved = masses / 2
    halved[:, 0], halved[:, -1] = masses[:, 0], masses[:, -1]
    coefficients = dct(halved, type=1, axis=-1)
    low, high = np.zeros(60), np.minimum(np.abs(masses).sum(axis=1), 1.0)
    for _ in range(halvings):
        middle = (low + high) / 2
        above = calibration._smoothed_error(coefficients, middle) > middle
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    found = calibration._fixed_point(masses, halvings)
    assert found.tolist() == ((low + high) / 2).tolist()
    assert found.min() == 0
    assert found.max() > 0.1


def brier_parts(probabilities: np.ndarray, label: np.ndarray, bins: int = 15) -> dict[str, float]:
    """Murphy's parts, class by class and bin by bin."""
    n, classes = probabilities.shape
    out = dict.fromkeys(("reliability", "resolution", "uncertainty"), 0.0)
    for k in range(classes):
        p, y = probabilities[:, k], (label == k).astype(float)
        at = np.maximum(np.ceil(p * bins) - 1, 0)
        out["uncertainty"] += y.mean() * (1 - y.mean())
        for b in np.unique(at):
            inside = at == b
            out["reliability"] += inside.sum() / n * (p[inside].mean() - y[inside].mean()) ** 2
            out["resolution"] += inside.sum() / n * (y[inside].mean() - y.mean()) ** 2
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_brier_and_its_parts(dtype: type, rng: np.random.Generator) -> None:
    probabilities = rng.dirichlet(np.ones(4), 500).astype(dtype)
    label = rng.integers(0, 4, 500)
    onehot = np.eye(4)[label]
    expected = float(((probabilities - onehot) ** 2).sum(axis=1).mean())
    found = m.Brier().compute(Predictions.from_probabilities(probabilities, label=label))
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert m.brier_score(probabilities, label) == pytest.approx(expected, rel=1e-6)
    parts = found.extras["decomposition"]
    for name, value in brier_parts(probabilities.astype(float), label).items():
        assert parts[name] == pytest.approx(value, abs=1e-6), name
    assert _whole(parts) == pytest.approx(found.value, abs=1e-12 if dtype is np.float64 else 1e-6)
    assert found.extras["form"] == "multiclass"


def test_binary_brier_of_confidence_and_correctness() -> None:
    """(0.1^2 + 0.8^2 + 0.5^2) / 3 = 0.3; one bin each, so the within-bin terms vanish."""
    found = m.Brier().compute(_record([0.9, 0.8, 0.5], [1, 0, 1]))
    assert found.value == pytest.approx(0.3)
    assert found.extras["form"] == "binary"
    parts = found.extras["decomposition"]
    assert parts["uncertainty"] == pytest.approx(2 / 9)
    assert parts["within_bin_variance"] == pytest.approx(0, abs=1e-12)
    assert _whole(parts) == pytest.approx(0.3, abs=1e-12)


def _whole(parts: dict[str, float]) -> float:
    return sum(sign * part for sign, part in zip((1, -1, 1, 1, -1), parts.values(), strict=True))


def test_debiased_ece_by_drawing_normals() -> None:
    """The reference way: redraw each bin's accuracy from a normal and take off the mean rise."""
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.3, 1, 400)
    correct = rng.random(400) < confidence
    at = np.ceil(confidence * 15).astype(int)
    plugin, drawn = 0.0, 0.0
    for b in np.unique(at):
        inside = at == b
        n, share, mean = inside.sum(), correct[inside].mean(), confidence[inside].mean()
        plugin += n / 400 * abs(share - mean)
        draws = rng.normal(share, np.sqrt(share * (1 - share) / n), 200_000)
        drawn += n / 400 * np.abs(draws - mean).mean()
    found = m.debiased_calibration_error(confidence, correct)
    assert found == pytest.approx(max(0.0, 2 * plugin - drawn), abs=2e-4)
    assert found < m.expected_calibration_error(confidence, correct)


def test_debiased_ece_is_nearer_to_zero_on_calibrated_samples() -> None:
    rng = np.random.default_rng(6)
    pairs = []
    for _ in range(100):
        confidence = rng.uniform(0.2, 1, 200)
        correct = rng.random(200) < confidence
        pairs.append(
            (
                m.expected_calibration_error(confidence, correct),
                m.debiased_calibration_error(confidence, correct),
            )
        )
    plain, debiased = np.mean(pairs, axis=0)
    assert debiased < 0.7 * plain


@pytest.mark.parametrize("name", ["auc_coverage", "e_aurc", "augrc"])
def test_variance_of_areas_against_a_bootstrap_of_samples(name: str) -> None:
    """The linearised standard error is that of 400 resamples, ties and all."""
    rng = np.random.default_rng(8)
    n = 1500
    confidence = rng.random(n).round(2)  # many ties
    correct = (rng.random(n) < confidence**2).astype(int)
    areas: dict[str, Callable[..., float]] = {
        "auc_coverage": m.area_under_accuracy_coverage,
        "e_aurc": m.excess_area_under_risk_coverage,
        "augrc": m.area_under_generalized_risk_coverage,
    }
    draws = rng.integers(0, n, (400, n))
    expected = np.std([areas[name](confidence[d], correct[d]) for d in draws])
    metric = next(c for c in (m.AccuracyCoverageArea, m.ExcessRiskCoverageArea, m.GeneralizedRiskCoverageArea)
                  if c.name == name)  # fmt: skip
    found = metric().compute(_record(confidence, correct))
    assert found.width / 2 / 1.96 == pytest.approx(expected, rel=0.12)


def test_risk_coverage_curve_by_thresholds(rng: np.random.Generator) -> None:
    confidence = rng.random(500).round(2)
    correct = (rng.random(500) < confidence).astype(int)
    curve = m.RiskCoverageCurve(points=50, target_accuracies=(0.5, 1.1)).compute(
        _record(confidence, correct)
    )
    assert len(curve.x) <= 50
    for x, y, bound in zip(curve.x, curve.y, curve.extra["thresholds"], strict=True):
        answered = confidence >= bound
        assert x == pytest.approx(answered.mean())
        assert y == pytest.approx(correct[answered].mean())
    assert curve.x[-1] == 1
    answer, never = curve.extra["answers"]
    assert answer["coverage"] == max(x for x, y in zip(curve.x, curve.y, strict=True) if y >= 0.5)
    assert never["threshold"] is None


def _record(confidence: object, correct: object) -> Predictions:
    return Predictions.from_confidence(confidence, correct=correct)


def test_groups_are_sorted_and_complete() -> None:
    groups = Ranks.of(np.array([0.1, 0.9, 0.1, 0.5]), np.array([1, 1, 0, 0])).groups
    assert groups.confidence.tolist() == [0.9, 0.5, 0.1]
    assert groups.sizes.tolist() == [1, 1, 2]
    assert groups.correct.tolist() == [1, 0, 1]
    assert groups.hits_before.tolist() == [0, 1, 1]


@pytest.fixture(scope="module")
def record() -> Predictions:
    rng = np.random.default_rng(11)
    probabilities = rng.dirichlet(np.full(5, 0.4), 2000)
    label = np.array(
        [
            rng.choice(5, p=p)
            for p in probabilities**0.5 / (probabilities**0.5).sum(1, keepdims=True)
        ]
    )
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
    precision, _, f1, _ = precision_recall_fscore_support(
        record.label, record.predicted, average="macro"
    )
    assert m.MacroPrecision().compute(record).value == pytest.approx(precision)
    assert m.MacroF1().compute(record).value == pytest.approx(f1)
    assert m.MacroRecall().compute(record).value == pytest.approx(
        balanced_accuracy_score(record.label, record.predicted)
    )


def test_macro_averages_where_a_class_is_never_predicted() -> None:
    label, predicted = [0, 0, 1, 2], [0, 1, 1, 1]
    found = Predictions.from_classes(predicted, label=label, classes=[0, 1, 2, 3])
    precision, _, f1, _ = precision_recall_fscore_support(
        label, predicted, average="macro", zero_division=0
    )
    assert m.MacroPrecision().compute(found).value == pytest.approx(precision)
    assert m.MacroF1().compute(found).value == pytest.approx(f1)
    never = m.PerClass().compute(found)[2]["precision"]  # 0/0 counts as 0 here as well
    assert (never.value, never.lower, never.upper) == (0, 0, 1)


def test_macro_interval_is_that_of_a_bootstrap(record: Predictions) -> None:
    rng = np.random.default_rng(12)
    for metric in (m.MacroF1(), m.MacroRecall(), m.MacroPrecision()):
        draws = [
            metric.compute(record.take(rng.integers(0, len(record), len(record)))).value
            for _ in range(200)
        ]
        assert metric.compute(record).width / 2 / 1.96 == pytest.approx(np.std(draws), rel=0.2)


def test_brier_and_log_loss(record: Predictions) -> None:
    assert m.Brier().compute(record).value == pytest.approx(
        brier_score_loss(record.label, record.probabilities)
    )
    two = Predictions.from_probabilities(
        record.probabilities[:, :1] * [1, -1] + [0, 1], label=record.label > 0
    )
    found, peer = m.Brier().compute(two), brier_score_loss(two.label, two.probabilities[:, 1])
    assert [found.value, m.brier_score(two.probabilities, two.label)] == pytest.approx([peer] * 2)
    assert found.extras["sum_over_classes"] == pytest.approx(2 * peer)
    parts = found.extras["decomposition"]
    assert parts["uncertainty"] == pytest.approx(two.label.mean() * (1 - two.label.mean()))
    assert _whole(parts) == pytest.approx(peer)
    expected = sklearn_log_loss(record.label, record.probabilities)
    assert m.NegativeLogLikelihood().compute(record).value == pytest.approx(expected)
    assert m.log_loss(record.probabilities, record.label) == pytest.approx(expected)


def test_log_loss_of_logits_that_underflow() -> None:
    """p(true) = exp(-200) is 0 in float32; the loss is 200 nats all the same."""
    logits = np.array([[200.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    found = m.NegativeLogLikelihood().compute(Predictions.from_logits(logits, label=[1, 0]))
    assert found.value == pytest.approx((200 + np.log(2)) / 2)
