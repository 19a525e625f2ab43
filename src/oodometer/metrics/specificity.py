"""Specificity: the share of the samples of other classes that are not taken for the positive one."""

from __future__ import annotations

from typing import final

import numpy as np

from ..errors import NotApplicable
from ..intervals import clopper_pearson
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric
from .positive_class import AboutClass
from .spread import from_effective_rows


@final
@register("metric")
class Specificity(AboutClass, ConfusionMetric[Measure]):
    """Specificity, true negatives / negatives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is the mean over the classes that occur, each against the rest, with a linearised
    interval. Where there is no negative it is 0 and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> record = Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])
    >>> Specificity().compute(record).value  # 1 of 2
    0.5
    """

    name = "specificity"
    quiet = True
    bigger_is_better = True
    citation = "sokolova2009"

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """The share and its interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        others = state.rows - state.support
        false = state.predicted - state.hits
        if len(state.classes) == 2:
            at = self.position(state.classes)
            hits, trials = int(others[at] - false[at]), int(others[at])
            ends = clopper_pearson(hits, trials, level)
            return measure(hits / max(trials, 1), ends, level, "exact", positive=state.classes[at])
        used = (state.support + state.predicted > 0) & (others > 0)
        if not used.any():
            raise NotApplicable("every row is of one class: needs two")
        rate = np.where(used, false / np.maximum(others, 1), 0.0)
        value = 1 - float(rate[used].mean())
        # How a sample of (truth, guess) moves the mean: it is one of the others of every class but its own.
        share = np.where(used, 1 / np.maximum(others, 1), 0.0) / used.sum()
        truth, guess = state.truth, state.guess
        moved = float((rate * share).sum()) - (rate * share)[truth] - np.where(truth != guess, share[guess], 0.0)
        # A class for which little was taken shows little spread: at least as much as the classes' posteriors have.
        doubt = (false + 0.5) / (others + 1)
        posterior = float((doubt * (1 - doubt) / (others + 2))[used].sum()) / int(used.sum()) ** 2
        variance = max(float((state.counts * moved**2).sum()), posterior)
        ends = from_effective_rows(value, variance, state.rows, level)
        return measure(value, ends, level, "asymptotic", average="macro")
