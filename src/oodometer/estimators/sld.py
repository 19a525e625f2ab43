"""SLD: the class prior of the target by EM on the model's own posteriors, which are then rescaled to it."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.row_sample import RowSample, sample_limit
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums
from .confidence import confidence_gap
from .target_prior import Conditionals, fit_prior

_DRAWS = 40
_DRAW_VALUES = 40_000  # probabilities that one draw of the bootstrap looks at
_FEW_DRAWS = 20
_MOST_VALUES = 1_000_000  # of probabilities in one EM


def adjust(probabilities: Array, prior: Array, source: Array) -> Array:
    """Posteriors under another prior: p_y q_y / pi_y, rescaled to sum to 1; shape (sample, class).

    Classes of source share 0 get 0; a row that is left with nothing keeps its probabilities. Source: Saerens et al.
    (2002), equation 2.4.

    >>> adjust(np.array([[0.5, 0.5]]), np.array([0.9, 0.1]), np.array([0.5, 0.5])).round(3).tolist()
    [[0.9, 0.1]]
    """
    ratio = np.divide(prior, source, out=np.zeros(len(prior)), where=source > 0)
    made = probabilities * ratio
    total = made.sum(axis=1, keepdims=True)
    out: Array = np.where(total > 0, made / np.maximum(total, 1e-300), probabilities)
    return out


class AdjustedPrior(NamedTuple):
    """EM's prior (class,) and mean adjusted posterior of the predicted class; both redrawn, (draw, class), (draw,)."""

    prior: Array
    accuracy: float
    priors: Array
    accuracies: Array


def adjusted_prior(probabilities: Array, predicted: Array, source_rows: Array, *, seed: int = 0) -> AdjustedPrior:
    """EM of Saerens et al. on target posteriors: q_y <- mean_i of p_iy q_y / pi_y, rescaled to sum to 1 over y.

    ``probabilities`` (sample, class) and ``predicted`` classes (sample,) are the target's, ``source_rows`` (class,) the
    reference's rows of each class. The bootstrap redraws target rows (a subsample, its spread scaled to all of them)
    and the reference's class counts.

    >>> p = np.array([[0.9, 0.1]] * 60 + [[0.1, 0.9]] * 40)
    >>> adjusted_prior(p, p.argmax(axis=1), np.array([50, 50])).prior.round(3).tolist()
    [0.625, 0.375]
    """
    rng = np.random.default_rng([seed, 47])
    samples, classes = probabilities.shape
    source = source_rows / source_rows.sum()
    inverse = np.divide(1.0, source, out=np.zeros(classes), where=source > 0)
    table = probabilities.astype(np.float64)
    prior = fit_prior(
        Conditionals(table, scale=inverse[None]),
        np.ones((1, samples)),
        source[None],
        tolerance=1e-7,
        most_cycles=100,
    )
    accuracy = float(adjust(table, prior[0], source)[np.arange(samples), predicted].mean())

    # rows come in the order of a hash: any first part is a sample
    few = min(samples, max(_DRAW_VALUES // classes, 200))
    draws = _DRAWS if classes * few <= 2 * _DRAW_VALUES else _FEW_DRAWS
    part, own = table[:few], predicted[:few]
    again = rng.multinomial(few, np.full(few, 1 / few), size=draws).astype(np.float64)
    sources = rng.multinomial(int(source_rows.sum()), source, size=draws) + 0.5 * (source > 0)
    sources = sources / sources.sum(axis=1, keepdims=True)
    begin = np.repeat(0.9 * prior + 0.1 * source, draws, axis=0)

    def redraw(weights: Array, shares: Array) -> tuple[Array, Array]:
        scale = np.divide(1.0, shares, out=np.zeros(shares.shape), where=shares > 0)
        given = Conditionals(part, scale=scale)
        found = fit_prior(given, weights, begin, tolerance=1e-5, most_cycles=40)
        ratio = found * scale
        at_own = part[np.arange(few), own] * ratio[:, own] / np.maximum(given.mix(found), 1e-300)
        return found, np.sum(weights * at_own, axis=1) / weights.sum(axis=1)

    by_target = redraw(again, np.repeat(source[None], draws, axis=0))
    by_source = redraw(np.ones_like(again), sources)
    shrink = np.sqrt(few / samples)
    priors, accuracies = (
        value + shrink * (t - t.mean(axis=0)) + (s - s.mean(axis=0))
        for value, t, s in zip((prior[0], accuracy), by_target, by_source, strict=True)
    )
    return AdjustedPrior(prior[0], accuracy, np.clip(priors, 0.0, 1.0), accuracies)


@final
@register("estimator")
class SLD(Estimator):
    """accuracy = mean_T of p'(h(x)), p'_y = p_y q_y / pi_y rescaled, q the fixed point of q_y = mean_T p'_y.

    q is the maximum-likelihood class prior (EM of Saerens, Latinne, Decaestecker) if the probabilities are the
    reference's posteriors; nothing here calibrates them. At most 20,000 target rows are kept, a seeded sample.
    Variance: bootstrap of target rows and reference classes, the gap between confidence and correctness on the
    reference with its variance, plus v(1-v)/n_T. `NotApplicable` without probabilities or true classes. Source:
    Saerens et al. (2002).

    >>> p = [[0.9, 0.1]] * 50 + [[0.1, 0.9]] * 50
    >>> reference = Predictions.from_probabilities(p, label=[0] * 45 + [1] * 50 + [0] * 5)
    >>> target = Predictions.from_probabilities([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10)
    >>> estimate = SLD().fit(reference).estimate(target)
    >>> estimate.details["prior"].round(2).tolist(), round(estimate.value, 2)
    ([1.0, 0.0], 0.9)
    """

    name = "sld"
    family = "label shift"
    order = 190
    cost = "slow"
    stable = "P(x | y)"
    needs = ("probabilities",)
    assumes = "P(x | y) is unchanged (label shift) and the probabilities are calibrated on the reference"
    citation = "saerens2002"
    heavy = True

    def _fit(self, reference: Predictions) -> None:
        if reference.label is None:
            raise NotApplicable("needs the true class (`label`) of reference rows")
        self._score: Score = natural_confidence(reference)
        self._classes = reference.num_classes
        label = reference.label[reference.label >= 0]
        if not len(label):
            raise NotApplicable("needs reference rows with a `label`")
        self._source_rows: Array = np.bincount(label, minlength=self._classes)
        shift, variance = confidence_gap(reference, self._score)
        self._gap_variance = variance + shift**2

    def summarize(self, batch: Predictions) -> Sums:
        """A bounded sample of probabilities and predicted classes."""
        fields, limit = ["probabilities", "predicted"], rows_to_keep(self._classes)
        return Sums(rows=len(batch), sample=RowSample.of(batch, fields, limit, self.seed))

    def finish(self, state: Sums) -> Estimate:
        """EM, then the mean adjusted posterior of the predicted class."""
        sample, rows = state["sample"], state["rows"]
        probabilities = sample["probabilities"]
        check_width(probabilities, self._classes)
        found = adjusted_prior(probabilities, sample["predicted"], self._source_rows, seed=self.seed)
        value = found.accuracy
        used = len(sample)
        variance = float(found.accuracies.var(ddof=1)) + self._gap_variance + max(value * (1 - value), 0.0) / rows
        lower, upper = wilson_from_variance(value, variance, min(used, int(self._source_rows.sum())), self.level)
        source = self._source_rows / self._source_rows.sum()
        return self._estimate(
            state,
            value,
            lower,
            upper,
            score=self._score.name,
            details={"prior": found.prior, "reference_prior": source, "rows_used": used},
        )


def rows_to_keep(classes: int) -> int:
    """Target rows to keep for methods that iterate over them: 20,000 for few classes, 1,000 for a thousand.

    >>> rows_to_keep(10), rows_to_keep(1000)
    (20000, 1000)
    """
    return min(sample_limit(classes), max(_MOST_VALUES // classes, 500))


def check_width(probabilities: Array, classes: int) -> None:
    """`NotApplicable` where the target has another number of classes than the reference.

    >>> check_width(np.ones((5, 2)), 2)
    """
    if probabilities.shape[1] != classes:
        raise NotApplicable(
            f"the target has {probabilities.shape[1]} classes, the reference {classes}; give both the same class names"
        )
