"""Prior choice: the ways to estimate the target's class prior that other estimators may start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from .base import Sums
from .bbse import invert_confusion
from .label_counts import LabelCounts
from .label_shift import fit_notes
from .sld import adjusted_prior, check_width
from .target_prior import label_shift_test, recall_of, redraw_reference

PriorChoice = Literal["mle", "bbse", "sld", "source"]
_DRAWS = 40


@dataclass(frozen=True, eq=False)
class PriorFit:
    """A target prior, shape (class,), and its bootstrap draws.

    ``recall``, shape (class,), is P_S(correct | class); ``priors`` and ``recalls``, shape (draw, class), are the draws;
    ``details`` and ``notes`` say how well the prior explains the target.
    """

    prior: Array
    recall: Array
    priors: Array
    recalls: Array
    details: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def accuracy(self) -> float:
        """sum_y q_y P_S(correct | y)."""
        return float(self.prior @ self.recall)

    @property
    def variance(self) -> float:
        """Variance of `accuracy` over the draws, with the square of their bias."""
        draws = np.sum(self.priors * self.recalls, axis=1)
        return float(draws.var(ddof=1) + (draws.mean() - self.accuracy) ** 2)


def check_choice(choice: str) -> PriorChoice:
    """The name of a way to estimate the prior; `UsageError` lists them.

    >>> check_choice("mle")
    'mle'
    """
    for known in get_args(PriorChoice):
        if choice == known:
            made: PriorChoice = known
            return made
    raise UsageError(f"unknown prior {choice!r}; choose one of {', '.join(get_args(PriorChoice))}")


def choose_prior(choice: PriorChoice, label_counts: LabelCounts, state: Sums, *, seed: int = 0) -> PriorFit:
    """Estimate the target's class prior.

    ``mle``: maximum likelihood on cell counts (`label_shift_test`); ``bbse``: inverse of the confusion matrix; ``sld``:
    EM on the posteriors of ``state["sample"]``; ``source``: the reference's own prior, wrong under label shift.

    >>> from oodometer import Predictions
    >>> from oodometer.estimators.label_counts import count_labels
    >>> label_counts = count_labels(Predictions.from_classes([0, 0, 1, 1], label=[0, 0, 1, 1]))
    >>> choose_prior("source", label_counts, Sums(counts=np.array([9, 1, 0]))).prior.tolist()
    [0.5, 0.5]
    """
    if choice == "mle":
        fit = label_shift_test(label_counts, state["counts"], seed=seed)
        return PriorFit(
            fit.prior, fit.recall, fit.priors, fit.recalls, {"fit": fit.to_dict()}, fit_notes(fit, label_counts)
        )
    rng = np.random.default_rng([seed, 53])
    redrawn, recalls = redraw_reference(label_counts, _DRAWS, rng)
    recall = recall_of(label_counts)
    if choice == "source":
        shares = np.stack([np.bincount(label_counts.pair_label, row, label_counts.classes) for row in redrawn])
        priors = shares / shares.sum(axis=1, keepdims=True)
        return PriorFit(label_counts.prior, recall, priors, recalls, {}, label_counts.notes)
    if choice == "sld":
        sample = state["sample"]
        check_width(sample["probabilities"], label_counts.classes)
        found = adjusted_prior(sample["probabilities"], sample["predicted"], label_counts.rows_by_label, seed=seed)
        return PriorFit(found.prior, recall, found.priors, _same_length(recalls, found.priors), {}, label_counts.notes)
    counts = label_counts.by_prediction(state["counts"])
    total = max(int(counts.sum()), 1)
    drawn = rng.multinomial(total, counts / total, size=_DRAWS) / total
    own = label_counts.owner[label_counts.pair_cell] * label_counts.classes + label_counts.pair_label
    size = label_counts.classes**2

    def prior_of(pair_rows: Array, predicted: Array) -> tuple[Array, float]:
        joint = np.bincount(own, pair_rows, size).reshape(label_counts.classes, label_counts.classes) / pair_rows.sum()
        solved = invert_confusion(joint, np.diag(joint), predicted)
        return solved.weights * joint.sum(axis=0), solved.condition

    prior, condition = prior_of(label_counts.pair_rows, counts / total)
    priors = np.repeat(prior[None], _DRAWS, axis=0)
    kept = np.ones(_DRAWS, dtype=bool)
    for draw in range(_DRAWS):
        try:
            priors[draw] = prior_of(redrawn[draw], drawn[draw])[0]
        except NotApplicable:  # this draw's matrix cannot be inverted, though the reference's own can
            kept[draw] = False
    if kept.sum() < _DRAWS / 2:
        raise NotApplicable("the reference's confusion matrix can barely be inverted: most redrawn ones cannot")
    return PriorFit(prior, recall, priors[kept], recalls[kept], {"condition": condition}, label_counts.notes)


def _same_length(recalls: Array, priors: Array) -> Array:
    out: Array = recalls[np.arange(len(priors)) % len(recalls)]
    return out
