"""Weighted metrics: those that are means over rows, or of a confusion matrix, with a sampling weight for each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, NotApplicable
from ..inference.clusters import CLUSTER, MOST_CLUSTERS, student_quantile
from ..intervals import clopper_pearson, normal_quantile, wilson
from ..kernels.top import mix
from ..predictions import Predictions
from ..results import Kind, Skipped
from .base import Measure, Metric, measure
from .confusion import Confusion, ConfusionMetric
from .mean_score import MeanScore, scale_seen
from .resampling import FEW_ROWS, from_influence

WEIGHT = "weight of the row"  # a column of float64 from 0 on, in batches whose rows are weighted
_WHY_NOT = "is not weighted; leave --weight out"
_EXPECTED = "a weight, a finite number from 0 on"
_REMEDY = "correct the cell, leave the row out (--where), or leave --weight out"


def weights_of(cells: Array, used: Array, column: str, comma: bool = False) -> Array:
    """Cells of a column as weights, float64, shape (sample,), 0 in rows that are not ``used``; ``comma``: texts have a
    decimal comma. `InputError` for the first used row without a finite number from 0 on.

    >>> weights_of(np.array([2, 0.5, -1]), np.array([True, True, False]), "w").tolist()
    [2.0, 0.5, 0.0]
    """
    if cells.dtype.kind in "iuf":
        out = cells.astype(np.float64)
    else:
        out = np.array([_number(cell, comma) for cell in cells.tolist()], dtype=np.float64)
    bad = used & ~(np.isfinite(out) & (out >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        cell = cells[at]
        got = "an empty cell" if cell is None or cell != cell or cell == "" else str(cell)[:60]
        raise InputError(_EXPECTED, got=got, row=at + 1, column=column, remedy=_REMEDY)
    return np.where(used, out, 0.0)


def _number(cell: Any, comma: bool) -> float:
    if cell is None or isinstance(cell, (bool, np.bool_)):
        return math.nan
    try:
        return float(cell.replace(",", ".") if comma and isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        return math.nan


def kish(weights: float, squares: float) -> float:
    """Kish's effective number, (sum w)^2 / sum w^2: so many rows of one weight have a mean as uncertain, where weights
    have nothing to do with what is measured.

    Source: Kish (1965).

    >>> kish(4.0, 8.0)
    2.0
    """
    return weights**2 / squares if squares > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ByCluster:
    """Sums of clusters, or of cells of each, shape (sum, part): ``keys`` of clusters, uint64, and ``cells``, ascending
    pairs; of more than `MOST_CLUSTERS` an even sample of whole ones, those whose scrambled key ends in ``bits`` zeros.
    """

    keys: Array
    cells: Array
    sums: Array
    bits: int = 0

    @classmethod
    def of(cls, keys: Array, cells: Array, sums: Array, bits: int = 0) -> ByCluster:
        """State of rows, or of parts, with these keys and cells."""
        order = np.lexsort((cells, keys))
        keys, cells, sums = keys[order], cells[order], sums[:, order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]) | (cells[1:] != cells[:-1])
        starts = np.flatnonzero(first)
        if len(starts):
            sums = np.add.reduceat(sums, starts, axis=1)
        keys, cells = keys[starts], cells[starts]
        kept = np.ones(len(keys), dtype=bool)
        while True:
            if bits:
                kept = mix(keys) & np.uint64((1 << bits) - 1) == 0
            if len(np.unique(keys[kept])) <= MOST_CLUSTERS:
                return cls(keys[kept], cells[kept], sums[:, kept], bits)
            bits += 1

    def __add__(self, other: ByCluster) -> ByCluster:
        """Rows of both."""
        return ByCluster.of(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.cells, other.cells]),
            np.concatenate([self.sums, other.sums], axis=1),
            max(self.bits, other.bits),
        )

    def totals(self, each: Array) -> Array:
        """Sum over the parts of each cluster, of numbers of shape (part,)."""
        at = np.unique(self.keys, return_inverse=True)[1]
        return np.bincount(at, each)

    def variance(self, each: Array) -> tuple[float, float]:
        """Of the sum of linearised numbers of parts, G / (G - 1) sum_g (sum in g)^2, and how many clusters there are;
        infinite for one.
        """
        sums = self.totals(each) * 1.0
        count = len(sums) << self.bits
        if count < 2:
            return math.inf, float(count)
        return float(np.square(sums).sum()) * (1 << self.bits) * count / (count - 1), float(count)

    def worth(self, weights: Array) -> float:
        """Kish's number of clusters."""
        sums = self.totals(weights)
        return kish(float(sums.sum()), float(np.square(sums).sum())) * (1 << self.bits)


def _joined(a: ByCluster | None, b: ByCluster | None) -> ByCluster | None:
    return a + b if a is not None and b is not None else a or b


@dataclass(frozen=True, eq=False)
class WeightedSums:
    """Sums for a weighted mean: of rows, of w and w^2, and of w y, w^2 y and w^2 y^2; the lowest and the highest y; and
    of clusters w and w y.
    """

    rows: int
    weights: float
    squares: float
    moments: Array = field(default_factory=lambda: np.zeros(3))
    seen: tuple[float, float] = (math.inf, -math.inf)
    binary: bool = True
    clusters: ByCluster | None = None

    @classmethod
    def of(cls, values: Array, weights: Array, keys: Array | None) -> WeightedSums:
        """State of rows with these numbers, weights and keys of clusters; rows without a number are left out."""
        at = np.flatnonzero(~np.isnan(values))
        y, w = values[at], weights[at]
        if not len(y):
            return cls(0, 0.0, 0.0)
        wy = w * y
        moments = np.array([wy.sum(), (w * wy).sum(), (wy * wy).sum()])
        clusters = None
        if keys is not None:
            clusters = ByCluster.of(keys[at], np.zeros(len(at), dtype=np.int64), np.stack([w, wy]))
        ends, binary = (float(y.min()), float(y.max())), bool(((y == 0) | (y == 1)).all())
        return cls(len(y), float(w.sum()), float((w * w).sum()), moments, ends, binary, clusters)

    def __add__(self, other: WeightedSums) -> WeightedSums:
        """Rows of both."""
        return WeightedSums(
            self.rows + other.rows,
            self.weights + other.weights,
            self.squares + other.squares,
            self.moments + other.moments,
            (min(self.seen[0], other.seen[0]), max(self.seen[1], other.seen[1])),
            self.binary and other.binary,
            _joined(self.clusters, other.clusters),
        )

    @property
    def mean(self) -> float:
        """Hajek's mean, sum w y / sum w."""
        value = float(self.moments[0]) / self.weights
        return min(max(value, self.seen[0]), self.seen[1])

    def spread(self) -> tuple[float, float]:
        """Variance of the mean by Taylor's linearisation of the ratio, sum of (w (y - mean))^2 over rows (or clusters),
        n / (n - 1) times, by (sum w)^2; and Kish's number of rows, or clusters.
        """
        mean = self.mean
        if self.clusters is not None:
            w, wy = self.clusters.sums
            variance, _ = self.clusters.variance((wy - mean * w) / self.weights)
            return variance, self.clusters.worth(w)
        if self.rows < 2:
            return math.inf, 1.0
        total = float(self.moments[2] - 2 * mean * self.moments[1] + mean**2 * self.squares)
        # of equal numbers only rounding is left
        total = total if total > 1e-12 * mean**2 * self.squares else 0.0
        variance = max(total, 0.0) / self.weights**2 * self.rows / (self.rows - 1)
        return variance, kish(self.weights, self.squares)


@dataclass(frozen=True, eq=False)
class WeightedConfusion(Confusion):
    """A confusion matrix of rows with, of each cell, the sum of w and of w^2; and of clusters w by cell."""

    weights: Array
    squares: Array
    clusters: ByCluster | None

    @classmethod
    def of(cls, batch: Predictions) -> WeightedConfusion:
        """State of the rows of a record whose class is known."""
        plain = Confusion.of(batch)
        at = np.flatnonzero(np.asarray(batch.label) >= 0)
        label, guess = np.asarray(batch.label)[at].astype(np.int64), batch.predicted[at]
        codes, w = label * len(plain.classes) + guess, batch.columns[WEIGHT][at]
        cell = np.searchsorted(plain.codes, codes)
        weights, squares = (np.bincount(cell, each, len(plain.codes)) for each in (w, w * w))
        keys, clusters = batch.columns.get(CLUSTER), None
        if keys is not None:
            clusters = ByCluster.of(keys[at], codes, w[None])
        return cls(plain.classes, plain.codes, plain.counts, weights, squares, clusters)

    def __add__(self, other: Confusion) -> WeightedConfusion:
        """Sum of both, of the same classes."""
        assert isinstance(other, WeightedConfusion)
        plain = super().__add__(other)
        sums = np.zeros((2, len(plain.codes)))
        for part in (self, other):
            sums[:, np.searchsorted(plain.codes, part.codes)] += np.stack(
                [part.weights, part.squares]
            )
        clusters = _joined(self.clusters, other.clusters)
        return WeightedConfusion(
            plain.classes, plain.codes, plain.counts, sums[0], sums[1], clusters
        )

    def scaled(self, factor: float) -> Confusion:
        """The matrix of weights times a factor, without the cells that weigh nothing."""
        used = self.weights > 0
        return Confusion(self.classes, self.codes[used], self.weights[used] * factor)

    def spread(self, moved: Array) -> tuple[float, float]:
        """Variance of a number that a unit of weight in each cell moves so, shape (cell,), and Kish's number of rows
        (or clusters) of the cells that move it.
        """
        at = moved != 0
        units = kish(float(self.weights[at].sum()), float(self.squares[at].sum()))
        if self.clusters is not None:
            weights = self.clusters.sums[0]
            each = moved[np.searchsorted(self.codes, self.clusters.cells)]
            variance, _ = self.clusters.variance(each * weights)
            return variance, min(units, self.clusters.worth(weights))
        if self.rows < 2:
            return math.inf, 1.0
        variance = float((self.squares * moved**2).sum()) * self.rows / (self.rows - 1)
        return variance, units

    @property
    def least(self) -> float:
        """The fewest effective rows for a unit of weight, over all rows, and those of a true or a predicted class."""
        used = [np.ones(len(self.codes), dtype=bool)]
        used += [side == k for side in (self.truth, self.guess) for k in np.unique(side)]
        sums = [(float(self.weights[at].sum()), float(self.squares[at].sum())) for at in used]
        rates = [kish(w, squares) / w for w, squares in sums if w > 0]
        if self.clusters is not None:
            rates.append(self.clusters.worth(self.clusters.sums[0]) / float(self.weights.sum()))
        return min(rates)


class _Weighted(Metric[Any, Measure]):
    """A metric of rows with weights, in the place of ``of``; it knows clusters by the keys in `CLUSTER`."""

    clustered = True

    def __init__(self, of: Metric[Any, Any]) -> None:
        self.of = of
        # What stands in the class of a metric is here that of another one.
        vars(self).update(
            {
                name: getattr(of, name)
                for name in ("name", "needs", "bounds", "bigger_is_better", "quiet", "citation")
            }
        )

    def why_not(self, record: Predictions) -> str | None:
        """As of the metric itself."""
        return self.of.why_not(record)

    def __getattr__(self, name: str) -> Any:
        """What else stands in the metric: its positive class, its k."""
        if name == "of":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.of, name)


class WeightedMean(_Weighted):
    """Hajek's mean sum w y / sum w of a metric that is a mean over rows: of the population that the weights stand for.

    The variance is that of the linearised ratio (`WeightedSums.spread`), with Student's t for Kish's number of rows or
    clusters. Ends of shares are Clopper and Pearson's for as many rows as have this variance (Korn and Graubard 1998),
    of other numbers on a scale Wilson's, of a loss without a bound Student's. Rows are worth at most Kish's number:
    where errors are few and happen to weigh little, their linearised variance is far too small.

    Source: Hajek (1971); Korn and Graubard (1998).

    >>> from .accuracy import Accuracy
    >>> columns = {WEIGHT: np.array([1.0, 1.0, 2.0])}
    >>> WeightedMean(Accuracy()).compute(Predictions.from_arrays(correct=[1, 1, 0], columns=columns)).value
    0.5
    """

    @property
    def state_key(self) -> str:
        """That of the metric, which no other weighted one has."""
        return self.of.state_key

    def on_scale(self, scale: tuple[float, float], guessed: bool) -> WeightedMean:
        """The same with the scale of scores."""
        on = getattr(self.of, "on_scale", None)
        return self if on is None else WeightedMean(on(scale, guessed))

    def summarize(self, batch: Predictions) -> WeightedSums:
        """Sums of one batch."""
        labelled = batch.known()
        values = self.of.row_values(labelled)
        if values is None:
            raise NotApplicable(_WHY_NOT)
        return WeightedSums.of(values, labelled.columns[WEIGHT], labelled.columns.get(CLUSTER))

    def _finish(self, state: WeightedSums, level: float, seed: int) -> Measure:
        if not state.weights > 0:
            raise NotApplicable("all weights are 0")
        if not isinstance(self.of, MeanScore):
            ends = _ends_of_mean(state, self.bounds, level)
            return measure(state.mean, ends, level, "asymptotic")
        low, high = self.of.scale or scale_seen(state.seen)
        if low == high:
            raise NotApplicable(
                f"every score is {low:g}, which tells no scale; name it with --scale LOW,HIGH"
            )
        kind: Kind = "empirical" if self.of.guessed else "asymptotic"
        ends = _ends_of_mean(state, (low, high), level)
        return measure(state.mean, ends, level, kind, scale=[low, high])


def _ends_of_mean(
    state: WeightedSums, bounds: tuple[float, float], level: float
) -> tuple[float, float]:
    value, (variance, units) = state.mean, state.spread()
    wider = student_quantile(level, units - 1) / normal_quantile(level)
    variance *= wider**2
    low, high = bounds
    span = high - low
    if math.isinf(span):
        half = normal_quantile(level) * math.sqrt(variance) if variance else abs(value)
        return max(low, value - half), min(high, value + half)
    share, variance = min(max((value - low) / span, 0.0), 1.0), variance / span**2
    if state.binary and span == 1:
        rows = share * (1 - share) / variance if variance > 0 else units
        rows = min(max(rows, 1.0), kish(state.weights, state.squares))
        return clopper_pearson(share * rows, rows, level)
    if variance > 0 and 0 < share < 1 and units >= FEW_ROWS:
        ends = wilson(share, share * (1 - share) / variance, level)
    else:
        variance = min(variance, share * (1 - share))
        ends = from_influence(share, variance, units, units, level)
    return low + span * ends[0], low + span * ends[1]


class WeightedCells(_Weighted):
    """A metric of the confusion matrix, of the sums of weights in its cells.

    Its interval is that of a matrix of as many rows as give the linearised variance of the weighted one, sum of (w
    times how far a unit moves the number)^2 over rows (or clusters), with Student's t: at most Kish's number of rows,
    and where no row moves the number, the fewest of any class. Source: Korn and Graubard (1998).

    >>> from .confusion import MacroRecall
    >>> columns = {WEIGHT: np.array([1.0, 3.0, 2.0])}
    >>> record = Predictions.from_classes([0, 1, 1], label=[0, 0, 1], columns=columns)
    >>> WeightedCells(MacroRecall()).compute(record).value  # (1/4 + 1) / 2
    0.625
    """

    state = "confusion"

    def summarize(self, batch: Predictions) -> WeightedConfusion:
        """Count and weigh one batch."""
        return batch.derived("weighted confusion", lambda: WeightedConfusion.of(batch))

    def _finish(self, state: WeightedConfusion, level: float, seed: int) -> Measure:
        if not state.weights.any():
            raise NotApplicable("all weights are 0")
        assert isinstance(self.of, ConfusionMetric)
        unit, used, moved = state.scaled(1.0), state.weights > 0, np.zeros(len(state.codes))
        _, moved[used] = self.of.influence(unit)
        variance, units = state.spread(moved)
        variance *= (student_quantile(level, units - 1) / normal_quantile(level)) ** 2
        of_rows = float((state.weights * moved**2).sum())  # the variance, were weights rows
        factor = of_rows / variance if variance > 0 and of_rows > 0 else state.least
        total = float(state.weights.sum())
        factor = min(factor, kish(total, float(state.squares.sum())) / total)
        found: Measure = self.of.finish(state.scaled(max(factor, 1e-9)), level, seed)
        extras = {name: extra for name, extra in found.extras.items() if name != "total"}
        return replace(found, kind="asymptotic", extras=extras)


def weighted(
    metrics: Sequence[Metric[Any, Any]], asked: bool
) -> tuple[list[Metric[Any, Any]], list[Skipped]]:
    """The metrics that can be weighted, and why others are left out; ``asked``: they were named one by one.

    >>> from .confusion import F1
    >>> weighted([F1()], True)[0][0].name
    'f1'
    """
    out: list[Metric[Any, Any]] = []
    skipped: list[Skipped] = []
    for metric in metrics:
        if metric.gives == "number" and isinstance(metric, ConfusionMetric):
            out.append(WeightedCells(metric))
        elif metric.gives == "number" and type(metric).row_values is not Metric.row_values:
            out.append(WeightedMean(metric))
        elif asked or not metric.quiet:
            skipped.append(Skipped(metric.name, _WHY_NOT))
    return out, skipped
