"""Inequalities: what predictions of several models on the same unlabelled rows prove about accuracy, assuming nothing.

Where two models disagree at least one is wrong; where exactly one is right they disagree. Hence, whatever the labels,

    err_i + err_j >= dis_ij,    |err_i - err_j| <= dis_ij,    mean_i acc_i <= mean over rows of (plurality votes) / M.

On the counted rows these hold with certainty; for the population they were drawn from, at the stated level.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..intervals import check_level, clopper_pearson
from ..predictions import Predictions
from ..results import Kind
from ..results.values import Record
from .base import Sums
from .disagreement import agreement_counts


@dataclass(frozen=True, slots=True)
class Bound(Record):
    """An interval that is proved: ``lower <= accuracy <= upper``, at ``level`` for the population; ``sample_lower`` and
    ``sample_upper`` are certain for the counted rows; ``of``: what it bounds, ``proof``: the inequality that was used.
    """

    of: str
    lower: float
    upper: float
    sample_lower: float
    sample_upper: float
    level: float
    proof: str
    kind: Kind = "exact"


@dataclass(frozen=True, slots=True)
class PairBound(Record):
    """Two models: err_i + err_j >= ``errors_at_least``, |err_i - err_j| <= ``gap_at_most``, of an exact interval."""

    i: int
    j: int
    disagreement: float
    errors_at_least: float
    gap_at_most: float
    level: float
    kind: Kind = "exact"


@dataclass(frozen=True, slots=True)
class MemberBounds(Record):
    """The mean accuracy, the judged model's (given another's) and every pair; model 0 is the judged one."""

    mean_accuracy: Bound
    judged: Bound | None
    pairs: tuple[PairBound, ...]


def plurality_votes(codes: Array) -> Array:
    """Votes of the most voted class on each row; codes have axes (model, sample); int64, shape (sample,)."""
    ordered = np.sort(codes, axis=0)
    run = np.ones(codes.shape[1], dtype=np.int64)
    best = run.copy()
    for below, above in itertools.pairwise(ordered):
        run = np.where(below == above, run + 1, 1)
        np.maximum(best, run, out=best)
    return best


def count_members(batch: Predictions) -> Sums:
    """The state of a batch: rows, summed plurality votes and squares, counts of pairwise agreement; the judged model
    first where there is one. States add up. `NotApplicable` without `members` or with fewer than two models.
    """
    if batch.members is None:
        raise NotApplicable("needs `members`")
    alone = batch.prediction is None and batch.probabilities is None
    codes = batch.members if alone else np.concatenate([batch.predicted[None], batch.members])
    if len(codes) < 2:
        raise NotApplicable("needs at least two models")
    votes = plurality_votes(codes)
    return Sums(
        rows=len(batch),
        agreement=agreement_counts(codes),
        votes=int(votes.sum()),
        squares=int(np.square(votes).sum()),
    )


def mean_accuracy_bound(state: Sums, level: float = 0.95) -> Bound:
    """Upper bound of the models' mean accuracy: mean_i acc_i <= E[plurality votes]/M, whatever the labels are. The
    population's end is the one-sided empirical Bernstein bound of Maurer and Pontil (2009) for a mean of n values in
    [0, 1]: mean + sqrt(2 V ln(2/d)/n) + 7 ln(2/d)/(3 (n-1)), V their variance with n - 1, d = 1 - level. It holds for
    every n; with one row it is 1.
    """
    check_level(level)
    rows, models = _size(state)
    mean = state["votes"] / rows / models
    upper = 1.0
    if rows > 1:
        variance = max(state["squares"] - state["votes"] ** 2 / rows, 0.0) / (rows - 1) / models**2
        log_term = math.log(2 / (1 - level))
        upper = min(
            mean + math.sqrt(2 * variance * log_term / rows) + 7 * log_term / (3 * (rows - 1)), 1.0
        )
    proof = "plurality votes; one-sided empirical Bernstein bound"
    return Bound("mean accuracy of the models", 0.0, upper, 0.0, mean, level, proof)


def accuracy_from_other(
    state: Sums,
    other: int,
    lower: float,
    upper: float = 1.0,
    *,
    model: int = 0,
    level: float = 0.95,
) -> Bound:
    """Bounds of one model's accuracy from bounds of another's on the same data, and nothing else. lower - dis <= acc <=
    min(upper + dis, 2 - lower - dis), by |err_i - err_j| <= dis and err_i + err_j >= dis. For the population the ends
    of the exact interval of ``dis`` stand for it. If ``lower`` and ``upper`` themselves hold only at a level, the two
    chances of being wrong add up. `UsageError` for impossible arguments.
    """
    check_level(level)
    rows, models = _size(state)
    if not (0 <= other < models and 0 <= model < models and other != model):
        raise UsageError(
            f"expected two different models among 0 to {models - 1}, got {model} and {other}"
        )
    if not 0 <= lower <= upper <= 1:
        raise UsageError(f"expected 0 <= lower <= upper <= 1, got {lower} and {upper}")
    disagreements = rows - int(state["agreement"][model, other])
    low, high = clopper_pearson(disagreements, rows, level)
    share = disagreements / rows
    ends = max(lower - high, 0.0), min(upper + high, 2 - lower - low, 1.0)
    sample_ends = (
        max(lower - share, 0.0),
        min(upper + share, 2 - lower - share, 1.0),
    )  # of the counted rows themselves
    proof = f"disagreement with model {other}, whose accuracy is given; Clopper-Pearson interval"
    return Bound(f"accuracy of model {model}", *ends, *sample_ends, level, proof)


def pair_bounds(state: Sums, level: float = 0.95) -> tuple[PairBound, ...]:
    """Every pair i < j: err_i + err_j at least, and |err_i - err_j| at most; Clopper-Pearson, each pair for itself."""
    check_level(level)
    rows, models = _size(state)
    pairs = itertools.combinations(range(models), 2)
    disagreements = {(i, j): rows - int(state["agreement"][i, j]) for i, j in pairs}
    return tuple(
        PairBound(i, j, n / rows, *clopper_pearson(n, rows, level), level)
        for (i, j), n in disagreements.items()
    )


def bounds_from_members(
    state: Sums, *, level: float = 0.95, other: int | None = None, other_lower: float = 0.0
) -> MemberBounds:
    """Mean accuracy, the judged model's if ``other`` has ``other_lower``, all pairs; each at ``level`` for itself."""
    judged = None if other is None else accuracy_from_other(state, other, other_lower, level=level)
    return MemberBounds(mean_accuracy_bound(state, level), judged, pair_bounds(state, level))


def _size(state: Sums) -> tuple[int, int]:
    """Rows and models; `NotApplicable` without rows."""
    if not state["rows"]:
        raise NotApplicable("needs at least one row")
    return int(state["rows"]), len(state["agreement"])
