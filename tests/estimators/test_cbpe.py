"""CBPE against loops over samples, against scikit-learn on simulated labels, and as an average of confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score, roc_auc_score

from oodometer import Predictions
from oodometer.calibrators import Isotonic, Temperature
from oodometer.calibrators.binned_map import bin_numbers, bins_for
from oodometer.estimators import CBPE, AverageConfidence
from oodometer.estimators.expected_classes import count_off_diagonal, expected_confusion
from oodometer.intervals import wilson_from_variance
from oodometer.testing import example_record

METRICS = ("precision", "recall", "f1", "auc")


def calibrated(
    rows: int, classes: int = 4, seed: int = 0, shape: float = 0.5, dtype: Any = np.float64
) -> Predictions:
    """Labels drawn from the very probabilities that the model states."""
    rng = np.random.default_rng([seed, rows, classes])
    p = rng.dirichlet(np.full(classes, shape), rows).astype(dtype)
    label = (p.astype(np.float64).cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-6)).argmax(
        axis=1
    )
    return Predictions.from_probabilities(p, label=label)


def cell(record: Predictions, i: int) -> tuple[int, int]:
    """Predicted class and bin of one sample."""
    k = int(record.predicted[i])
    return k, int(bin_numbers(record.probabilities[i, k : k + 1], record.num_classes)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 4, 20])
def test_raw_cbpe_is_average_confidence(classes: int, dtype: Any) -> None:
    """Calibrated reference: no map is learnt, and the accuracy is the mean of max p, with its own reference doubt."""
    reference, target = (
        calibrated(3000, classes, seed=2, dtype=dtype),
        calibrated(700, classes, seed=9, dtype=dtype),
    )
    found = CBPE().fit(reference).estimate(target)
    assert found.details["calibration"] == "raw"
    plain = AverageConfidence().fit(reference).estimate(target)
    assert found.value == pytest.approx(plain.value, rel=1e-6)
    assert found.lower < plain.lower
    assert found.upper > plain.upper


def overconfident(rows: int, seed: int) -> Predictions:
    """Class 0 is right as often as it says, the others less often by a quarter of the time."""
    rng = np.random.default_rng([seed, rows])
    p = rng.dirichlet([0.5, 0.5, 0.5], rows)
    best = p.argmax(axis=1)
    right = rng.random(rows) < p.max(axis=1) - 0.25 * (best > 0)
    return Predictions.from_probabilities(
        p, label=np.where(right, best, (best + 1 + rng.integers(0, 2, rows)) % 3)
    )


def test_accuracy_is_the_mean_rate_of_the_cells() -> None:
    """Sample by sample: the isotonic rate of its predicted class at its bin, averaged; reference matched."""
    reference, target = overconfident(6000, 1), overconfident(800, 2)
    fitted = CBPE().fit(reference)
    found = fitted.estimate(target)
    assert found.details["calibration"] == "classwise"
    rates = [fitted._map.rate[cell(target, i)] for i in range(800)]
    assert found.value == pytest.approx(sum(rates) / 800)
    assert found.value == pytest.approx(target.accuracy, abs=0.04)
    assert fitted.estimate(reference).value == pytest.approx(reference.accuracy)
    assert AverageConfidence().fit(reference).estimate(target).value > target.accuracy + 0.1


def test_the_interval_joins_the_blocks_of_the_map_and_the_target() -> None:
    fitted = CBPE(level=0.9).fit(overconfident(600, 3))
    target = overconfident(5000, 4)
    weights = np.zeros(fitted._map.rate.shape)
    for i in range(5000):
        weights[cell(target, i)] += 1 / 5000
    found = fitted.estimate(target)
    v = found.value
    reference_variance = fitted._map.variance(weights)
    assert reference_variance > 2 * v * (1 - v) / 5000, "most of the doubt is about the map"
    want = wilson_from_variance(v, reference_variance + v * (1 - v) / 5000, 600, 0.9)
    assert (found.lower, found.upper) == pytest.approx(want)


def test_metrics_from_a_small_reference_are_less_certain() -> None:
    """The target is the same; what differs is how well the map is known."""
    target = overconfident(20_000, 5)
    widths = []
    for rows in (300, 20_000):
        found = CBPE().fit(overconfident(rows, 6)).estimate(target).details
        assert found["calibration"] != "raw"
        widths.append(
            found["metrics"]["macro_precision"]["upper"]
            - found["metrics"]["macro_precision"]["lower"]
        )
    assert widths[0] > 3 * widths[1]


def test_one_map_for_all_classes_where_they_err_alike() -> None:
    reference = example_record(3000, seed=1)
    sharp = reference.probabilities**4 / (reference.probabilities**4).sum(axis=1, keepdims=True)
    record = Predictions.from_probabilities(sharp, label=reference.label)
    found = CBPE().fit(record).estimate(record)
    assert found.details["calibration"] in ("pooled", "classwise")
    assert found.value == pytest.approx(record.accuracy, abs=1e-9)
    scores = found.details["cross_validated_brier"]
    assert scores[found.details["calibration"]] == min(scores.values())


@pytest.mark.parametrize("correct", [0, 1])
def test_a_reference_that_is_always_right_or_always_wrong(correct: int) -> None:
    record = calibrated(400)
    label = record.predicted if correct else (record.predicted + 1) % 4
    reference = Predictions.from_probabilities(record.probabilities, label=label)
    found = CBPE().fit(reference).estimate(record)
    assert found.value == pytest.approx(correct)
    assert found.lower < found.upper


def test_confidence_alone_gives_the_accuracy_alone() -> None:
    reference = Predictions.from_confidence(
        [0.9] * 500 + [0.6] * 500, correct=[1, 0] * 250 + [1] * 500
    )
    found = CBPE().fit(reference).estimate(Predictions.from_confidence([0.9] * 30))
    assert "confusion" not in found.details
    assert found.score == "confidence"
    unlabelled = Predictions.from_arrays(
        probabilities=[[0.9, 0.1]] * 400, correct=[1, 1, 1, 0] * 100
    )
    by_correct = CBPE().fit(unlabelled).estimate(unlabelled)
    assert "confusion" not in by_correct.details
    assert by_correct.value == pytest.approx(0.75)


def slow_expectation(fitted: CBPE, target: Predictions) -> tuple[Any, Any]:
    """Expected samples of each class that were predicted as it, and as another one, sample by sample."""
    classes = target.num_classes
    found, missed = np.zeros(classes), np.zeros(classes)
    for i in range(len(target)):
        j, at = cell(target, i)
        right = fitted._rates.top.rate[j, at]
        found[j] += right
        for k in set(range(classes)) - {j}:
            own = int(bin_numbers(target.probabilities[i, k : k + 1], classes)[0])
            missed[k] += 1 - right if classes == 2 else fitted._rates.off_diagonal.rate[k, own]
    return found, missed * (len(target) - found.sum()) / missed.sum()


@pytest.mark.parametrize("classes", [2, 3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expected_confusion_is_that_of_a_loop(classes: int, dtype: Any) -> None:
    reference, target = (
        calibrated(1500, classes, seed=1, dtype=dtype),
        calibrated(200, classes, seed=2, dtype=dtype),
    )
    fitted = CBPE().fit(reference)
    found = np.array(fitted.estimate(target).details["confusion"])
    right, missed = slow_expectation(fitted, target)
    np.testing.assert_allclose(np.diag(found), right, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0) - right, missed, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        found.sum(axis=1), np.bincount(target.predicted, minlength=classes), rtol=1e-6
    )
    assert (found >= 0).all()


def test_expected_confusion_by_hand() -> None:
    """Ten predicted 0, seven of them right, the others by 3 to 1; nobody predicted 2; 1 was certain of itself."""
    mass = np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    got = expected_confusion(np.array([10.0, 5.0, 0.0]), np.array([7.0, 4.0, 0.0]), mass)
    assert got.tolist() == [[7.0, 2.25, 0.75], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]


def test_expected_confusion_has_the_columns_that_are_asked_for() -> None:
    mass = np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    predicted, found, missed = (
        np.array([10.0, 8.0, 6.0]),
        np.array([7.0, 5.0, 4.0]),
        np.array([1.0, 3.0, 4.0]),
    )
    got = expected_confusion(predicted, found, mass, missed)
    assert got.sum(axis=1) == pytest.approx(predicted)
    assert got.sum(axis=0) == pytest.approx(found + missed, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 5, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_other_classes_are_counted_as_a_loop_does(classes: int, dtype: Any) -> None:
    p = np.random.default_rng(classes).dirichlet(np.full(classes, 0.4), 120).astype(dtype)
    p[0] = 0
    p[0, :2] = 0.5  # a tie at exactly one half
    p[1] = 0
    p[1, -1] = 1
    predicted = p.argmax(axis=1).astype(np.int32)
    got = count_off_diagonal(p, predicted)
    others, mass = np.zeros((classes, bins_for(classes))), np.zeros((classes, classes))
    for i in range(120):
        for k in range(classes):
            if k != predicted[i]:
                others[
                    k,
                    min(int(bin_numbers(p[i, k : k + 1], classes)[0]), bins_for(classes) // 2 - 1),
                ] += 1
                mass[predicted[i], k] += p[i, k]
    assert (got["others"] == others).all()
    np.testing.assert_allclose(got["mass"], mass, rtol=1e-5)


def test_a_class_above_one_half_that_was_not_predicted_keeps_its_bin() -> None:
    """After isotonic calibration the argmax may be another class than the predicted one."""
    p = np.array([[0.3, 0.7], [0.9, 0.1]])
    predicted = np.array([0, 0], dtype=np.int32)
    got = count_off_diagonal(p, predicted, is_argmax=False)["others"]
    assert got[1, bin_numbers(np.array([0.7]), 2)[0]] == 1
    assert got[1].sum() == 2
    assert got[0].sum() == 0


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_on_calibrated_data_every_metric_is_near_the_truth(classes: int, seed: int) -> None:
    """Labels drawn from the probabilities of the target: what is expected is what scikit-learn then measures."""
    target = calibrated(24_000, classes, seed=10 + seed, shape=0.7)
    found = (
        CBPE().fit(calibrated(24_000, classes, seed=20 + seed, shape=0.7)).estimate(target).details
    )
    y, h, p = target.label, target.predicted, target.probabilities
    truth = confusion_matrix(
        y, h, labels=np.arange(classes)
    ).T  # ours has the predicted class on its rows
    np.testing.assert_allclose(found["confusion"], truth, atol=5 * np.sqrt(truth.max()))
    metrics = {name: found["metrics"][f"macro_{name}"]["value"] for name in METRICS}
    assert metrics["precision"] == pytest.approx(precision_score(y, h, average="macro"), abs=0.015)
    assert metrics["recall"] == pytest.approx(recall_score(y, h, average="macro"), abs=0.015)
    assert metrics["f1"] == pytest.approx(f1_score(y, h, average="macro"), abs=0.015)
    own = [roc_auc_score(y == k, p[:, k]) for k in range(classes)]
    assert metrics["auc"] == pytest.approx(np.mean(own), abs=0.015)
    for k in range(classes):
        row = found["per_class"][k]
        assert row["class"] == k
        assert row["predicted_rows"] == (h == k).sum()
        assert row["auc"]["value"] == pytest.approx(own[k], abs=0.025)
        assert row["precision"]["value"] == pytest.approx(np.mean(y[h == k] == k), abs=0.03)
        assert row["recall"]["value"] == pytest.approx(np.mean(h[y == k] == k), abs=0.03)


def test_recall_is_not_precision() -> None:
    """Class 1 is seldom predicted: what is predicted is right, but most of its samples are missed."""
    rng = np.random.default_rng(0)
    p1 = np.where(rng.random(8000) < 0.05, 0.95, 0.3)
    record = Predictions.from_probabilities(
        np.stack([1 - p1, p1], axis=1), label=(rng.random(8000) < p1).astype(int)
    )
    row = CBPE().fit(record).estimate(record).details["per_class"][1]
    assert row["precision"]["value"] == pytest.approx(0.95, abs=0.03)
    assert row["recall"]["value"] == pytest.approx(
        0.05 * 0.95 / (0.05 * 0.95 + 0.95 * 0.3), abs=0.02
    )


def test_the_interval_of_f1_holds_the_truth_mostly() -> None:
    held = dict.fromkeys(METRICS, 0)
    for seed in range(25):
        target = calibrated(400, 3, seed=100 + seed)
        found = (
            CBPE(level=0.9)
            .fit(calibrated(600, 3, seed=200 + seed))
            .estimate(target)
            .details["metrics"]
        )
        y, h, p = target.label, target.predicted, target.probabilities
        assert y is not None
        truth = {
            "precision": precision_score(y, h, average="macro"),
            "recall": recall_score(y, h, average="macro"),
            "f1": f1_score(y, h, average="macro"),
            "auc": np.mean([roc_auc_score(y == k, p[:, k]) for k in range(3)]),
        }
        for name in METRICS:
            held[name] += (
                found[f"macro_{name}"]["lower"] <= truth[name] <= found[f"macro_{name}"]["upper"]
            )
    assert min(held.values()) >= 20, held


def test_classes_that_never_occur_leave_the_macro_mean() -> None:
    p = np.zeros((600, 4))
    two = calibrated(600, 2, seed=3)
    p[:, :2] = two.probabilities
    record = Predictions.from_probabilities(
        p, label=np.array(["a", "b"])[two.label], classes=list("abcd")
    )
    found = CBPE().fit(record).estimate(record).details
    both = [found["per_class"][k]["f1"]["value"] for k in (0, 1)]
    assert found["metrics"]["macro_f1"]["value"] == pytest.approx(np.mean(both))
    assert [row["class"] for row in found["per_class"]] == list("abcd")
    assert found["per_class"][3]["f1"]["value"] == 0


def test_the_light_variant_has_the_accuracy_alone() -> None:
    reference, target = calibrated(500, seed=1), calibrated(300, seed=2)
    fitted = CBPE().fit(reference)
    light = fitted.lighter()
    state = fitted.summarize(target)
    assert light.estimate(target).value == fitted.estimate(target).value
    assert "metrics" not in light.estimate(target).details
    assert "metrics" in fitted.finish(state).details
    assert set(light.summarize(target)) == {"rows", "confidence", "top"}


def test_states_are_small_however_many_rows() -> None:
    fitted = CBPE().fit(calibrated(300))

    def size(rows: int) -> int:
        return sum(np.size(value) for value in fitted.summarize(calibrated(rows)).values())

    assert size(10) == size(5000)


def test_seeds_change_the_intervals_of_the_metrics_and_nothing_else() -> None:
    reference, target = calibrated(500, seed=1), calibrated(300, seed=2)
    one, again, other = (CBPE(seed=s).fit(reference).estimate(target) for s in (1, 1, 2))
    assert one.details["metrics"] == again.details["metrics"]
    assert (
        one.details["metrics"]["macro_f1"]["value"] == other.details["metrics"]["macro_f1"]["value"]
    )
    assert (
        one.details["metrics"]["macro_f1"]["lower"] != other.details["metrics"]["macro_f1"]["lower"]
    )
    assert (one.value, one.lower, one.upper) == (other.value, other.lower, other.upper)


def test_many_classes_print_no_matrix() -> None:
    record = calibrated(300, 101)
    found = CBPE().fit(record).estimate(record).details
    assert "confusion" not in found
    assert len(found["per_class"]) == 101


def test_after_a_calibrator_that_moves_the_argmax_the_others_keep_their_bins() -> None:
    p = [[0.1, 0.9]] * 300 + [[0.8, 0.2]] * 300
    record = Predictions.from_probabilities(p, label=[0] * 210 + [1] * 90 + [0] * 300)
    made = Isotonic().fit(record)(record)  # class 1 is predicted and has 0.3, class 0 has 0.7
    state = CBPE().fit(made).summarize(made)
    assert state["others"][0, bin_numbers(made.probabilities[:1, 0], 2)[0]] == 300


@pytest.mark.parametrize("method", [Temperature, Isotonic])
def test_on_calibrated_records(method: Any) -> None:
    """A calibrator before it changes the bins, not the promise: the reference is matched."""
    reference = overconfident(4000, 5)
    made = method().fit(reference)(reference)
    found = CBPE().fit(made).estimate(made)
    assert found.value == pytest.approx(reference.accuracy, abs=0.01)
    np.testing.assert_allclose(
        np.sum(found.details["confusion"], axis=1),
        np.bincount(reference.predicted, minlength=3),
        rtol=1e-6,
    )
