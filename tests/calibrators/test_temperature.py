"""Temperature scaling against a general optimiser, on data of known temperature, and at the edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import oodometer.calibrators.temperature as module
from oodometer import Predictions
from oodometer.arrays import softmax
from oodometer.calibrators import Choice, Temperature, choose_calibrator, fit_temperature
from oodometer.errors import NotApplicable, UsageError
from oodometer.kernels import top_two

from ..snapshots import raises_snapshot


def sample(rows: int, classes: int, true_temperature: float, seed: int = 0) -> tuple[Any, Any]:
    """Logits whose posterior is softmax(z / true_temperature), and labels drawn from it."""
    rng = np.random.default_rng([seed, rows, classes])
    z = rng.standard_normal((rows, classes)) * 2
    p = softmax(z)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return z * true_temperature, label


def best_temperature(z: Any, label: Any) -> float:
    """The minimum of the negative log-likelihood over log t, by Brent's method."""

    def nll(log_t: float) -> float:
        scaled = z.astype(np.float64) / math.exp(log_t)
        own = scaled[np.arange(len(label)), label]
        return float(np.mean(scipy.special.logsumexp(scaled, axis=1) - own))

    found = scipy.optimize.minimize_scalar(
        nll, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}
    )
    return math.exp(found.x)


@pytest.mark.parametrize("classes", [2, 5, 30])
@pytest.mark.parametrize("true_temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_optimum_of_the_likelihood(
    classes: int, true_temperature: float, dtype: Any
) -> None:
    z, label = sample(400, classes, true_temperature)
    z = z.astype(dtype)
    want = best_temperature(z, label)
    assert fit_temperature(z, label) == pytest.approx(want, rel=1e-3)
    assert Temperature().fit(Predictions.from_logits(z, label=label)).temperature == pytest.approx(
        want, rel=1e-3
    )
    by_probabilities = Predictions.from_probabilities(softmax(z), label=label)
    assert Temperature().fit(by_probabilities).temperature == pytest.approx(want, rel=2e-3)


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 2.0, 5.0])
def test_a_known_temperature_is_found(true_temperature: float) -> None:
    """Logits multiplied by t want to be divided by t: an inverted or forgotten temperature fails here."""
    z, label = sample(20_000, 4, true_temperature)
    assert fit_temperature(z, label) == pytest.approx(true_temperature, rel=0.05)


def test_by_hand() -> None:
    """Nine of ten right at logits (5, 0): 5 / t = log 9."""
    z = np.array([[5.0, 0.0]] * 10)
    assert fit_temperature(z, np.array([0] * 9 + [1])) == pytest.approx(5 / math.log(9), rel=1e-3)


def test_a_shift_of_the_logits_changes_nothing() -> None:
    z, label = sample(300, 3, 2.0)
    shifted = z + np.random.default_rng(0).standard_normal((300, 1)) * 100
    assert fit_temperature(shifted, label) == pytest.approx(fit_temperature(z, label), rel=1e-6)


def test_the_range_is_bounded_where_the_likelihood_is_not() -> None:
    """All right: the sharper the better. All wrong: the flatter the better. Equal logits: nothing to learn."""
    z = np.array([[2.0, 0.0], [3.0, 1.0]])
    assert fit_temperature(z, np.array([0, 0])) == pytest.approx(math.exp(-3), rel=1e-2)
    assert fit_temperature(z, np.array([1, 1])) == pytest.approx(math.exp(3), rel=1e-2)
    assert math.exp(-3) <= fit_temperature(np.zeros((3, 2)), np.array([0, 1, 1])) <= math.exp(3)
    assert (
        math.exp(-3)
        <= fit_temperature(np.array([[500.0, 0.0]] * 3), np.array([0, 1, 1]))
        <= math.exp(3) * 1.01
    )


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_applied_and_not_only_fitted(kind: str, dtype: Any) -> None:
    z, label = sample(500, 6, 3.0)
    z = z.astype(dtype)
    data = {"logits": z} if kind == "logits" else {"probabilities": softmax(z)}
    record = Predictions.from_arrays(**data, label=label)
    fitted = Temperature().fit(record)
    assert fitted.temperature > 2
    made = fitted(record)
    assert made.probabilities.dtype == dtype
    np.testing.assert_allclose(
        made.probabilities,
        softmax(z.astype(np.float64) / fitted.temperature),
        atol=1e-5 if dtype is np.float32 else 1e-12,
    )
    assert made.calibrated == "temperature"
    assert record.probabilities is not made.probabilities


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
@pytest.mark.parametrize("classes", [2, 10, 100])
def test_what_is_known_of_the_best_classes_stays_true(kind: str, classes: int) -> None:
    """The best two are carried over from the raw probabilities; they must be those of the calibrated ones."""
    z, label = sample(300, classes, 2.5)
    z[0] = 0
    z[1, :2] = 9.0
    data = {"logits": z} if kind == "logits" else {"probabilities": softmax(z)}
    record = Predictions.from_arrays(**data, label=label)
    made = Temperature().fit(record)(record)
    want = top_two(made.probabilities)
    np.testing.assert_allclose(made.top.first, want.first, rtol=1e-9)
    np.testing.assert_allclose(made.top.second, want.second, rtol=1e-9)
    at = np.arange(300)
    np.testing.assert_allclose(made.probabilities[at, made.top.best], want.first, rtol=1e-9)
    assert (made.predicted == record.predicted).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_of_exactly_0_and_1(dtype: Any) -> None:
    p = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [1, 0, 0]], dtype=dtype)
    record = Predictions.from_probabilities(
        p, label=[0, 2, 1, 1]
    )  # two rows give the truth no chance at all
    made = Temperature().fit(record)(record)
    assert np.isfinite(made.probabilities).all()
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(made.probabilities[2, 0], made.probabilities[2, 1])
    assert made.predicted.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("smallest", [1e-3, 1e-12])
def test_one_true_class_of_probability_zero_does_not_set_the_temperature_alone(
    smallest: float, dtype: Any
) -> None:
    """A forest gives exact zeros: the fit takes them for the smallest probability that it gives, at most 1e-7."""
    z, label = sample(1000, 3, 1.0)
    p = softmax(z)
    p[0] = [1 - smallest, smallest, 0]
    p[1], label[1] = [0.7, 0.3, 0], 2
    p = p.astype(dtype)
    floored = np.log(np.maximum(p.astype(np.float64), min(smallest, 1e-7)))
    want = best_temperature(floored, label)
    assert Temperature().fit(
        Predictions.from_probabilities(p, label=label)
    ).temperature == pytest.approx(want, rel=2e-3)
    assert want < 1.2, "with log of the smallest number of the computer it is far above"
    made = Temperature().fit(Predictions.from_probabilities(p, label=label))(
        Predictions.from_probabilities(p[1:2])
    )
    assert made.probabilities[0, 2] < 1e-20


def test_a_reference_with_logits_serves_a_target_with_probabilities() -> None:
    z, label = sample(500, 4, 2.0)
    fitted = Temperature().fit(Predictions.from_logits(z, label=label))
    target = sample(50, 4, 2.0, seed=1)[0]
    by_logits, by_probabilities = (
        fitted(Predictions.from_logits(target)),
        fitted(Predictions.from_probabilities(softmax(target))),
    )
    np.testing.assert_allclose(by_logits.probabilities, by_probabilities.probabilities, atol=1e-9)


def test_unlabelled_rows_are_left_out() -> None:
    z, label = sample(300, 3, 2.0)
    gaps = label.astype(float)
    gaps[100:] = np.nan
    assert Temperature().fit(Predictions.from_logits(z, label=gaps)).temperature == pytest.approx(
        fit_temperature(z[:100], label[:100])
    )


def test_a_large_reference_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    z, label = sample(6000, 3, 3.0)
    record = Predictions.from_logits(z, label=label)
    whole = Temperature().fit(record).temperature
    seen = []
    monkeypatch.setattr(module, "_ENOUGH_VALUES", 7500)
    monkeypatch.setattr(
        module, "fit_temperature", lambda z, y: seen.append(len(y)) or fit_temperature(z, y)
    )
    part = Temperature().fit(record).temperature
    assert seen == [2500]
    assert part == pytest.approx(whole, rel=0.1)
    assert part != whole


def test_it_needs_probabilities_and_labels() -> None:
    for record in (
        Predictions.from_probabilities([[0.5, 0.5]]),
        Predictions.from_confidence([0.5], correct=[1]),
        Predictions.from_classes([0, 1], label=[0, 1]),
    ):
        with raises_snapshot(NotApplicable):
            Temperature().fit(record)
    with raises_snapshot(NotApplicable):
        Temperature().fit(Predictions.from_probabilities([[0.5, 0.5]], label=[None]))
    fitted = Temperature().fit(Predictions.from_probabilities([[0.7, 0.3]] * 3, label=[0, 0, 1]))
    with raises_snapshot(NotApplicable):
        fitted(Predictions.from_confidence([0.5]))


def sharpened(rows: int, power: float, classes: int = 4, seed: int = 0) -> Predictions:
    """Labels drawn from p, and p to a power (made to sum to one again) as what the model says."""
    rng = np.random.default_rng([seed, rows])
    z = rng.standard_normal((rows, classes)) * 2
    label = (softmax(z).cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return Predictions.from_probabilities(softmax(z * power), label=label)


def test_overconfidence_is_cured_by_a_temperature() -> None:
    choice = choose_calibrator(sharpened(3000, 3.0))
    assert isinstance(choice.calibrator, Temperature)
    assert choice.calibrator.temperature == pytest.approx(3.0, rel=0.15)
    assert choice.scores["temperature"] < choice.scores["none"]
    assert "temperature lowered the cross-validated Brier score from" in choice.why
    made = choice.apply(sharpened(3000, 3.0, seed=1))
    assert made.top.first.mean() == pytest.approx(made.accuracy, abs=0.03)


def test_calibrated_probabilities_are_left_alone() -> None:
    """A temperature near 1 gains nothing; the more often this is asked, the more seldom it may be chosen."""
    choices = [choose_calibrator(sharpened(1500, 1.0, seed=s)) for s in range(12)]
    assert sum(c.calibrator is not None for c in choices) <= 2
    choice = next(c for c in choices if c.calibrator is None)
    assert (
        choice.why
        == "no calibrator lowered the cross-validated Brier score by more than its standard error"
    )
    assert set(choice.scores) == {"none", "temperature"}
    record = sharpened(50, 1.0)
    assert choice.apply(record) is record


@pytest.mark.parametrize("rows", [1, 10, 49])
def test_a_tiny_reference_is_not_calibrated_on(rows: int) -> None:
    choice = choose_calibrator(sharpened(rows, 5.0))
    assert choice == Choice(None, f"{rows} labelled reference rows are too few to calibrate on", {})


def test_rows_without_a_label_do_not_count() -> None:
    record = sharpened(3000, 3.0)
    label = record.label.astype(float)
    label[49:] = np.nan
    few = Predictions.from_probabilities(record.probabilities, label=label)
    assert choose_calibrator(few).why == "49 labelled reference rows are too few to calibrate on"
    some = Predictions.from_probabilities(
        record.probabilities, label=np.where(np.arange(3000) < 2000, record.label, np.nan)
    )
    first = Predictions.from_probabilities(record.probabilities[:2000], label=record.label[:2000])
    assert choose_calibrator(some).scores == choose_calibrator(first).scores


@pytest.mark.parametrize(
    "record",
    [
        Predictions.from_confidence([0.5] * 100, correct=[1] * 100),
        Predictions.from_probabilities([[0.5, 0.5]] * 100),
    ],
)
def test_without_probabilities_or_labels_there_is_no_choice(record: Predictions) -> None:
    choice = choose_calibrator(record)
    assert choice.calibrator is None
    assert choice.why == "there are no class probabilities with labels to calibrate"


def test_the_order_of_rows_does_not_matter() -> None:
    record = sharpened(800, 1.3)
    order = np.random.default_rng(0).permutation(800)
    one, other = choose_calibrator(record), choose_calibrator(record.take(order))
    for name in one.scores:
        assert other.scores[name] == pytest.approx(one.scores[name], rel=1e-9)
    assert (one.calibrator is None) == (other.calibrator is None)


def test_the_best_of_several_candidates_is_taken() -> None:
    """One class is always overrated: a temperature cannot say so, an isotonic map for each class can."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 5000)
    true = p * [0.2, 1, 1]
    true /= true.sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) > rng.random((5000, 1))).argmax(axis=1)
    choice = choose_calibrator(
        Predictions.from_probabilities(p, label=label), ("temperature", "isotonic")
    )
    assert choice.calibrator.name == "isotonic"
    assert choice.scores["isotonic"] < choice.scores["temperature"]
    with raises_snapshot(UsageError):
        choose_calibrator(Predictions.from_probabilities(p, label=label), ("isotonik",))


@pytest.mark.parametrize("power", [0.3, 3.0])
def test_underconfidence_counts_too(power: float) -> None:
    choice = choose_calibrator(sharpened(3000, power))
    assert isinstance(choice.calibrator, Temperature)
    assert choice.calibrator.temperature == pytest.approx(power, rel=0.2)


def test_a_large_reference_is_thinned_but_the_calibrator_sees_it_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import oodometer.calibrators.base as module

    monkeypatch.setattr(module, "_MOST_VALUES", 100)
    seen: list[int] = []
    learn = Temperature._learn

    def counted(self: Temperature, given: Any, are_logits: bool, label: Any) -> None:
        seen.append(len(label))
        learn(self, given, are_logits, label)

    monkeypatch.setattr(Temperature, "_learn", counted)
    choose_calibrator(sharpened(5000, 3.0))
    assert seen == [1600] * 5 + [5000]


def test_a_record_without_probabilities_passes_through() -> None:
    """A target that has only members is still judged by what members can say."""
    choice = choose_calibrator(sharpened(3000, 3.0))
    bare = Predictions.from_arrays(prediction=[0, 1], members=[[0, 0]])
    assert choice.apply(bare) is bare
