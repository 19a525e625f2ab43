"""Label shift: the class prior of the target, by maximum likelihood, BBSE or SLD; the accuracy that follows; LEAP."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..inference.row_sample import RowSample, sample_limit
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums, Traits
from .expected_classes import Expectation, LabelledRows, labelled_rows, reweighted
from .mean_confidence import confidence_gap
from .target_prior import (
    Conditionals,
    LabelCountEstimator,
    LabelCounts,
    LabelShiftFit,
    PriorFit,
    count_labels,
    fit_prior,
    label_shift_test,
    recall_of,
    redraw_reference,
    tilt_test,
)

_MOST_CONDITION, _HIGH_CONDITION = 1e3, 30.0
_SINGULAR = "the reference's confusion matrix cannot be inverted"
_NO_INVERSE = "`label-shift` needs no inverse"


class InvertedConfusion(NamedTuple):
    """The w of C w = mu_T, cut at 0 and uncut, C^-T a (the derivative of a . w), the condition of P_S(h | y)."""

    weights: Array
    raw_weights: Array
    sensitivity: Array
    condition: float


def invert_confusion(joint: Array, correct: Array, predicted: Array) -> InvertedConfusion:
    """Solve C w = mu_T over the classes that the reference knows; `NotApplicable` where C has no inverse to rely on."""
    prior = joint.sum(axis=0)
    observed = np.flatnonzero(prior > 0)
    square = joint[np.ix_(observed, observed)]
    if not square.sum(
        axis=1
    ).all():  # a row of zeros; told apart from the rest because it is quick to see
        raise NotApplicable(f"{_SINGULAR}: some of its classes are never predicted; {_NO_INVERSE}")
    singular_values = np.linalg.svd(square / prior[observed], compute_uv=False)
    largest, smallest = float(singular_values[0]), float(singular_values[-1])
    noise = (
        largest * len(square) * np.finfo(float).eps
    )  # below which it differs from machine to machine
    condition = largest / smallest if smallest > noise else float("inf")
    if not condition <= _MOST_CONDITION:
        why = f"(condition number {condition:.3g}): some classes are never told apart"
        raise NotApplicable(f"{_SINGULAR} {why}; {_NO_INVERSE}")
    raw = np.zeros(len(prior))
    raw[observed] = np.linalg.solve(square, predicted[observed])
    sensitivity = np.zeros(len(prior))
    sensitivity[observed] = np.linalg.solve(square.T, correct[observed])
    weights = np.maximum(raw, 0.0)
    total = float(weights @ prior)
    if total <= 0:
        raise NotApplicable(
            "no class prior gives the target's predicted classes; the target has none that are known"
        )
    return InvertedConfusion(weights / total, raw, sensitivity, condition)


@register("estimator")
class BBSE(LabelCountEstimator):
    """accuracy = sum_y w_y P_S(correct, y), w = C^-1 mu_T, C[j, y] = P_S(h = j, y), mu_T[j] = P_T(h = j).

    Negative weights are cut to 0 and the prior w_y P_S(y) rescaled to sum to 1. Variance by the delta method, with
    g = C^-T P_S(correct, y): Var_T(g_h)/n_T + Var_S(w_y (correct - g_h))/n_S, plus v(1-v)/n_T. `NotApplicable` without
    true classes and where C cannot be inverted. Source: Lipton et al. (2018).

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> estimate = BBSE().fit(reference).estimate(Predictions.from_classes([0] * 190 + [1] * 210))
    >>> np.round(estimate.details["prior"], 3).tolist(), round(estimate.value, 3)
    ([0.15, 0.85], 0.645)
    """

    name = "bbse"
    traits = Traits("label shift", 180, cost="slow", stable="P(x | y)")
    assumes = "P(h | y) is unchanged: only the shares of the classes moved (label shift)"
    citation = "lipton2018"

    def _fit(self, reference: Predictions) -> None:
        counts = self._label_counts = count_labels(reference, most_bins=1)
        self._joint: Array = counts.by_prediction(counts.rows_by_cell_and_label.T).T / counts.total
        self._correct: Array = counts.hits_by_label / counts.total
        invert_confusion(
            self._joint, self._correct, self._joint.sum(axis=1)
        )  # refuses before the target is read

    def finish(self, state: Sums) -> Estimate:
        """Invert, answer the weighted share of correct samples."""
        rows, label_counts = state["rows"], self._label_counts
        predicted = label_counts.by_prediction(state["counts"]) / rows
        solved = invert_confusion(self._joint, self._correct, predicted)
        value, g = float(solved.weights @ self._correct), solved.sensitivity
        variance = max(float(predicted @ g**2 - (predicted @ g) ** 2), 0.0) / rows
        # over the reference's rows that of w_y (correct - g_h), with one squared unit added
        g = np.append(g, 0.0)[label_counts.owner[label_counts.pair_cell]]
        w = solved.weights[label_counts.pair_label]
        miss, hit, hits = -w * g, w * (1 - g), label_counts.pair_hits
        misses, total = label_counts.pair_rows - hits, label_counts.total
        mean = float(hits @ hit + misses @ miss) / total
        squares = float(hits @ np.square(hit - mean) + misses @ np.square(miss - mean))
        variance += (squares + 1) / (total + 1) / total
        notes = [*label_counts.notes]
        if solved.condition > _HIGH_CONDITION:
            notes.append(
                f"the confusion matrix has the condition number {solved.condition:.0f}; the prior is unstable"
            )
        if solved.raw_weights.min() < -0.05:
            notes.append(
                f"the inverse gave a negative class weight ({solved.raw_weights.min():.2f}), cut to 0"
            )
        prior = label_counts.prior
        details = {
            "prior": solved.weights * prior,
            "reference_prior": prior,
            "condition": solved.condition,
        }
        return self._from_variance(
            state, value, variance, total, details=details, warnings=tuple(notes)
        )


_DRAWS = 40
_DRAW_VALUES = 40_000  # probabilities that one draw of the bootstrap looks at
_FEW_DRAWS = 20
_MOST_VALUES = 1_000_000  # of probabilities in one EM


def adjust(probabilities: Array, prior: Array, source: Array) -> Array:
    """Posteriors under another prior: p_y q_y / pi_y, rescaled (Saerens et al. 2002); a row left with nothing stays."""
    ratio = np.divide(prior, source, out=np.zeros(len(prior)), where=source > 0)
    adjusted = probabilities * ratio
    total = adjusted.sum(axis=1, keepdims=True)
    return np.where(total > 0, adjusted / np.maximum(total, 1e-300), probabilities)


class AdjustedPrior(NamedTuple):
    """EM's prior (class,) and mean adjusted posterior of the predicted class; both redrawn, (draw, class), (draw,)."""

    prior: Array
    accuracy: float
    priors: Array
    accuracies: Array


def adjusted_prior(
    probabilities: Array, predicted: Array, source_rows: Array, *, seed: int = 0
) -> AdjustedPrior:
    """EM of Saerens et al.: q_y <- mean_i of p_iy q_y / pi_y, rescaled; the bootstrap redraws target and reference."""
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
    part, part_predicted = table[:few], predicted[:few]
    again = rng.multinomial(few, np.full(few, 1 / few), size=draws).astype(np.float64)
    sources = rng.multinomial(int(source_rows.sum()), source, size=draws) + 0.5 * (source > 0)
    sources = sources / sources.sum(axis=1, keepdims=True)
    begin = np.repeat(0.9 * prior + 0.1 * source, draws, axis=0)

    def redraw(weights: Array, shares: Array) -> tuple[Array, Array]:
        scale = np.divide(1.0, shares, out=np.zeros(shares.shape), where=shares > 0)
        likelihood = Conditionals(part, scale=scale)
        priors = fit_prior(likelihood, weights, begin, tolerance=1e-5, most_cycles=40)
        ratio = priors * scale
        at_own = (
            part[np.arange(few), part_predicted]
            * ratio[:, part_predicted]
            / np.maximum(likelihood.mix(priors), 1e-300)
        )
        return priors, np.sum(weights * at_own, axis=1) / weights.sum(axis=1)

    by_target = redraw(again, np.repeat(source[None], draws, axis=0))
    by_source = redraw(np.ones_like(again), sources)
    shrink = np.sqrt(few / samples)
    priors, accuracies = (
        value + shrink * (t - t.mean(axis=0)) + (s - s.mean(axis=0))
        for value, t, s in zip((prior[0], accuracy), by_target, by_source, strict=True)
    )
    return AdjustedPrior(prior[0], accuracy, np.clip(priors, 0.0, 1.0), accuracies)


@register("estimator")
class SLD(Estimator):
    """accuracy = mean_T of p'(h(x)), p'_y = p_y q_y / pi_y rescaled, q the fixed point of q_y = mean_T p'_y.

    q is the maximum-likelihood class prior (EM of Saerens, Latinne, Decaestecker) if the probabilities are the
    reference's posteriors; nothing here calibrates them. At most 20,000 target rows are kept, a seeded sample.
    Variance: bootstrap of target rows and reference classes, the gap between confidence and correctness on the
    reference with its variance, plus v(1-v)/n_T. Needs probabilities and true classes. Source: Saerens et al. (2002).

    >>> p = [[0.9, 0.1]] * 50 + [[0.1, 0.9]] * 50
    >>> reference = Predictions.from_probabilities(p, label=[0] * 45 + [1] * 50 + [0] * 5)
    >>> target = Predictions.from_probabilities([[0.9, 0.1]] * 90 + [[0.1, 0.9]] * 10)
    >>> estimate = SLD().fit(reference).estimate(target)
    >>> estimate.details["prior"].round(2).tolist(), round(estimate.value, 2)
    ([1.0, 0.0], 0.9)
    """

    name = "sld"
    traits = Traits("label shift", 190, cost="slow", stable="P(x | y)", heavy=True)
    needs = ("probabilities",)
    assumes = (
        "P(x | y) is unchanged (label shift) and the probabilities are calibrated on the reference"
    )
    citation = "saerens2002"

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
        sample, total, used = state["sample"], int(self._source_rows.sum()), len(state["sample"])
        check_width(sample["probabilities"], self._classes)
        adjusted = adjusted_prior(
            sample["probabilities"], sample["predicted"], self._source_rows, seed=self.seed
        )
        variance = float(adjusted.accuracies.var(ddof=1)) + self._gap_variance
        details = {
            "prior": adjusted.prior,
            "reference_prior": self._source_rows / total,
            "rows_used": used,
        }
        return self._from_variance(
            state,
            adjusted.accuracy,
            variance,
            min(used, total),
            score=self._score.name,
            details=details,
        )


def rows_to_keep(classes: int) -> int:
    """Target rows to keep for methods that iterate over them: 20,000 for few classes, 1,000 for a thousand."""
    return min(sample_limit(classes), max(_MOST_VALUES // classes, 500))


def check_width(probabilities: Array, classes: int) -> None:
    """`NotApplicable` where the target has another number of classes than the reference."""
    if probabilities.shape[1] != classes:
        both = f"the target has {probabilities.shape[1]} classes, the reference {classes}"
        raise NotApplicable(f"{both}; give both the same class names")


def fit_notes(fit: LabelShiftFit, label_counts: LabelCounts) -> Strings:
    """What a user should know: of the reference, and that no class prior explains the target where that is so."""
    if label_counts.is_thin or not fit.is_misfit:
        return label_counts.notes
    misfit = (
        f"the best one fits {fit.ratio:.1f} times what label shift leaves (p = {fit.p_value:.2g})"
    )
    return *label_counts.notes, f"no class prior explains the target: {misfit}; do not rely on this"


@register("estimator")
class LabelShift(LabelCountEstimator):
    """accuracy = sum_y q_y P_S(correct | y), q the class prior that best explains the target's cells.

    A cell is a predicted class and a quantile bin of its confidence (of `members`' agreement where there is no
    confidence; the predicted class alone where there is neither). q maximises the likelihood of the target's cell
    counts under sum_y q_y P_S(cell | y): no probability is taken at its word, the reference calibrates them. Details
    hold q and the test of the fit: the statistic G, its ratio to the median of a bootstrap under label shift, and
    the p-value; a warning says when no prior explains the target.

    Variance: bootstrap redrawing both samples (their cell counts), its bias squared, plus v(1-v)/n_T. `NotApplicable`
    without true classes. Source: Saerens et al. (2002) and Alexandari et al. (2020) for maximum likelihood; Lipton et
    al. (2018) for the setting.

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)  # 0.15 of class 0: 0.9 q + 0.4 (1 - q) = 0.475
    >>> estimate = LabelShift().fit(reference).estimate(target)
    >>> bool(abs(estimate.value - (0.15 * 0.9 + 0.85 * 0.6)) < 0.02)
    True
    """

    name = "label-shift"
    traits = Traits("label shift", 170, cost="slow", stable="P(x | y)")
    _labelled: LabelledRows
    assumes = "P(x | y) is unchanged: only the shares of the classes moved (label shift)"
    citation = "saerens2002"

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of a sample of reference rows."""
        return self._with(_labelled=labelled_rows(own.known(), self.seed))

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows, each class with its new share."""
        label_counts, rows = self._label_counts, self._labelled
        inverse = np.divide(1.0, rows.shares, out=np.zeros(rows.classes), where=rows.shares > 0)
        fit = label_shift_test(label_counts, state["counts"], seed=self.seed, draws=draws)
        factors = np.vstack([fit.prior, fit.priors])
        expectation = reweighted(
            rows, inverse[rows.label], state["rows"], draws, [self.seed, 0x1AB], factors
        )
        details = {"prior": fit.prior, "reference_prior": label_counts.prior, "fit": fit.to_dict()}
        details["refuted"] = fit.is_misfit and not label_counts.is_thin
        details["tilt"] = tilt_test(label_counts, state["counts"])
        return expectation._replace(warnings=fit_notes(fit, label_counts), details=details)

    def finish(self, state: Sums) -> Estimate:
        """Fit the prior, answer its mean recall."""
        label_counts = self._label_counts
        fit = label_shift_test(label_counts, state["counts"], seed=self.seed)
        return self._from_variance(
            state,
            fit.accuracy,
            fit.variance,
            label_counts.total,
            score=None if label_counts.score is None else label_counts.score.name,
            details={
                "prior": fit.prior,
                "reference_prior": label_counts.prior,
                "recall": fit.recall,
                "fit": fit.to_dict(),
                "cells": len(label_counts) - 1,
                "tilt": tilt_test(label_counts, state["counts"]),
            },
            warnings=fit_notes(fit, label_counts),
        )


PRIORS = ("mle", "bbse", "sld", "source")


class PriorEstimator(LabelCountEstimator):
    """What estimators share that start from a class prior, estimated in one of the ways of `choose_prior`."""

    samples: ClassVar[bool] = False  # whether it reads target probabilities whatever the prior

    def __init__(self, *, prior: str = "mle", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if prior not in PRIORS:
            raise UsageError(f"unknown prior {prior!r}; choose one of {', '.join(PRIORS)}")
        self._choice = prior

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each cell, and for some methods and for the prior by SLD a bounded sample of probabilities."""
        state = super().summarize(batch)
        if self.samples or self._choice == "sld":
            fields, limit = ["probabilities", "predicted"], rows_to_keep(self._label_counts.classes)
            state["sample"] = RowSample.of(batch, fields, limit, self.seed)
        return state

    def _prior(self, state: Sums) -> tuple[PriorFit, Json]:
        """The fitted prior, and details of it."""
        fit = choose_prior(self._choice, self._label_counts, state, seed=self.seed)
        return fit, {
            "prior": fit.prior,
            "prior_by": self._choice,
            "reference_prior": self._label_counts.prior,
            **fit.details,
        }


def choose_prior(choice: str, label_counts: LabelCounts, state: Sums, *, seed: int = 0) -> PriorFit:
    """The target's class prior: by ``mle`` on cell counts, ``bbse``, ``sld``, or the reference's own (``source``)."""
    if choice == "mle":
        fit = label_shift_test(label_counts, state["counts"], seed=seed)
        return replace(fit, details={"fit": fit.to_dict()}, notes=fit_notes(fit, label_counts))
    rng = np.random.default_rng([seed, 53])
    redrawn, recalls = redraw_reference(label_counts, _DRAWS, rng)
    recall = recall_of(label_counts)
    if choice == "source":
        shares = np.stack(
            [np.bincount(label_counts.pair_label, row, label_counts.classes) for row in redrawn]
        )
        priors = shares / shares.sum(axis=1, keepdims=True)
        return PriorFit(label_counts.prior, recall, priors, recalls, {}, label_counts.notes)
    if choice == "sld":
        sample = state["sample"]
        check_width(sample["probabilities"], label_counts.classes)
        adjusted = adjusted_prior(
            sample["probabilities"], sample["predicted"], label_counts.rows_by_label, seed=seed
        )
        again = recalls[np.arange(len(adjusted.priors)) % len(recalls)]
        return PriorFit(adjusted.prior, recall, adjusted.priors, again, {}, label_counts.notes)
    counts = label_counts.by_prediction(state["counts"])
    total = max(int(counts.sum()), 1)
    target_shares = rng.multinomial(total, counts / total, size=_DRAWS) / total
    pair_code = (
        label_counts.owner[label_counts.pair_cell] * label_counts.classes + label_counts.pair_label
    )
    size = label_counts.classes**2

    def prior_of(pair_rows: Array, predicted: Array) -> tuple[Array, float]:
        joint = (
            np.bincount(pair_code, pair_rows, size).reshape(
                label_counts.classes, label_counts.classes
            )
            / pair_rows.sum()
        )
        solved = invert_confusion(joint, np.diag(joint), predicted)
        return solved.weights * joint.sum(axis=0), solved.condition

    prior, condition = prior_of(label_counts.pair_rows, counts / total)
    priors = np.repeat(prior[None], _DRAWS, axis=0)
    usable = np.ones(_DRAWS, dtype=bool)
    for draw in range(_DRAWS):
        try:
            priors[draw] = prior_of(redrawn[draw], target_shares[draw])[0]
        except (
            NotApplicable
        ):  # this draw's matrix cannot be inverted, though the reference's own can
            usable[draw] = False
    if usable.sum() < _DRAWS / 2:
        raise NotApplicable(
            "the reference's confusion matrix can barely be inverted: most redrawn ones cannot"
        )
    return PriorFit(
        prior, recall, priors[usable], recalls[usable], {"condition": condition}, label_counts.notes
    )


_SWEEPS = 1_000
_NO_SHARE = 1e-12  # EM leaves such shares to classes that are not there


def scaled_table(rows: Array, prior: Array, *, pseudo_rows: float = 0.0) -> Array:
    """S-LEAP's table P_S(h = j | y) q_y (predicted, class), ``pseudo_rows`` added to each class (Volpi et al. 2025)."""
    accuracy = np.trace(rows) / rows.sum()
    share = (rows.sum(axis=1) + 0.5) / (rows.sum() + 0.5 * len(rows))
    full = rows + pseudo_rows * (accuracy * np.eye(len(rows)) + (1 - accuracy) * share[:, None])
    total = full.sum(axis=0)
    return np.asarray(full * np.divide(prior, total, out=np.zeros(len(prior)), where=total > 0))


def balance(table: Array, predicted: Array, prior: Array) -> tuple[Array, float]:
    """The nearest table (Kullback-Leibler) with these row and column sums, by iterative fitting; its largest error."""
    fitted, miss = table * (prior > _NO_SHARE), 0.0
    for _ in range(_SWEEPS):
        fitted = fitted * _ratio(predicted, fitted.sum(axis=1))[:, None]
        fitted = fitted * _ratio(prior, fitted.sum(axis=0))
        miss = float(np.abs(fitted.sum(axis=1) - predicted).max())
        if miss < 1e-9:
            break
    return fitted, miss


def _ratio(target: Array, present: Array) -> Array:
    return np.divide(target, present, out=np.zeros(len(target)), where=present > _NO_SHARE)


class ContingencyEstimator(PriorEstimator):
    """What S-LEAP and LEAP share: the prior, and the checks; a subclass says what it makes of them."""

    assumes = "P(h | y) is unchanged: only the shares of the classes moved (label shift)"
    citation: ClassVar[str] = "volpi2025"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method and its prior need, or None."""
        if self._choice == "sld" and not record.has("probabilities"):
            return "needs `probabilities` for the prior by SLD"
        return super().why_not(record)

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        cells = self._label_counts
        self._rows: Array = cells.by_prediction(cells.rows_by_cell_and_label.T).T
        if int(np.trace(self._rows)) != int(cells.hits.sum()):
            raise NotApplicable(
                "`correct` is not `label` == prediction here, so that a contingency table says nothing"
            )

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, answer the accuracy of the table, with the variance of the prior and the recalls."""
        cells = self._label_counts
        fit, details = self._prior(state)
        table, more, doubt = self._table(state, fit.prior)
        details |= more
        if cells.classes <= 100:
            details["contingency"] = table
        value, variance = float(np.trace(table)), fit.variance + doubt**2
        return self._from_variance(
            state, value, variance, cells.total, details=details, warnings=fit.notes
        )

    @abstractmethod
    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        """The target's table (predicted, true class), more details, and a doubt to be squared."""


@register("estimator")
class SLEAP(ContingencyEstimator):
    """``s-leap``: the table C[j, y] = P_S(h = j | y) q_y; accuracy = sum_y C[y, y] = sum_y q_y P_S(h = y | y).

    prior : how q is estimated: ``"mle"`` (that of `label-shift`, whose answer this then is), ``"sld"``, ``"bbse"``, or
        ``"source"`` (no shift, for comparison).

    Details hold the table (predicted, true class). Variance: bootstrap of the prior and of P_S(h | y), plus v(1-v)/n_T.
    `NotApplicable` without true classes. Source: Volpi et al. (2025).

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)
    >>> estimate = SLEAP(prior="bbse").fit(reference).estimate(target)
    >>> np.round(estimate.details["contingency"], 3).tolist()
    [[0.135, 0.34], [0.015, 0.51]]
    """

    name = "s-leap"
    traits = Traits("label shift", 210, cost="slow", stable="P(x | y)", runs_as=())

    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        return scaled_table(self._rows, prior), {}, 0.0


@register("estimator")
class LEAP(ContingencyEstimator):
    """``leap``: sum_y C[y, y] of the table with both margins of the target that is nearest to S-LEAP's.

    The margins are sum_y C[j, y] = P_T(h = j) and sum_j C[j, y] = q_y; with the equations C[j, y] = P_S(h = j | y) q_y
    they are more than the unknowns. The paper solves as many of them as there are unknowns, and what does not fit falls
    on one class; here both margins hold and the table is the nearest in Kullback-Leibler divergence (to S-LEAP's
    smoothed by one pseudo-row a class): no class is special, no entry negative, and odds ratios are kept.

    prior : as in `SLEAP`.

    Variance: that of S-LEAP, plus the squared distance to it. `NotApplicable` without true classes. Source: Volpi et
    al. (2025); Deming and Stephan (1940) for the fit to the margins.

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)
    >>> estimate = LEAP().fit(reference).estimate(target)
    >>> np.round(estimate.details["contingency"].sum(axis=1), 3).tolist(), round(estimate.value, 2)
    ([0.475, 0.525], 0.65)
    """

    name = "leap"
    traits = Traits("label shift", 200, cost="slow", stable="P(x | y)")

    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        predicted = self._label_counts.by_prediction(state["counts"])
        if not predicted.any():
            raise NotApplicable("the target has no predicted class that the reference knows")
        simple = scaled_table(self._rows, prior)
        smooth = scaled_table(self._rows, prior, pseudo_rows=1.0)
        table, miss = balance(smooth, predicted / predicted.sum(), prior)
        doubt = float(np.trace(table) - np.trace(simple))
        return table, {"margin_error": miss, "correction": doubt}, doubt
