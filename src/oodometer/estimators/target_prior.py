"""Target prior: samples in cells of predicted class and confidence, and the class shares that explain them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from statistics import NormalDist, median
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import bins_for
from ..errors import NotApplicable
from ..plain import Plain, Strings
from ..predictions import Predictions
from ..scores import ModelAgreement, Score, natural_confidence
from .base import Estimator, Pieces, Sums
from .mean_confidence import confidence_bins, counts_by_class_and_bin

_MOST_BINS, _ROWS_PER_CELL, _FEW_ROWS = 10, 25, 30
_FEW_ROWS_A_CLASS = 20
_DENSE_CELLS, _DENSE_SIZE = (
    4,
    1 << 16,
)  # cells a row, and beside them, up to which a count over all is quickest


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """A division of samples into cells, learnt on a labelled reference, with the reference's own counts.

    score : the confidence that is binned; None where a predicted class is one cell. classes : length of the class axis.
    table : cell of each (predicted class, fine bin), (class * bin,), and at its end that of unknown predictions.
    owner : predicted class of each cell, shape (cell,); -1 for that last cell.
    pair_cell, pair_label, pair_rows, pair_hits : filled pairs of (cell, true class), rows and correct rows, (pair,).
    """

    score: Score | None
    classes: int
    table: Array
    owner: Array
    pair_cell: Array
    pair_label: Array
    pair_rows: Array
    pair_hits: Array

    def __len__(self) -> int:
        return len(self.owner)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record cannot be counted, or None."""
        return None if self.score is None else self.score.why_not(record)

    def count(self, record: Predictions) -> Array:
        """Samples of a record in each cell, int, shape (cell,); counts of batches add up."""
        predicted = record.predicted
        in_range = not len(predicted) or bool(
            predicted.min() >= 0 and predicted.max() < self.classes
        )
        if self.score is not None and len(self.table) <= record.rows and in_range:
            fine = counts_by_class_and_bin(record, self.score, self.classes).reshape(-1)
            name = f"label counts:{self.score.name}:{self.classes}:{self._digest}"
            table = self.table[:-1]
            # exact below 2^53
            return record.derived(
                name, lambda: np.bincount(table, fine, len(self)).astype(np.int64)
            )
        return np.bincount(self.cells(record), minlength=len(self))

    def cells(self, record: Predictions) -> Array:
        """The cell of each sample, shape (sample,)."""
        width = (len(self.table) - 1) // self.classes
        return self.table[_places(record, self.score, self.classes, width)]

    @cached_property
    def _digest(self) -> str:
        """What tells this division from another one."""
        return blake2b(self.table.tobytes(), digest_size=16).hexdigest()

    @cached_property
    def rows_by_cell_and_label(self) -> Array:
        """Reference rows, int, shape (cell, class)."""
        out = np.zeros((len(self), self.classes), dtype=np.int64)
        out[self.pair_cell, self.pair_label] = self.pair_rows
        return out

    @cached_property
    def rows(self) -> Array:
        """Reference rows in each cell, int, shape (cell,)."""
        return np.bincount(self.pair_cell, self.pair_rows, len(self)).astype(np.int64)

    @cached_property
    def rows_by_label(self) -> Array:
        """Reference rows of each true class, int, shape (class,)."""
        return np.bincount(self.pair_label, self.pair_rows, self.classes).astype(np.int64)

    @cached_property
    def hits(self) -> Array:
        """Correct reference rows in each cell, int, shape (cell,)."""
        return np.bincount(self.pair_cell, self.pair_hits, len(self)).astype(np.int64)

    @cached_property
    def hits_by_label(self) -> Array:
        """Correct reference rows of each true class, int, shape (class,)."""
        return np.bincount(self.pair_label, self.pair_hits, self.classes).astype(np.int64)

    @property
    def total(self) -> int:
        """Reference rows in all."""
        return int(self.pair_rows.sum())

    @property
    def is_thin(self) -> bool:
        """Whether there are so few reference rows a class that a test of the fitted prior says nothing."""
        return self.total < _FEW_ROWS_A_CLASS * int(np.count_nonzero(self.rows_by_label))

    @property
    def notes(self) -> Strings:
        """What a user should know of the reference before believing a class prior that was fitted with it."""
        notes = []
        absent = int(np.count_nonzero(self.rows_by_label == 0))
        if self.total < _FEW_ROWS:
            notes.append(f"the reference has only {self.total} rows")
        elif self.is_thin:
            each = f"{self.total / (self.classes - absent):.0f} rows a class"
            notes.append(f"the reference has about {each}; too few to tell classes apart well")
        if absent:
            notes.append(
                f"{absent} of {self.classes} classes have no reference row and are taken to be absent"
            )
        return tuple(notes)

    @property
    def prior(self) -> Array:
        """Share of each class in the reference, shape (class,)."""
        return self.rows_by_label / self.total

    def by_prediction(self, counts: Array) -> Array:
        """Counts (..., cell) summed over the cells of each predicted class, shape (..., class)."""
        owned = np.flatnonzero(self.owner >= 0)  # owners ascend, each has a cell
        starts = np.searchsorted(self.owner[owned], np.arange(self.classes))
        return np.add.reduceat(counts[..., owned], starts, axis=-1)


def count_labels(reference: Predictions, *, most_bins: int = _MOST_BINS) -> LabelCounts:
    """Divide by predicted class and, within it, by quantile of confidence, else of the agreement of `members`."""
    if reference.label is None or not reference.num_classes:
        raise NotApplicable(
            "needs the true class (`label`) of reference rows; `correct` alone is not enough"
        )
    if not reference.has_prediction:
        raise NotApplicable(
            "needs the predicted class of each row (`prediction` or `probabilities`)"
        )
    label = reference.label
    if not (label >= 0).all():
        reference, label = reference.take(label >= 0), label[label >= 0]
    if not reference.rows:
        raise NotApplicable("needs reference rows with a `label`")
    score: Score | None = None  # a single bin needs no confidence
    if most_bins > 1:
        try:
            score = natural_confidence(reference)
        except NotApplicable:
            agreement = ModelAgreement().fit(reference)
            score = None if agreement.why_not(reference) else agreement
    classes = reference.num_classes
    width = 1 if score is None else bins_for(classes)
    cell = _places(reference, score, classes, width)
    # `LabelCounts.table` and `LabelCounts.owner` from the places of the reference rows
    rows = np.bincount(cell, minlength=classes * width)[: classes * width].reshape(classes, width)
    total = rows.sum(axis=1, keepdims=True)
    bins = np.clip(
        np.minimum(total / _ROWS_PER_CELL, np.sqrt(total) / 2.5).astype(np.intp), 1, most_bins
    )
    middle = np.cumsum(rows, axis=1) - rows / 2
    raw = np.minimum((bins * middle / np.maximum(total, 1)).astype(np.intp), bins - 1)
    # a fine bin without reference rows goes with the last one below it that has some, the lowest with the first
    filled = rows > 0
    last = np.maximum.accumulate(np.where(filled, np.arange(width), -1), axis=1)
    last = np.where(last < 0, filled.argmax(axis=1)[:, None], last)
    code = np.take_along_axis(raw, last, axis=1) + np.arange(classes)[:, None] * most_bins
    used, table = np.unique(code, return_inverse=True)
    table, owner = np.append(table.ravel(), len(used)), np.append(used // most_bins, -1)
    pair = table[cell] * classes + label
    filled, rows, hits = _counted(pair, reference.verdicts == 1, len(owner) * classes)
    return LabelCounts(
        score, classes, table, owner, filled // classes, filled % classes, rows, hits
    )


def label_counts_of(reference: Predictions) -> LabelCounts:
    """`count_labels` with its usual bins, worked out once a record."""
    return reference.derived("label_counts", lambda: count_labels(reference))


def _counted(pair: Array, right: Array, size: int) -> tuple[Array, Array, Array]:
    """The numbers below ``size`` that occur, how often each does, and how often it is right; int64."""
    if (
        size > _DENSE_CELLS * len(pair) + _DENSE_SIZE
    ):  # far more cells than rows: sorting the rows takes less
        filled, which, rows = np.unique(pair, return_inverse=True, return_counts=True)
        return filled, rows, np.bincount(which, right, len(filled)).astype(np.int64)
    every = np.bincount(pair, minlength=size)
    filled = np.flatnonzero(every)
    return filled, every[filled], np.bincount(pair[right], minlength=size)[filled]


def _places(record: Predictions, score: Score | None, classes: int, width: int) -> Array:
    """Position of each sample in `LabelCounts.table`."""
    predicted = record.predicted.astype(np.intp)
    fine: Array | int = 0 if score is None else confidence_bins(record, score, width)
    is_known = (predicted >= 0) & (predicted < classes)
    return np.where(is_known, predicted * width + fine, classes * width)


class LabelCountEstimator(Estimator):
    """What estimators share that need of the target its counts in the reference's cells; subclasses finish."""

    needs: ClassVar[Strings] = ("class", "prediction|probabilities|members")

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method (once fitted, its cells too) needs, or None."""
        cells: LabelCounts | None = getattr(self, "_label_counts", None)
        return super().why_not(record) or (None if cells is None else cells.why_not(record))

    def _fit(self, reference: Predictions) -> None:
        self._label_counts: LabelCounts = label_counts_of(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each cell."""
        return Sums(rows=batch.rows, counts=self._label_counts.count(batch))


_PSEUDO_ROWS = 1.0  # what smoothing adds to each class
_DENSE = 4_000  # pairs of (cell, class) up to which a dense table is faster than a sparse one
_FEW_COLUMNS = 32
_FEWEST_COLUMNS = 4  # column by column is quickest
_POOLED_BELOW = 5  # reference rows: P(cell | class) is no more than smoothing below
_IN_CACHE = 16_000  # numbers, draws times cells, that stay in the cache as they are
_TINY, _LEVEL, _BAD_RATIO = 1e-300, 0.05, 2.0
_BAD_DEVIATION = 5.0  # standard deviations of the null distribution


class Conditionals:
    """P(cell | class) of draws of the reference, dense or sparse and block-diagonal, with its two products."""

    def __init__(
        self,
        table: Any,
        *,
        base: Array | None = None,
        lift: Array | None = None,
        scale: Array | None = None,
    ) -> None:
        self.table, self.base, self.lift, self.scale = table, base, lift, scale
        self._turned = table.T.tocsr() if hasattr(table, "tocsr") else None
        few = self._turned is None and table.ndim == 2 and table.shape[1] <= _FEWEST_COLUMNS
        self._columns: Array | None = np.ascontiguousarray(table.T) if few else None

    def by_draw(self) -> list[Conditionals]:
        """One for each draw where all share a large table, so that a draw's cells stay in the cache; else itself."""
        if self._columns is None or self.scale is None or self.base is not None:
            return [self]
        out = []
        for scale in self.scale if len(self.scale) * len(self.table) > _IN_CACHE else ():
            draw = copy(self)
            draw.scale = scale[None]
            out.append(draw)
        return out or [self]

    def mix(self, prior: Array) -> Array:
        """P(cell) under class priors of shape (draw, class); shape (draw, cell)."""
        scaled = prior if self.scale is None else prior * self.scale
        out: Array
        if self._turned is not None:
            out = (self.table @ scaled.ravel()).reshape(len(prior), -1)
        elif self._columns is not None:
            out = scaled[:, :1] * self._columns[0]
            for k in range(1, len(self._columns)):
                out += scaled[:, k : k + 1] * self._columns[k]
        elif self.table.ndim == 2:
            out = _product("dk,ck->dc", scaled, self.table)
        else:
            out = np.matmul(self.table, scaled[:, :, None])[:, :, 0]
        if self.base is not None and self.lift is not None:
            out = out + np.sum(prior * self.lift, axis=1, keepdims=True) * self.base
        return out

    def pull(self, ratio: Array) -> Array:
        """sum_cell ratio P(cell | class): (draw, cell) to (draw, class)."""
        out: Array
        if self._turned is not None:
            out = (self._turned @ ratio.ravel()).reshape(len(ratio), -1)
        elif self._columns is not None:
            out = np.einsum("dc,kc->dk", ratio, self._columns)
        elif self.table.ndim == 2:
            out = _product("dc,ck->dk", ratio, self.table)
        else:
            out = np.matmul(ratio[:, None, :], self.table)[:, 0, :]
        if self.scale is not None:
            out = out * self.scale
        if self.base is not None and self.lift is not None:
            out = out + self.lift * (ratio @ self.base)[:, None]
        return out


def _product(form: str, left: Array, right: Array) -> Array:
    """A matrix product; with few columns without BLAS, whose threads cost more than they bring there."""
    return np.asarray(np.einsum(form, left, right, optimize=right.shape[1] > _FEW_COLUMNS))


def conditionals(label_counts: LabelCounts, pair_rows: Array | None = None) -> Conditionals:
    """P_S(cell | class), smoothed by one pseudo-row a class; ``pair_rows`` (draw, pair): redrawn references."""
    rows = label_counts.pair_rows[None].astype(np.float64) if pair_rows is None else pair_rows
    draws, size, classes = len(rows), len(label_counts), label_counts.classes
    by_label = np.stack([np.bincount(label_counts.pair_label, r, classes) for r in rows])
    weight = 1 / (by_label + _PSEUDO_ROWS)
    base = (label_counts.rows + 0.5) / (label_counts.total + 0.5 * size)
    has_owner = label_counts.owner >= 0
    accuracy = min(label_counts.hits.sum() / label_counts.total, 1 - 0.5 / label_counts.total)
    within = base[has_owner] / label_counts.by_prediction(base)[label_counts.owner[has_owner]]
    own_cell, own_label = np.flatnonzero(has_owner), label_counts.owner[has_owner]
    lift = _PSEUDO_ROWS * (1 - accuracy) * weight
    if size * classes <= _DENSE:
        table = np.zeros((draws, size, classes))
        table[:, label_counts.pair_cell, label_counts.pair_label] = rows
        table[:, own_cell, own_label] += _PSEUDO_ROWS * accuracy * within
        table += _PSEUDO_ROWS * (1 - accuracy) * base[:, None]
        return Conditionals(table * weight[:, None, :])
    from scipy.sparse import csr_array

    cell = np.concatenate([label_counts.pair_cell, own_cell])
    label = np.concatenate([label_counts.pair_label, own_label])
    pseudo = np.broadcast_to(_PSEUDO_ROWS * accuracy * within, (draws, len(own_cell)))
    value = np.concatenate([rows, pseudo], axis=1) * weight[:, label]
    at = np.arange(draws)[:, None]
    places = (cell + at * size).ravel(), (label + at * classes).ravel()
    blocks = csr_array((value.ravel(), places), shape=(draws * size, draws * classes))
    return Conditionals(blocks, base=base, lift=lift)


def fit_prior(
    likelihood: Conditionals,
    counts: Array,
    start: Array,
    *,
    tolerance: float = 1e-9,
    most_cycles: int = 500,
) -> Array:
    """Maximum-likelihood class prior (draw, class) of counts (draw, cell): EM, extrapolated by SQUAREM."""
    share = counts / counts.sum(axis=1, keepdims=True)
    parts = likelihood.by_draw()
    shares = [share] if len(parts) == 1 else [row[None] for row in share]

    def step(prior: Array, judge: bool = True) -> tuple[Array, Array]:
        """The next prior of each draw, (draw, class); to be judged, the mean log-likelihood of this one, (draw,)."""
        priors = [prior] if len(parts) == 1 else [row[None] for row in prior]
        updated, fits = [], [np.empty(0)]
        for part, draw_share, before in zip(parts, shares, priors, strict=True):
            mixed = part.mix(before)
            np.maximum(mixed, _TINY, out=mixed)
            new = before * part.pull(draw_share / mixed)
            updated.append(new / new.sum(axis=1, keepdims=True))
            if judge:
                fits.append(np.einsum("dc,dc->d", draw_share, np.log(mixed, out=mixed)))
        return np.concatenate(updated), np.concatenate(fits)

    prior: Array = start / start.sum(axis=1, keepdims=True)
    for _ in range(most_cycles):
        one, _ = step(prior, judge=False)
        two, fit_one = step(one)
        first, second = one - prior, two - 2 * one + prior
        if np.abs(two - one).sum(axis=1).max() < tolerance:
            return two
        norm = np.linalg.norm(second, axis=1)
        stride = np.maximum(np.linalg.norm(first, axis=1) / np.maximum(norm, _TINY), 1.0)[:, None]
        far = prior + 2 * stride * first + np.minimum(stride, 1e8) ** 2 * second
        far = np.maximum(
            far, 0.01 * two
        )  # stays inside, and may come near 0 by a factor of 100 a cycle
        three, fit_far = step(far / far.sum(axis=1, keepdims=True))
        prior = np.where((np.isfinite(fit_far) & (fit_far >= fit_one))[:, None], three, two)
    return prior


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """A likelihood-ratio statistic G beside its null distribution from a seeded parametric bootstrap."""

    statistic: float
    null: Array

    @property
    def null_median(self) -> float:
        """Median of the statistic where the hypothesis holds."""
        return float(median(self.null.tolist()))  # that of numpy would import masked arrays

    @property
    def ratio(self) -> float:
        """Statistic over its null median: near 1 where the hypothesis explains what is seen."""
        return self.statistic / max(self.null_median, 1e-9)

    @property
    def p_value(self) -> float:
        """(1 + number of null draws at least as large) / (1 + draws)."""
        return (1 + int(np.count_nonzero(self.null >= self.statistic))) / (1 + len(self.null))

    @property
    def is_misfit(self) -> bool:
        """Whether the hypothesis is refuted: p < 0.05, and twice the null median or five deviations above its mean."""
        beyond = (self.statistic - float(self.null.mean())) / max(float(self.null.std()), 1e-9)
        return (self.ratio > _BAD_RATIO or beyond > _BAD_DEVIATION) and self.p_value < _LEVEL

    @property
    def tail_p_value(self) -> float:
        """p-value of the gamma distribution with the null's moments, where draws are few (Wilson and Hilferty 1931)."""
        mean, variance = float(self.null.mean()), float(self.null.var(ddof=1))
        if mean <= 0 or variance <= 0:
            return float(self.statistic <= mean)
        shape = mean * mean / variance
        z = ((max(self.statistic, 0.0) / mean) ** (1 / 3) - 1 + 1 / (9 * shape)) * 3 * shape**0.5
        return NormalDist().cdf(-z)

    def to_dict(self) -> dict[str, float]:
        """Plain figures, for the details of an estimate."""
        return {
            name: getattr(self, name) for name in ("statistic", "null_median", "ratio", "p_value")
        }


@dataclass(frozen=True, eq=False)
class PriorFit:
    """A target prior (class,), P_S(correct | class), and both over bootstrap draws (draw, class)."""

    prior: Array
    recall: Array
    priors: Array
    recalls: Array
    details: Plain = field(default_factory=dict)  # how well the prior explains the target
    notes: Strings = ()  # the same, for a reader

    @property
    def accuracy(self) -> float:
        """sum_y q_y P_S(correct | y)."""
        return float(self.prior @ self.recall)

    @property
    def variance(self) -> float:
        """Variance of `accuracy` over the draws, with the square of their bias, which classes of few rows cause."""
        draws = np.sum(self.priors * self.recalls, axis=1)
        return float(draws.var(ddof=1) + (draws.mean() - self.accuracy) ** 2)


@dataclass(frozen=True, eq=False)
class LabelShiftFit(PriorFit, ShiftTest):
    """`label_shift_test`: the fitted prior and its draws beside the test."""


def g_statistic(counts: Array, expected: Array) -> Array:
    """2 sum n log(n / e) along the last axis; cells without samples count 0."""
    ratio = np.where(counts > 0, counts, 1.0) / np.where(
        counts > 0, np.maximum(expected, _TINY), 1.0
    )
    return np.asarray(np.maximum(2 * np.sum(counts * np.log(ratio), axis=-1), 0.0))


_STEEPEST, _HALVINGS = 20.0, 60  # of the tilt


def tilt_test(label_counts: LabelCounts, counts: Array) -> float | None:
    """p-value of the hypothesis that the inputs alone changed, in the simplest way: a cell has exp(a s) times as many
    rows, s the log-odds of the second class there. None where there are not two classes.

    a by maximum likelihood (the mean of s as on the target); Pearson's statistic with the error of both sides. Counts
    have shape (cell,).
    """
    from scipy.special import chdtrc

    rows, occupied = label_counts.rows.astype(np.float64), label_counts.rows > 0
    if label_counts.classes != 2 or occupied.sum() <= 2 or not counts[occupied].any():
        return None
    by_label = label_counts.rows_by_cell_and_label[occupied] + 0.5
    odds = np.log(by_label[:, 1] / by_label[:, 0])
    rows = rows[occupied]
    seen = counts[occupied].astype(np.float64)
    goal, low, high = float(seen @ odds / seen.sum()), -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        slope = (low + high) / 2
        weights = np.exp(slope * odds)
        low, high = (
            (slope, high) if rows * weights @ odds / (rows @ weights) < goal else (low, slope)
        )
    weights *= rows.sum() / (rows @ weights)
    expected = seen.sum() * rows * weights / rows.sum()
    variance = expected * (1 + seen.sum() * weights / rows.sum())
    return float(chdtrc(len(rows) - 2, float((np.square(seen - expected) / variance).sum())))


def label_shift_test(
    label_counts: LabelCounts, counts: Array, *, seed: int = 0, draws: int | None = None
) -> LabelShiftFit:
    """Can another class prior alone explain the target's cell counts? G against a null that redraws both samples."""
    rng = np.random.default_rng([seed, 41])
    if draws is None:
        draws = 100 if len(label_counts) * label_counts.classes <= _DENSE else 30
    total = int(counts.sum())
    start = label_counts.prior[None]
    likelihood = conditionals(label_counts)
    prior = fit_prior(likelihood, counts[None], start)
    mixed = likelihood.mix(prior)[0]
    statistic = float(pooled_statistic(label_counts, counts[None], total * mixed[None])[0])

    redrawn, recalls = redraw_reference(label_counts, draws, rng)
    target = rng.multinomial(total, mixed / mixed.sum(), size=draws)
    again = conditionals(label_counts, redrawn)
    begin = np.repeat(0.9 * prior + 0.1 * start, draws, axis=0)
    priors = fit_prior(again, target, begin, tolerance=1e-5, most_cycles=60)
    null = pooled_statistic(label_counts, target, total * again.mix(priors))
    return LabelShiftFit(statistic, null, prior[0], recall_of(label_counts), priors, recalls)


def pooled_statistic(label_counts: LabelCounts, counts: Array, expected: Array) -> Array:
    """`g_statistic` of counts and expectations, shape (draw, cell), cells of few reference rows taken together."""
    pools = np.where(label_counts.rows >= _POOLED_BELOW, np.arange(len(label_counts)), -1)
    pools = np.unique(pools, return_inverse=True)[1]
    size = int(pools.max()) + 1
    both = [
        np.stack([np.bincount(pools, row, size) for row in rows]) for rows in (counts, expected)
    ]
    return g_statistic(both[0], both[1])


def recall_of(label_counts: LabelCounts) -> Array:
    """P_S(correct | class), shape (class,); the reference's accuracy for a class without rows."""
    rows = label_counts.rows_by_label
    overall = label_counts.hits.sum() / label_counts.total
    return np.where(rows > 0, label_counts.hits_by_label / np.maximum(rows, 1), overall)


def redraw_reference(
    label_counts: LabelCounts, draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Poisson bootstrap of the reference: counts (draw, pair) and their recalls (draw, class), add-half smoothed."""
    hits = rng.poisson(label_counts.pair_hits, size=(draws, len(label_counts.pair_hits)))
    misses = rng.poisson(label_counts.pair_rows - label_counts.pair_hits, size=hits.shape)
    classes, label = label_counts.classes, label_counts.pair_label
    rows_of = np.stack([np.bincount(label, r, classes) for r in hits + misses])
    lost = rows_of[:, label] == 0  # a class of one or two rows that no draw may lose
    hits = np.where(lost, label_counts.pair_hits, hits)
    misses = np.where(lost, label_counts.pair_rows - label_counts.pair_hits, misses)
    rows_of = np.stack([np.bincount(label, r, classes) for r in hits + misses])
    hits_of = np.stack([np.bincount(label, r, classes) for r in hits])
    recall = (hits_of + 0.5 * (rows_of > 0)) / np.maximum(rows_of + 1 * (rows_of > 0), 1)
    return (hits + misses).astype(np.float64), np.where(
        rows_of > 0, recall, recall_of(label_counts)
    )


def no_shift_test(reference: Array, target: Array, *, seed: int = 0, draws: int = 100) -> ShiftTest:
    """Do reference and target (counts (cell,)) fall into the cells alike? G test, null from pooled shares."""
    rng = np.random.default_rng([seed, 43])

    def statistic(a: Array, b: Array) -> Array:
        pooled = (a + b) / (a + b).sum(axis=-1, keepdims=True)
        first, second = (g_statistic(n, n.sum(axis=-1, keepdims=True) * pooled) for n in (a, b))
        return np.asarray(first + second)

    first, second = reference[None].astype(np.float64), target[None].astype(np.float64)
    pooled = (first + second)[0] / (first + second).sum()
    again = [
        rng.multinomial(int(side.sum()), pooled, size=draws).astype(np.float64)
        for side in (first, second)
    ]
    return ShiftTest(float(statistic(first, second)[0]), statistic(*again))


_LEAST_EXPECTED = 5  # target rows in a cell of a test


class ShiftStatistics:
    """How far the target moved, and how much of it other class shares leave unexplained.

    With n_b and m_b the counts of reference and target in the cells (predicted class, quantile of confidence), n and m
    their sums: ``moved`` = sqrt((G_0 - df)+ / h), G_0 the G statistic of homogeneity, h = n m / (n + m);
    ``unexplained`` = sqrt((G_1 - df (1 + m/n))+ / m), G_1 that of the best class prior (`fit_prior`), whose null mean
    is inflated by the reference's own error; ``label_shift`` = sum_y q_y P_S(correct | y). Both distances are free of
    the sample sizes. Records without true classes have ``moved`` alone or nothing. Source: the tests of this file.

    >>> p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
    >>> statistics = ShiftStatistics().fit(p)
    >>> {k: round(v, 2) for k, v in statistics.finish(statistics.summarize(p)).items()}
    {'moved': 0.0, 'unexplained': 0.0, 'label_shift': 1.0}
    """

    name = "shift_statistics"
    label_counts: LabelCounts | None = None

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        fitted = copy(self)
        try:
            fitted.label_counts = label_counts_of(reference)
        except NotApplicable:
            fitted.label_counts = None
        return fitted

    def summarize(self, batch: Predictions) -> Sums:
        """Counts of the batch in the cells."""
        if self.label_counts is None or not self._counts(batch):
            return Sums(rows=batch.rows, counts=np.zeros(1, dtype=np.int64))
        return Sums(rows=batch.rows, counts=self.label_counts.count(batch))

    def signs_of(self, pieces: Pieces) -> list[dict[str, float]]:
        """What `finish` says of every piece."""
        batch, piece_count, label_counts = pieces.batch, len(pieces.rows), self.label_counts
        if not self._counts(batch) or label_counts is None:
            return [{}] * piece_count
        cell = pieces.number * len(label_counts) + label_counts.cells(batch)
        counts = np.bincount(cell, minlength=piece_count * len(label_counts)).reshape(
            piece_count, -1
        )
        return [self.finish(Sums(counts=row)) for row in counts]

    def _counts(self, batch: Predictions) -> bool:
        """Whether the rows of a batch can be counted in the cells."""
        cells = self.label_counts
        return cells is not None and cells.why_not(batch) is None and batch.has_prediction

    def finish(
        self, state: Sums, effects: tuple[float, float] = (1.0, 1.0), reference: Sums | None = None
    ) -> dict[str, float]:
        """The statistics; empty where there are no cells. ``effects``, ``reference``: as in `p_value`, the latter for
        ``moved`` alone.
        """
        label_counts, counts = self.label_counts, state["counts"] / effects[1]
        if label_counts is None or not counts.sum() or len(counts) != len(label_counts):
            return {}
        reference_counts, target_counts = label_counts.rows / effects[0], counts
        n, m = reference_counts.sum(), target_counts.sum()
        compared_counts = (
            reference_counts
            if reference is None or not reference["counts"].sum()
            else reference["counts"] / effects[0]
        )
        compared_total = compared_counts.sum()
        pooled = (compared_counts + target_counts) / (compared_total + m)
        degrees = max(int(np.count_nonzero(pooled)) - 1, 1)
        same = float(
            g_statistic(compared_counts, compared_total * pooled)
            + g_statistic(target_counts, m * pooled)
        )
        likelihood = conditionals(label_counts)
        prior = fit_prior(
            likelihood,
            target_counts[None],
            label_counts.prior[None],
            tolerance=1e-5,
            most_cycles=60,
        )
        residual = float(g_statistic(target_counts, m * likelihood.mix(prior)[0]))
        moved = float(
            np.sqrt(max(same - degrees, 0.0) * (compared_total + m) / (compared_total * m))
        )
        # from here on cells are those of the reference as a whole
        degrees = max(int(np.count_nonzero(reference_counts + target_counts)) - 1, 1)
        unexplained = float(np.sqrt(max(residual - degrees * (1 + m / n), 0.0) / m))
        return {
            "moved": moved,
            "unexplained": unexplained,
            "label_shift": float(prior[0] @ recall_of(label_counts)),
        }

    def p_value(
        self,
        state: Sums,
        seed: int = 0,
        effects: tuple[float, float] = (1.0, 1.0),
        reference: Sums | None = None,
    ) -> float | None:
        """Of the test that the outputs are distributed as on the reference, fit for many looks; None without cells.
        Cells in which fewer than five target rows are expected are taken together, from the rarest on: with thousands
        of sparse cells the test would see changes where there are none. ``effects``: design effects of reference and
        target (`cells_effect`), by which counts are divided. ``reference``: the state of some reference rows alone, to
        be held against them. Source: the G test of `no_shift_test`, its tail by a gamma
        distribution (`ShiftTest.tail_p_value`).
        """
        label_counts, counts = self.label_counts, state["counts"]
        if label_counts is None or not counts.sum() or len(counts) != len(label_counts):
            return None
        reference_counts = label_counts.rows if reference is None else reference["counts"]
        if not reference_counts.sum():
            return None
        reference_rows, target_rows = (
            np.rint(n / d) for n, d in zip((reference_counts, counts), effects, strict=True)
        )
        reference_rows, target_rows = _without_sparse(reference_rows, target_rows)
        return no_shift_test(reference_rows, target_rows, seed=seed).tail_p_value


def _without_sparse(reference: Array, target: Array) -> tuple[Array, Array]:
    """Counts of both sides in cells of five expected target rows or more, grouped by the sum of both sides alone."""
    both = reference + target
    order = np.argsort(both, kind="stable")
    expected = both[order] * (target.sum() / max(both.sum(), 1))
    group = np.floor(np.cumsum(expected) / _LEAST_EXPECTED).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    return np.bincount(group, reference[order]).astype(np.int64), np.bincount(
        group, target[order]
    ).astype(np.int64)
