"""Paired: differences of several models on the same rows, in clusters and over tasks, with tests and intervals."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..arrays import Array
from ..intervals import clopper_pearson, normal_quantile
from ..kernels.incomplete_beta import beta_cdf
from .clusters import student_quantile

POWER = 0.8  # with which the smallest visible difference would be shown
_MOST_GROUPS = 1024  # of whole clusters, whose signs are flipped and which are drawn again
_ALL_FLIPS = 14  # clusters up to which every pattern of signs is looked at, 2^14
_LEAST_SPREADING = 2.5  # rows as far away as the farthest one, of which a spread is believed
_FLIPS, _REPLICATES, _DRAWS = 10_000, 2_000, 20_000


@dataclass(frozen=True)
class Difference:
    """Mean score of one model minus that of another on the same rows.

    value, lower, upper : the difference and its ends. error : standard error. p_value : of no difference, two-sided;
    McNemar's exact one for 0 and 1 in independent rows, else by flipping the signs of whole clusters, or, where few
    rows could still change all, that of the interval. ahead, behind,
    ties : rows on which the first model has the larger score, the smaller one, the same. share : P(the first is
    better). smallest_visible : the difference that such rows show with a power of 0.8.
    """

    value: float
    lower: float
    upper: float
    error: float
    p_value: float
    ahead: int
    behind: int
    ties: int
    share: float
    smallest_visible: float


class Paired:
    """Scores of models on the same rows, ``scores`` (model, sample) in [low, high], the ``clusters`` of the rows and
    their sampling ``weights`` above 0, both (sample,).

    The difference of two models is the mean of d = a - b over the rows. Its error is the jackknife's over clusters (of
    independent rows, s / sqrt(n)); two rows are made up, one with the largest difference that the scale allows and one
    with the smallest, each worth as many rows as the design effect says (Bonett and Price 2012 for 0 and 1, where
    clusters are single rows): rare differences that were not met are not taken for impossible. Clusters take quantiles
    of Student's law with Kish's number of clusters less one. With weights the mean is sum w d / sum w; a row, or a
    cluster, is as large as its weights, so that the error is that of a ratio (Hajek 1971), and so is Kish's number.

    >>> a, b = np.zeros(40), np.zeros(40)
    >>> a[:14], b[10:16] = 1, 1
    >>> gap = Paired(np.stack([b, a])).difference(0, 1, 0.95)
    >>> round(gap.value, 3), round(gap.p_value, 4), (gap.ahead, gap.behind, gap.ties)
    (-0.2, 0.0386, (2, 10, 28))
    """

    def __init__(
        self,
        scores: Array,
        clusters: Array | None = None,
        *,
        weights: Array | None = None,
        low: float = 0.0,
        high: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.scores, self.clusters = np.asarray(scores, dtype=np.float64), clusters
        # with the mean 1, so that all of them weigh as much as there are rows
        self.weights = None if weights is None else weights / weights.mean()
        self.are_alike = clusters is None and weights is None  # independent rows that weigh alike
        self.low, self.high, self.span, self.seed = low, high, high - low, seed
        self.models, self.rows = self.scores.shape
        self.binary = bool(((self.scores == low) | (self.scores == high)).all())
        codes = (
            np.arange(self.rows)
            if clusters is None
            else np.unique(clusters, return_inverse=True)[1]
        )
        self.sizes = np.bincount(codes, self.weights).astype(np.float64)
        self.count = len(self.sizes)
        centred = self.scores - self.scores.mean()  # differences stay, squares become small
        weighted = centred if self.weights is None else centred * self.weights
        self.sums = weighted if clusters is None else _summed(weighted, codes, self.count)
        self._gram = weighted @ centred.T

    def take(self, rows: Array) -> Paired:
        """The same of some rows, by their positions."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return Paired(
            self.scores[:, rows],
            clusters,
            weights=None if self.weights is None else self.weights[rows],
            low=self.low,
            high=self.high,
            seed=self.seed,
        )

    @cached_property
    def means(self) -> Array:
        """Mean score of each model, (model,)."""
        return self._mean(self.scores)

    def _mean(self, values: Array) -> Array:
        """Mean over the rows, the last axis, with their weights."""
        return np.asarray(np.average(values, axis=-1, weights=self.weights))

    @cached_property
    def degrees(self) -> float:
        """Of Student's law: Kish's number of clusters less one; of independent rows so many that it is the normal."""
        return 1e12 if self.are_alike else self.rows**2 / float(np.square(self.sizes).sum()) - 1

    def quantile(self, level: float) -> float:
        """Half the width of an interval in standard errors."""
        return student_quantile(level, self.degrees)

    @cached_property
    def _moments(self) -> tuple[Array, Array, Array]:
        """Of each two models, (model, model): the middle of the interval, its standard error, the plain one."""
        n, sizes, count, span = self.rows, self.sizes, self.count, self.span
        weight = np.square(n / np.maximum(n - sizes, 1e-9))  # the jackknife leaves one cluster out
        factor = (count - 1) / count if count > 1 else math.inf
        total = self.sums.sum(axis=1)
        gram, cross = (self.sums * weight) @ self.sums.T, self.sums @ (weight * sizes)
        gap, square = total[:, None] - total, _of_pairs(gram)
        line, square_sum = cross[:, None] - cross, float((weight * sizes**2).sum())

        def spread(middle: Array) -> Array:
            return np.asarray(np.maximum(square - 2 * middle * line + middle**2 * square_sum, 0))

        mean = gap / n
        plain = factor * spread(mean) / n**2
        alone = np.maximum(_of_pairs(self._gram) - n * mean**2, 0) / n**2
        worth, tiny = n**2 / float(np.square(sizes).sum()), 1e-12 * span**2 / n
        effect = np.where(alone > tiny, plain / np.maximum(alone, tiny), n / worth)
        unit = 1.0 if self.are_alike else np.clip(effect, 1.0, n / worth)
        middle = gap / (n + 2 * unit)
        # of independent rows without the jackknife's factor, as Bonett and Price have it
        if self.are_alike:
            factor = (n - 1) ** 2 / n**2 if n > 1 else 1.0
        sums = spread(middle) * factor
        variance = (sums + 2 * np.square(unit) * (span**2 + middle**2)) / np.square(n + 2 * unit)
        return middle, np.sqrt(variance), np.sqrt(plain)

    def difference(self, i: int, j: int, level: float, quantile: float | None = None) -> Difference:
        """Mean score of model i minus that of j; ``quantile`` in place of that of a single interval."""
        from scipy.special import stdtr

        d, degrees = self.scores[i] - self.scores[j], max(self.degrees, 1.0)
        middle, error, plain = (float(part[i, j]) for part in self._moments)
        quantile = self.quantile(level) if quantile is None else quantile
        value, half = float(self._mean(d)), quantile * error
        ahead, behind = int((d > 0).sum()), int((d < 0).sum())
        p_value, share = self._p_value(i, j, ahead, behind), float(stdtr(degrees, middle / error))
        if not self.binary and (plain * self.count < self.span or self._is_of_few(i, j, value)):
            # rare rows of the whole span, as yet unseen or seen once, would move the mean by more than its spread
            # tells: the interval counts two of them, and the test as well
            p_value = 2 * float(stdtr(degrees, -abs(middle) / error))
        elif not self.binary:
            alpha = 2 * float(stdtr(degrees, -quantile))
            ends = self._ends_of_test(i, j, alpha)
            share = 1 - p_value / 2 if value > 0 else p_value / 2
            visible = (quantile + normal_quantile(2 * POWER - 1)) * plain
            return Difference(
                value,
                *ends,
                plain,
                p_value,
                ahead,
                behind,
                self.rows - ahead - behind,
                share=share,
                smallest_visible=visible,
            )
        low, high = min(middle - half, value), max(middle + half, value)
        # what the exact test does not show the interval does not show either
        if p_value > 1 - level:
            exact = self.binary and self.are_alike and ahead + behind
            shares = clopper_pearson(ahead, ahead + behind, level) if exact else (0.5, 0.5)
            ends_of_test = [
                (2 * share - 1) * self.span * (ahead + behind) / self.rows for share in shares
            ]
            low, high = (
                min(low, ends_of_test[0] if low > 0 else low),
                max(high, ends_of_test[1] if high < 0 else high),
            )
        visible = (quantile + normal_quantile(2 * POWER - 1)) * error
        ends, counts = (
            (max(low, -self.span), min(high, self.span)),
            (ahead, behind, self.rows - ahead - behind),
        )
        return Difference(
            value, *ends, plain, p_value, *counts, share=share, smallest_visible=visible
        )

    def _p_value(self, i: int, j: int, ahead: int, behind: int) -> float:
        if self.binary and self.are_alike:
            more, less = max(ahead, behind), min(ahead, behind)
            return 1.0 if more == less else min(2 * beta_cdf(more, less + 1, 0.5), 1.0)
        sums = self._grouped[0]
        differences = sums[i] - sums[j]
        flipped = np.abs(differences @ self._signs)
        often = int((flipped >= abs(differences.sum()) * (1 - 1e-9) - 1e-12).sum())
        every = self._signs.shape[1] == 1 << len(differences)
        return float(often / flipped.size if every else (often + 1) / (flipped.size + 1))

    def _is_of_few(self, i: int, j: int, value: float) -> bool:
        """Whether the spread of independent rows comes from a row or two that lie half the span away: sum g^2 < 2.5
        max g^2 of their distances g from the mean.
        """
        weights = np.ones(self.rows) if self.weights is None else self.weights
        distances = np.square(weights * (self.scores[i] - self.scores[j] - value))
        farthest = int(distances.argmax())
        few = distances.sum() < _LEAST_SPREADING * distances[farthest]
        far = distances[farthest] >= (weights[farthest] * self.span) ** 2 / 4
        return self.clusters is None and bool(few and far)

    def _ends_of_test(self, i: int, j: int, alpha: float) -> tuple[float, float]:
        """The differences that flipping the signs of whole clusters does not reject: a pattern of signs is as extreme
        as what was seen for all differences between the means of the clusters that it flips and of the others.
        Source: Hartigan (1969), typical values.
        """
        sums = self._grouped[0]
        gaps = sums[i] - sums[j]
        total, flipped = float(gaps.sum()), gaps @ self._signs
        rows, rest = self._rows_flipped
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.stack([(total + flipped) / rows, (total - flipped) / rest])
        lower, upper = means.min(axis=0), means.max(axis=0)
        none = ~np.isfinite(lower + upper)  # or all of them
        lower[none], upper[none] = -self.span, self.span
        patterns = len(lower)
        every = patterns == 1 << len(gaps)
        at = int(alpha * patterns) if every else int(alpha * (patterns + 1)) - 1
        at = min(max(at, 0), patterns - 1)
        low, high = np.partition(lower, at)[at], np.partition(upper, patterns - 1 - at)[-1 - at]
        return max(float(low), -self.span), min(float(high), self.span)

    @cached_property
    def _grouped(self) -> tuple[Array, Array]:
        """Sums of scores, (model, group), and rows of at most `_MOST_GROUPS` groups of whole clusters."""
        if self.count <= _MOST_GROUPS:
            return self.sums, self.sizes
        group = self._rng(1).permutation(self.count) % _MOST_GROUPS
        return _summed(self.sums, group, _MOST_GROUPS), np.bincount(group, self.sizes, _MOST_GROUPS)

    @cached_property
    def _signs(self) -> Array:
        """Patterns of signs, (group, pattern): all of them for few groups, else drawn ones."""
        groups = len(self._grouped[1])
        if groups <= _ALL_FLIPS:
            return 2.0 * ((np.arange(1 << groups) >> np.arange(groups)[:, None]) & 1) - 1
        return 2.0 * self._rng(2).integers(0, 2, size=(groups, _FLIPS)) - 1

    @cached_property
    def _rows_flipped(self) -> tuple[Array, Array]:
        """Twice the rows of the groups that a pattern leaves as they are, and of those that it flips, (pattern,)."""
        sizes = self._grouped[1]
        flipped = sizes @ self._signs
        return sizes.sum() + flipped, sizes.sum() - flipped

    @cached_property
    def replicates(self) -> Array:
        """Bootstrap replicates of the means, of the same clusters for all models, (replicate, model)."""
        sums, sizes = self._grouped
        groups = len(sizes)
        at = (
            self._rng(3).integers(0, groups, (_REPLICATES, groups))
            + groups * np.arange(_REPLICATES)[:, None]
        )
        multiplicity = (
            np.bincount(at.ravel(), minlength=_REPLICATES * groups)
            .reshape(_REPLICATES, groups)
            .astype(np.float64)
        )
        return np.asarray(
            (multiplicity @ sums.T) / (multiplicity @ sizes)[:, None] + self.scores.mean()
        )

    def bootstrap(self, i: int, j: int, level: float) -> tuple[float, float]:
        """Ends of the difference of i and j by a paired bootstrap that draws whole clusters."""
        ends = np.quantile(
            self.replicates[:, i] - self.replicates[:, j], [(1 - level) / 2, (1 + level) / 2]
        )
        return float(ends[0]), float(ends[1])

    def _rng(self, about: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, about, self.rows])

    @cached_property
    def _largest(self) -> Array:
        """Draws of the largest |t| over all pairs of models that do not differ, ascending."""
        rng, middle = self._rng(4), self.sums.sum(axis=1) / self.rows
        centred = (self.sums - middle[:, None] * self.sizes) / (self.rows - self.sizes + 1e-9)
        covariance = centred @ centred.T
        values, vectors = np.linalg.eigh(covariance)
        draws = (
            rng.standard_normal((_DRAWS, self.models))
            @ (vectors * np.sqrt(np.maximum(values, 0))).T
        )
        degrees, squares = max(self.degrees, 1.0), _of_pairs(covariance)
        draws /= np.sqrt(rng.chisquare(degrees, _DRAWS) / degrees)[:, None]
        largest = np.zeros(_DRAWS)
        for i, j in combinations(range(self.models), 2):
            # of models that answer alike only rounding is left, which is no difference
            if squares[i, j] > 1e-12 * (covariance[i, i] + covariance[j, j]):
                t = np.abs(draws[:, i] - draws[:, j]) / np.sqrt(squares[i, j])
                np.maximum(largest, t, out=largest)
        return np.sort(largest)

    def simultaneous(self, level: float) -> float:
        """The quantile with which the intervals of all pairs of models hold together: of max |t| over the pairs, whose
        correlations are those of the clusters. It covers that the best model was picked on these rows.
        """
        single = self.quantile(level)
        return single if self.models < 3 else max(float(np.quantile(self._largest, level)), single)

    def adjusted(self, i: int, j: int) -> float:
        """P-value of two of several models, adjusted for all pairs: P(max |t| is at least theirs)."""
        middle, error, _ = (float(part[i, j]) for part in self._moments)
        return float(1 - np.searchsorted(self._largest, abs(middle) / error) / len(self._largest))

    def macro(self, i: int, j: int, tasks: Array, quantile: float) -> tuple[float, float, float]:
        """Mean over tasks of the difference of i and j, and its ends: of d_k / (T n_t) rows of a task weigh alike.

        ``tasks`` (sample,) are codes from 0 on. Tasks are given, their rows are drawn.
        """
        of_rows = np.ones(self.rows) if self.weights is None else self.weights
        task_sizes = np.bincount(tasks, of_rows)
        worth = np.square(task_sizes) / np.bincount(tasks, np.square(of_rows))
        weight = (self.rows / (len(task_sizes) * task_sizes))[tasks]
        d = self.scores[i] - self.scores[j]
        means = np.bincount(tasks, of_rows * d) / task_sizes
        value = float(means.mean())
        # a task's mean is estimated, too
        inner = np.sqrt(worth / np.maximum(worth - 1, 1))[tasks]
        moved = np.stack([value + weight * inner * (d - means[tasks]), np.zeros_like(d)])
        high = self.span * float(weight.max())
        paired = Paired(moved, self.clusters, weights=self.weights, high=high)
        half = quantile * float(paired._moments[1][0, 1])
        return value, max(value - half, -self.span), min(value + half, self.span)


def _summed(values: Array, codes: Array, count: int) -> Array:
    """Sums of (model, sample) by code, (model, code)."""
    return np.stack([np.bincount(codes, row, count) for row in values])


def _of_pairs(gram: Array) -> Array:
    """Squares of differences, (model, model), from products, (model, model)."""
    diagonal = np.diag(gram)
    return np.asarray(diagonal[:, None] + diagonal - 2 * gram)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that all of them hold together (Holm 1979): the k-th smallest of m times m - k + 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order, out, running_max = (
        sorted(range(len(p_values)), key=lambda k: p_values[k]),
        [0.0] * len(p_values),
        0.0,
    )
    for rank, k in enumerate(order):
        running_max = max(running_max, min((len(order) - rank) * p_values[k], 1.0))
        out[k] = running_max
    return out


def runs_together(order: Sequence[int], told: Container[tuple[int, int]]) -> list[list[int]]:
    """Runs of an order, the best first, in which no two are told apart, none of them inside another; ``told`` has the
    pairs (better, worse) that are.

    >>> runs_together([2, 0, 1], {(2, 1)})
    [[2, 0], [0, 1]]
    """
    runs: list[list[int]] = []
    stop = 0  # of the last run
    for start in range(len(order)):
        breaks = (
            k
            for k in range(start, len(order))
            if any((i, order[k]) in told for i in order[start:k])
        )
        if (end := next(breaks, len(order))) > stop:
            runs.append(list(order[start:end]))
            stop = end
    return runs
