"""Groups: samples of equal confidence, most confident first, with the running counts that every rank metric reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array

if TYPE_CHECKING:
    from jaxtyping import Float


MOST_GROUPS = 2048  # groups from which an interval is read; more are joined, which hardly moves a width
_LONG = 1 << 22  # ranks whose reciprocals are summed one by one
_MANY_TIES = 16  # with more than one tie in so many groups, harmonic sums are made for all at once


@dataclass(frozen=True, eq=False)
class Groups:
    """Samples grouped by equal confidence, most confident first; all arrays of shape (group,).

    confidence : confidence of the group (its mean, in a histogram).
    answered, right : samples down to the end of the group, and how many of them are correct; float64.
    high, low : highest and lowest confidence in the group where it holds more than true ties, else None.

    >>> from oodometer.metrics.ranks import Ranks
    >>> g = Ranks.of(np.array([0.9, 0.5, 0.5]), np.array([1, 0, 1])).groups
    >>> g.sizes.tolist(), g.correct.tolist(), g.before.tolist(), g.harmonic.round(3).tolist()
    ([1.0, 2.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.833])
    """

    confidence: Array
    answered: Array
    right: Array
    high: Array | None = None
    low: Array | None = None

    @cached_property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.answered[-1]) if len(self.answered) else 0

    @cached_property
    def hits(self) -> int:
        """Number of correct samples."""
        return int(self.right[-1]) if len(self.right) else 0

    @property
    def rarer(self) -> int:
        """Number of samples of the rarer verdict."""
        return min(self.hits, self.rows - self.hits)

    @cached_property
    def wrong(self) -> Array:
        """Wrong samples down to the end of the group."""
        return self.answered - self.right

    @cached_property
    def accuracy(self) -> Array:
        """Share of correct samples among those down to the end of the group."""
        return self.right / self.answered

    @cached_property
    def sizes(self) -> Array:
        """Samples in the group."""
        return np.diff(self.answered, prepend=0.0)

    @cached_property
    def correct(self) -> Array:
        """Correct samples in the group."""
        return np.diff(self.right, prepend=0.0)

    @cached_property
    def before(self) -> Array:
        """Samples in more confident groups."""
        return np.concatenate([[0.0], self.answered[:-1]])

    @cached_property
    def hits_before(self) -> Array:
        """Correct samples in more confident groups."""
        return np.concatenate([[0.0], self.right[:-1]])

    @property
    def lowest(self) -> Array:
        """Lowest confidence in each group: the threshold that answers all of it."""
        return self.confidence if self.low is None else self.low

    @property
    def highest(self) -> Array:
        """Highest confidence in each group."""
        return self.confidence if self.high is None else self.high

    @cached_property
    def widths(self) -> Array | None:
        """Highest minus lowest confidence in each group; None where every group holds true ties only."""
        return None if self.high is None or self.low is None else self.high - self.low

    @cached_property
    def harmonic(self) -> Array:
        """Sum of 1 / k over the group's ranks k = before + 1, ..., before + size."""
        return self._power_sum(1)

    @cached_property
    def harmonic2(self) -> Array:
        """Sum of 1 / k^2 over the group's ranks."""
        return self._power_sum(2)

    def _power_sum(self, power: int) -> Array:
        if self.rows <= _LONG and len(self.sizes) * 4 > self.rows:
            terms = 1.0 / np.arange(1.0, self.rows + 1) ** power
            if len(self.sizes) == self.rows:
                return terms
            return np.add.reduceat(terms, self.before.astype(np.intp))
        from scipy.special import digamma, zeta

        first, last = self.before + 1, self.answered + 1
        out: Array = digamma(last) - digamma(first) if power == 1 else zeta(2.0, first) - zeta(2.0, last)
        return out

    @cached_property
    def _tied(self) -> Array:
        """Numbers of the groups of more than one sample."""
        return np.flatnonzero(self.sizes > 1)

    @cached_property
    def _ties(self) -> tuple[Array, Array, Array, Array]:
        """Of those groups: size, samples before, correct samples, correct samples before."""
        at, first = self._tied, self._tied - 1
        before = np.where(first >= 0, self.answered[first], 0.0)
        start = np.where(first >= 0, self.right[first], 0.0)
        return self.answered[at] - before, before, self.right[at] - start, start

    @cached_property
    def accuracy_sum(self) -> float:
        """Sum over k = 1..n of the expected accuracy of the first k, ties in expectation over their order.

        A single sample at rank k adds right / k; a tie of m samples, c of them correct, after a samples of which C
        are correct, adds (C - c a / m)(H(a + m) - H(a)) + c.
        """
        size, before, correct, start = self._ties
        single = float(self.accuracy.sum()) - float(self.accuracy[self._tied].sum())
        if not len(size):
            return single
        if len(size) * _MANY_TIES > len(self.answered):
            harmonic = self.harmonic[self._tied]
        else:
            from scipy.special import digamma

            harmonic = digamma(before + size + 1) - digamma(before + 1)
        slope = correct / size
        return single + float(((start - slope * before) * harmonic + correct).sum())

    @cached_property
    def right_sum(self) -> float:
        """Sum over k = 1..n of the expected number of correct samples among the first k."""
        size, _, correct, start = self._ties
        shared = start * size + correct * (size + 1) / 2
        return float(self.right.sum()) + float((shared - start - correct).sum())

    @cached_property
    def disorder(self) -> Array:
        """How far the correct samples among the first few of a group may be from what is expected, by unknown order.

        Zero for true ties (whose expectation is the definition) and c (m - c) / m in a histogram bin of m
        with c correct.
        """
        spread: Array = self.correct * (self.sizes - self.correct) / self.sizes
        if self.widths is None:
            return np.zeros_like(spread)
        return np.where(self.widths > 0, spread, 0.0)

    @cached_property
    def coarse(self) -> Groups:
        """At most `MOST_GROUPS` groups of near equal size, for intervals; itself where there are no more."""
        return self.joined(MOST_GROUPS)

    def joined(self, most: int) -> Groups:
        """Neighbouring groups joined into at most ``most`` of near equal size; itself where there are no more.

        >>> g = Groups(np.array([0.9, 0.8, 0.7]), np.array([1.0, 2, 4]), np.array([1.0, 1, 3])).joined(2)
        >>> g.answered.tolist(), g.right.tolist(), g.highest.tolist(), g.lowest.tolist()
        ([2.0, 4.0], [1.0, 3.0], [0.9, 0.7], [0.8, 0.7])
        """
        if len(self.answered) <= most:
            return self
        wanted = np.arange(1, most + 1) * (self.rows / most)
        wanted[-1] = self.rows
        last = np.unique(np.searchsorted(self.answered, wanted - 1e-6))
        first = np.concatenate([[0], last[:-1] + 1])
        high, low = self.highest[first], self.lowest[last]
        middle = high + (low - high) / 2
        return Groups(middle, self.answered[last], self.right[last], high=high, low=low)

    def chunks(self, most: int) -> tuple[Float[Array, "chunk 2"], Float[Array, "chunk 2"]]:
        """Neighbouring groups joined into at most ``most`` chunks of near equal size, most confident first.

        Returns counts and summed confidence by (chunk, verdict), verdict 0 = wrong, 1 = correct.
        """
        wanted = np.arange(most) * (self.rows / most)
        starts = np.unique(np.searchsorted(self.before, wanted, side="right") - 1)
        counts = np.stack([self.sizes - self.correct, self.correct], axis=1)
        sums = counts * self.confidence[:, None]
        return np.add.reduceat(counts, starts, axis=0), np.add.reduceat(sums, starts, axis=0)
