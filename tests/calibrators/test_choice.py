"""The choice of a calibrator: where it helps, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.arrays import softmax
from oodometer.calibrators import Choice, Temperature, choose_calibrator
from oodometer.errors import UsageError


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
    assert choice.why == "no calibrator lowered the cross-validated Brier score by more than its standard error"
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
    [Predictions.from_confidence([0.5] * 100, correct=[1] * 100), Predictions.from_probabilities([[0.5, 0.5]] * 100)],
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
    choice = choose_calibrator(Predictions.from_probabilities(p, label=label), ("temperature", "isotonic"))
    assert choice.calibrator.name == "isotonic"
    assert choice.scores["isotonic"] < choice.scores["temperature"]
    with pytest.raises(UsageError, match=r"unknown calibrator 'isotonik'; did you mean isotonic"):
        choose_calibrator(Predictions.from_probabilities(p, label=label), ("isotonik",))


@pytest.mark.parametrize("power", [0.3, 3.0])
def test_underconfidence_counts_too(power: float) -> None:
    choice = choose_calibrator(sharpened(3000, power))
    assert isinstance(choice.calibrator, Temperature)
    assert choice.calibrator.temperature == pytest.approx(power, rel=0.2)


def test_a_large_reference_is_thinned_but_the_calibrator_sees_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import oodometer.calibrators.base as module

    monkeypatch.setattr(module, "_MOST_VALUES", 100)
    seen: list[int] = []
    fit = Temperature.fit

    def counted(self: Temperature, reference: Predictions, seed: int = 0) -> Any:
        seen.append(len(reference))
        return fit(self, reference)

    monkeypatch.setattr(Temperature, "fit", counted)
    choose_calibrator(sharpened(5000, 3.0))
    assert seen == [1600] * 5 + [5000]


def test_a_record_without_probabilities_passes_through() -> None:
    """A target that has only members is still judged by what members can say."""
    choice = choose_calibrator(sharpened(3000, 3.0))
    bare = Predictions.from_arrays(prediction=[0, 1], members=[[0, 0]])
    assert choice.apply(bare) is bare
