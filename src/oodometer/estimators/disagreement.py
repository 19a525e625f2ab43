"""Generalization disagreement (GDE): how often independently trained models agree on the target."""

from __future__ import annotations

import math
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import ModelAgreement
from .base import Estimator, Sums, Traits, mean_and_variance
from .expected_classes import MOST_CLASSES, Expectation, expected_of_pairs


def agreement_pairs(record: Predictions, score: ModelAgreement) -> Array:
    """How often another model says j where the judged one says k, mean over the others; shape (class, class).

    >>> p = Predictions.from_arrays(prediction=[0, 1], members=[[0, 1], [0, 0]])
    >>> agreement_pairs(p, ModelAgreement()).tolist()
    [[1.0, 0.5], [0.0, 0.5]]
    """
    others, classes = score.others(record), record.num_classes
    code = others.astype(np.int64) * classes + record.predicted
    known = (others >= 0) & (record.predicted >= 0)
    pairs = np.bincount(code[known], minlength=classes * classes).reshape(classes, classes)
    return pairs / len(others)


class _Agreement(Estimator):
    """What both share that read the agreement of the judged model with the others."""

    needs = ("members",)
    citation = "jiang2022"

    _score = ModelAgreement()

    def _fit(self, reference: Predictions) -> None:
        self._score = ModelAgreement().fit(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and summed agreement."""
        return Sums(rows=len(batch), total=float(self._score(batch).sum()))


@final
@register("estimator")
class GeneralizationDisagreement(_Agreement):
    """``gde``: mean over the other models i of P_T[h_0 = h_i], read as the accuracy of h_0.

    Needs `members` trained independently on the same data; `NotApplicable` without. The binomial variance v(1-v)/n_T is
    that of one pair, wider than that of a mean over pairs. Bias that the models share breaks it, upwards.
    Source: Jiang et al. (2022).

    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0], members=[[0, 1, 0, 0], [0, 1, 1, 1]], label=[0, 1, 0, 0])
    >>> GeneralizationDisagreement().fit(p).estimate(p).value
    0.75
    """

    name = "gde"
    traits = Traits("disagreement", 110, reads="models", voice=2, favour=0.1)
    assumes = "the ensemble is calibrated as a class aggregate on the target"

    def finish(self, state: Sums) -> Estimate:
        """Mean agreement."""
        return self._from_variance(state, state["total"] / state["rows"], 0.0, math.inf, score="model_agreement")


@final
@register("estimator")
class DisagreementDifference(_Agreement):
    """``gde-difference``: acc_S + agr_T - agr_S, so that what the models share on the reference cancels.

    agr = mean over the other models of [h_0 = h_i]. Variance: Var_S(correct - agr)/n_S +
    max(a(1-a), Var_S(correct - agr))/n_T, a = agr_T: wide enough for the population and for these very rows. Needs
    `members` and labels on the reference; `NotApplicable` without. Source: Jiang et al. (2022), with the
    correction of DoC.

    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0], members=[[0, 1, 0, 0], [0, 1, 1, 1]], label=[0, 1, 0, 1])
    >>> DisagreementDifference().fit(p).estimate(p).value
    0.5
    """

    name = "gde-difference"
    traits = Traits("disagreement", 130, reads="models", voice=1, favour=0.5)
    assumes = "accuracy falls by as much as the agreement between models"
    _gap_pairs: Array | None = None

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        self._gap, self._gap_variance = mean_and_variance(reference.verdicts - self._score(reference))
        self._rows = len(reference)

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that counts pairs of predictions, too; other models stand for the truth, less the reference's gap."""
        record = own.known()
        if record.label is None or not record.has_classes or record.num_classes > MOST_CLASSES:
            raise NotApplicable(f"needs the true class (`label`) of reference rows, of at most {MOST_CLASSES} classes")
        code = record.label.astype(np.int64) * record.num_classes + record.predicted
        size = record.num_classes**2
        true = np.bincount(code[record.label >= 0], minlength=size).reshape(record.num_classes, -1)
        return self._with(_gap_pairs=true / true.sum() - agreement_pairs(record, self._score) / len(record))

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """Pairs of predictions of the target plus the reference's gap between truth and them."""
        assert self._gap_pairs is not None
        pairs = np.maximum(state["pairs"] + self._gap_pairs * state["rows"], 0.0)
        rng = np.random.default_rng([self.seed, 0x6DE])
        drawn = rng.poisson(state["pairs"], (draws, *pairs.shape)) + self._gap_pairs * state["rows"]
        gap = rng.normal(0, (np.abs(self._gap_pairs) / self._rows) ** 0.5, drawn.shape) * state["rows"]
        return Expectation(expected_of_pairs(pairs), expected_of_pairs(np.maximum(drawn + gap, 0.0)))

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, summed agreement and, where they are asked for, pairs of predictions."""
        state = super().summarize(batch)
        if self._gap_pairs is not None:
            state["pairs"] = agreement_pairs(batch, self._score)
        return state

    def finish(self, state: Sums) -> Estimate:
        """Agreement of the target plus the reference's gap."""
        mean = state["total"] / state["rows"]
        own = max(mean * (1 - mean), self._gap_variance * self._rows)  # the population, or these very rows
        more: dict[str, Any] = {"score": "model_agreement", "details": {"reference_gap": self._gap}}
        return self._from_variance(state, mean + self._gap, self._gap_variance, self._rows, own=own, **more)


@final
@register("estimator")
class SoftDisagreement(Estimator):
    """``gde-soft``: E_T sum_k pbar_k^2, pbar = mean over models of their class probabilities.

    The chance that two draws from the ensemble's own distribution agree. Needs `member_probabilities` (probabilities of
    every model; logits are never mixed in); `NotApplicable` without. Source: Kirsch and Gal (2022).

    >>> q = [[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]]
    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], member_probabilities=q)
    >>> SoftDisagreement().fit(p).estimate(p).value
    0.75
    """

    name = "gde-soft"
    traits = Traits("disagreement", 120, cost="slow", reads="models", needs_labels=False)
    needs = ("member_probabilities",)
    assumes = "the mean distribution of the ensemble is calibrated on the target"
    citation = "kirsch2022"

    def _fit(self, reference: Predictions) -> None:
        """Nothing is learnt from the reference."""

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and summed squares of the mean probabilities."""
        assert batch.member_probabilities is not None
        mean = batch.member_probabilities.mean(axis=0)
        return Sums(rows=len(batch), total=float(np.square(mean).sum(dtype=np.float64)))

    def finish(self, state: Sums) -> Estimate:
        """Mean chance of agreement."""
        return self._from_variance(state, state["total"] / state["rows"], 0.0, math.inf)
