"""Label-free risk-coverage: the estimated accuracy of the most confident part of the target, for every part."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BinnedMap, bins_for, centres, count_verdicts, fit_map
from ..errors import NotApplicable
from ..inference.decision_metrics import answers_for
from ..inference.method import Method
from ..intervals import check_level
from ..kernels import quantiles, tally
from ..predictions import Predictions
from ..results import Curve
from ..scores import Score, natural_confidence
from .base import Sums
from .mean_confidence import confidence_bins

_REPLICATES = 200
_POINTS = 100


class RiskCoverage(Method[Sums, Curve]):
    """Estimated accuracy among the target's rows of highest confidence, at each coverage, with a band.

    accuracy(c) = mean of r(s) over the share c of the target with the highest s, where r(s) is the rate of
    being correct at confidence s on the reference (isotonic over log-odds bins, or s itself where
    cross-validation prefers it). The band redraws the reference's rates and the target's counts 200 times. It
    rests on the same assumption as CBPE: the rate of being correct at a given confidence carries over. Ties
    in a bin are spread evenly.

    Parameters
    ----------
    level : nominal coverage of the band, point by point.
    target_accuracies : accuracies for which the operating threshold is read off.
    seed : seed of the band.

    `NotApplicable` without confidences or labels on the reference. Source: Geifman and El-Yaniv (2017) for the curve;
    NannyML (2022) for accuracy without labels.

    >>> reference = Predictions.from_confidence([0.9] * 50 + [0.6] * 50, correct=[1] * 50 + [0, 1] * 25)
    >>> curve = RiskCoverage(target_accuracies=(0.9,)).fit(reference).estimate(reference)
    >>> [round(float(curve.y[i]), 2) for i in (0, 49, 99)]
    [1.0, 1.0, 0.75]
    >>> curve.extra["answers"][0]["coverage"] > 0.5
    True
    """

    name = "risk_coverage"
    assumes = "the rate of being correct at a given confidence carries over to the target"
    citation = "geifman2017"

    def __init__(self, *, level: float = 0.95, target_accuracies: tuple[float, ...] = (0.95,), seed: int = 0) -> None:
        self.level = check_level(level)
        self.target_accuracies = target_accuracies
        self.seed = seed

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        reference = reference.known()
        if not len(reference):
            raise NotApplicable("needs labelled reference rows")
        fitted = copy.copy(self)
        fitted._score = natural_confidence(reference)
        bins = confidence_bins(reference, fitted._score, 1)
        rows, hits = count_verdicts(bins, reference.verdicts, bins_for(1))
        fitted._map = fit_map(rows[None, :], hits[None, :], seed=fitted.seed)
        return fitted

    _score: Score
    _map: BinnedMap

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each log-odds bin of confidence."""
        bins = confidence_bins(batch, self._score, 1)
        return Sums(rows=len(batch), counts=tally(bins, bins_for(1))[0, :, 0])

    def estimate(self, target: Predictions) -> Curve:
        """The curve of a target held in memory."""
        return self.finish(self.summarize(target))

    def finish(self, state: Sums) -> Curve:
        """The curve at 100 coverages, the threshold at each, and the answers for the target accuracies."""
        counts = state["counts"].astype(np.float64)
        coverage = np.arange(1, _POINTS + 1) / _POINTS
        accuracy = _along(counts[None, :], self._map.rate[:1], coverage)[0]
        rng = np.random.default_rng([self.seed, 0x41C])
        full = np.flatnonzero(counts)
        again = rng.poisson(counts[full], size=(_REPLICATES, len(full))).astype(np.float64)
        again[~again.any(axis=1)] = counts[full]
        rates = np.stack([self._map.redraw(rng)[0][full] for _ in range(_REPLICATES)])
        draws = _along(again, rates, coverage)
        tail = (1 - self.level) / 2
        low, high = quantiles(draws - draws.mean(axis=0), [tail, 1 - tail])
        lower = np.clip(np.minimum(accuracy + low, accuracy), 0, 1)
        upper = np.clip(np.maximum(accuracy + high, accuracy), 0, 1)
        # the confidence at which each coverage is reached, as the representative of its bin
        below = np.cumsum(counts[::-1])
        index = np.searchsorted(below, coverage * below[-1] - 1e-9)
        thresholds: Array = centres(1)[::-1][np.minimum(index, len(counts) - 1)]
        answers = answers_for(self.target_accuracies, {"": accuracy, "safe_": lower}, coverage, thresholds)
        extra = {"thresholds": thresholds, "answers": answers, "score": self._score.name}
        extra["calibration"] = self._map.form
        axes = ("coverage", "estimated accuracy")
        return Curve(self.name, coverage, accuracy, lower, upper, *axes, self.level, "conditional", self.assumes, extra)


def _along(counts: Array, rate: Array, coverage: Array) -> Array:
    """Mean rate of the most confident share, for each replicate and share; linear within a bin."""
    start = np.zeros((len(counts), 1))
    rows = np.concatenate([start, np.cumsum(counts[:, ::-1], axis=1)], axis=1)
    hits = np.concatenate([start, np.cumsum((counts * rate)[:, ::-1], axis=1)], axis=1)
    wanted = coverage * rows[:, -1:]
    # an empty bin repeats a point of the curve, which interpolation passes over
    out = np.stack([np.interp(w, r, h) for w, r, h in zip(wanted, rows, hits, strict=True)]) / wanted
    return np.asarray(np.clip(out, 0, 1))
