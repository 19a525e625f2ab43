"""CBPE: confidence-based performance estimation, the expected confusion matrix from calibrated probabilities."""

from __future__ import annotations

import math
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BLOCK, BinnedMap, bins_for, count_bins, fit_map
from ..errors import NotApplicable
from ..kernels import tally
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums, Traits
from .expected_classes import (
    Expectation,
    confusion_of,
    count_classes,
    counts_of_truth,
    drawn_by_rates,
    expected_by_rates,
)
from .expected_confusion import (
    ClassRates,
    class_order,
    class_rates,
    confusion_counts,
    count_off_diagonal,
    expected_metrics,
    fit_class_rates,
)
from .mean_confidence import confidence_bins, confidence_gap, counts_by_class_and_bin, total_confidence


@final
@register("estimator")
class CBPE(Estimator):
    """accuracy = mean_T P(correct | predicted class, its probability), and any metric of the expected confusion matrix.

    On the reference a map is learnt from counts over log-odds bins: the rate of being correct given the predicted class
    and its probability. It is the probability itself, isotonic for all classes together, or isotonic for each class:
    whichever has the lowest five-fold Brier score, so that calibration is used only where it helps. On the
    target its mean is the accuracy. The expected confusion matrix has the expected correct samples of each
    predicted class on its diagonal and spreads the expected errors over the other classes in proportion to
    their probabilities; precision, recall, F1 and one-against-rest AUC of each class and their macro means
    follow, all in ``details`` with intervals. With `confidence` alone there is only the accuracy.

    Parameters
    ----------
    extended : the other metrics besides accuracy (False saves most of the time).

    Variance of the accuracy: sum over isotonic blocks of w^2 r(1-r)/n_S, plus v(1-v)/n_T (wide enough both for the
    population and for these very rows). `NotApplicable` without confidences. Source: NannyML (2022); isotonic
    maps after Zadrozny and Elkan (2002).

    >>> p = [[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 100
    >>> reference = Predictions.from_probabilities(p, label=[0] * 240 + [1] * 60 + [1] * 100)
    >>> estimate = CBPE().fit(reference).estimate(reference)
    >>> round(estimate.value, 2), np.round(estimate.details["confusion"], 1).tolist()
    (0.85, [[240.0, 60.0], [0.0, 100.0]])
    """

    name = "cbpe"
    traits = Traits(
        "calibrated confidence", 100, reads="confidence", stable="P(y | x)", voice=1, in_panel=True, in_middle=True
    )
    _class_rates: ClassRates
    _together: float
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "P(y | x) is unchanged, so that calibration carries over (covariate shift)"
    citation = "nannyml2022"

    def __init__(self, *, extended: bool = True, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._extended = extended

    def lighter(self) -> Self:
        """The accuracy alone, without the other metrics."""
        return self._with(_extended=False)

    def _fit(self, reference: Predictions) -> None:
        has_classes = reference.probabilities is not None and reference.label is not None
        self._classes = reference.num_classes if has_classes else 0
        self._names = reference.classes or ()
        self._score: Score = natural_confidence(reference)
        kinds = max(self._classes, 1)
        self._rows = len(reference)
        width = bins_for(kinds)
        bins = confidence_bins(reference, self._score, kinds)
        predicted = self._predicted(reference) if kinds > 1 else None
        table = tally(bins, width, kinds=predicted, of=kinds, verdicts=reference.verdicts)
        self._map: BinnedMap = fit_map(table.sum(axis=2), table[:, :, 1], seed=self.seed)
        shift, variance = confidence_gap(reference, self._score)
        self._raw_variance = variance + shift**2  # the gap seen on the reference is part of the doubt
        if predicted is not None and self._extended:
            self._rates = fit_class_rates(reference, predicted, table, is_argmax=_keeps_argmax(reference))

    def _predicted(self, record: Predictions) -> Array:
        """Predicted class of each sample; one class for all where there is no class axis."""
        return record.predicted if self._classes else np.zeros(len(record), dtype=np.intp)

    def summarize(self, batch: Predictions) -> Sums:
        """Counts by (predicted class, bin) of its probability, and what `expected_confusion` needs of the others."""
        kinds, predicted = max(self._classes, 1), self._predicted(batch)
        if self._classes:
            top = counts_by_class_and_bin(batch, self._score, kinds)
        else:
            top = count_bins(predicted, confidence_bins(batch, self._score, kinds), kinds)
        state = Sums(rows=len(batch), confidence=total_confidence(batch, self._score), top=top)
        if self._classes and self._extended:
            assert batch.probabilities is not None
            state |= count_off_diagonal(batch.probabilities, predicted, is_argmax=_keeps_argmax(batch))
        return Sums(state)

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that knows how often each class is true, by the bin of its probability."""
        if own.label is None or not own.has("probabilities"):
            raise NotApplicable("needs `probabilities` and the true class (`label`) of reference rows")
        counts = count_classes(own)
        rates = class_rates(confusion_of(counts, known=True), *counts_of_truth(counts))
        return self._with(_class_rates=rates, _together=class_order(own, self.seed).together)

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The target's counts at the reference's rates."""
        expected, rates = expected_by_rates(counts, self._class_rates), self._class_rates
        drawn = drawn_by_rates(counts, rates, draws, np.random.default_rng([self.seed, 0xCB9E]))
        # a block of n rows redrawn at its own rate varies by (n - 1) / n of what another sample's block would
        block = math.sqrt(BLOCK / (BLOCK - 1))
        wider = dict.fromkeys(("roc_auc", "average_precision"), block)
        wider |= {f"mean {name}": block * self._together for name in wider}
        return Expectation(expected, drawn, wider)

    def finish(self, state: Sums) -> Estimate:
        """Expected accuracy and the metrics of the expected confusion matrix."""
        rows = state["rows"]
        if self._map.form == "raw":
            value, variance = state["confidence"] / rows, self._raw_variance
        else:
            value = float(np.sum(state["top"] * self._map.rate)) / rows
            variance = self._map.variance(state["top"] / rows)
        details: dict[str, Any] = {"calibration": self._map.form, "cross_validated_brier": self._map.scores}
        if "others" in state:
            cells = confusion_counts(state["top"], state["others"], state["mass"])
            details |= expected_metrics(
                cells, self._rates, self._names, level=self.level, kind=self.kind, seed=self.seed
            )
        more: dict[str, Any] = {"score": self._score.name, "details": details}
        return self._from_variance(state, value, variance, self._rows, **more)


def _keeps_argmax(record: Predictions) -> bool:
    """Whether no class but the predicted one has a probability above one half."""
    return record.calibrated in (None, "temperature") and record.is_argmax
