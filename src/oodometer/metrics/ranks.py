"""Ranks: the state of metrics that need an order, exact up to four million rows, then a fine histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from .base import CONFIDENCE, Metric, R, confidence_and_verdict

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["LIMIT", "Groups", "RankMetric", "Ranks"]

LIMIT = 1 << 22  # rows kept one by one, at 4 (float32) or 8 bytes each

# The histogram: 1024 bins an octave of min(p, 1 - p), down to 2**-30. Like `kernels.log_odds_bin`, but finer, since
# what is lost inside a bin is an order of samples.
_MANTISSA_BITS = 10
_OCTAVES = 30
_HALF = _OCTAVES << _MANTISSA_BITS
_FINE_BINS = 2 * _HALF
_SHIFT = 23 - _MANTISSA_BITS
_TOP_CODE = int(np.float32(0.5).view(np.int32)) >> _SHIFT


def _fine_bin(confidence: Array) -> Array:
    upper = confidence >= 0.5
    tail = np.where(upper, 1 - confidence, confidence).astype(np.float32, copy=False)
    code = tail.view(np.int32) >> _SHIFT
    code -= _TOP_CODE - _HALF
    np.clip(code, 0, _HALF - 1, out=code)
    out: Array = np.where(upper, _FINE_BINS - 1 - code, code).astype(np.intp)
    return out


@dataclass(frozen=True, eq=False)
class Groups:
    """Samples grouped by equal confidence, most confident first; all arrays of shape (group,), float64.

    confidence : confidence of the group (its mean, in a histogram).
    sizes, correct : samples in the group, and how many of them are correct.
    widths : highest minus lowest confidence in the group; 0 where it holds true ties only.
    rows, hits : samples and correct samples in all.

    >>> g = Ranks.of(np.array([0.9, 0.5, 0.5]), np.array([1, 0, 1])).groups
    >>> g.sizes.tolist(), g.correct.tolist(), g.before.tolist(), g.harmonic.round(3).tolist()
    ([1.0, 2.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.833])
    """

    confidence: Array
    sizes: Array
    correct: Array
    widths: Array | None = None

    @cached_property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.sizes.sum())

    @cached_property
    def hits(self) -> int:
        """Number of correct samples."""
        return int(self.correct.sum())

    @property
    def rarer(self) -> int:
        """Number of samples of the rarer verdict."""
        return min(self.hits, self.rows - self.hits)

    @cached_property
    def before(self) -> Array:
        """Samples in more confident groups."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def hits_before(self) -> Array:
        """Correct samples in more confident groups."""
        return np.cumsum(self.correct) - self.correct

    @cached_property
    def harmonic(self) -> Array:
        """Sum of 1 / k over the group's ranks k = before + 1, ..., before + size."""
        return self._power_sum(1)

    @cached_property
    def harmonic2(self) -> Array:
        """Sum of 1 / k^2 over the group's ranks."""
        return self._power_sum(2)

    def _power_sum(self, power: int) -> Array:
        if self.rows <= LIMIT:
            terms = 1.0 / np.arange(1.0, self.rows + 1) ** power
            if len(self.sizes) == self.rows:
                return terms
            return np.add.reduceat(terms, self.before.astype(np.intp))
        from scipy.special import digamma, zeta

        first, last = self.before + 1, self.before + self.sizes + 1
        out: Array = digamma(last) - digamma(first) if power == 1 else zeta(2.0, first) - zeta(2.0, last)
        return out

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

    def chunks(self, most: int) -> tuple[Float[Array, "chunk 2"], Float[Array, "chunk 2"]]:
        """Neighbouring groups joined into at most ``most`` chunks of near equal size, most confident first.

        Returns counts and summed confidence by (chunk, verdict), verdict 0 = wrong, 1 = correct.
        """
        wanted = np.arange(most) * (self.rows / most)
        starts = np.unique(np.searchsorted(self.before, wanted, side="right") - 1)
        counts = np.stack([self.sizes - self.correct, self.correct], axis=1)
        sums = counts * self.confidence[:, None]
        return np.add.reduceat(counts, starts, axis=0), np.add.reduceat(sums, starts, axis=0)


@dataclass(frozen=True, eq=False)
class _Histogram:
    """Fixed-size stand-in for many rows: count, correct, summed, lowest and highest confidence by bin."""

    counts: Array
    correct: Array
    sums: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, confidence: Array, verdict: Array) -> _Histogram:
        at = _fine_bin(confidence)
        low, high = np.full(_FINE_BINS, np.inf), np.full(_FINE_BINS, -np.inf)
        exact = confidence.astype(np.float64, copy=False)
        np.minimum.at(low, at, exact)
        np.maximum.at(high, at, exact)
        return cls(
            np.bincount(at, minlength=_FINE_BINS),
            np.bincount(at[verdict > 0], minlength=_FINE_BINS),
            np.bincount(at, weights=confidence, minlength=_FINE_BINS),
            low,
            high,
        )

    def merge(self, other: _Histogram) -> _Histogram:
        return _Histogram(
            self.counts + other.counts,
            self.correct + other.correct,
            self.sums + other.sums,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def groups(self) -> Groups:
        used = np.flatnonzero(self.counts)[::-1]
        sizes = self.counts[used].astype(np.float64)
        mean = np.clip(self.sums[used] / sizes, self.low[used], self.high[used])
        return Groups(
            mean, sizes, self.correct[used].astype(np.float64), widths=self.high[used] - self.low[used]
        )


def _encode(confidence: Array, verdict: Array) -> Array:
    """One sortable integer a row: the bits of a number in [0, 1], which keep its order, then the verdict.

    The two highest bits of such a number are zero, so nothing is lost; integers sort several times faster
    than rows.
    """
    kind: type[np.unsignedinteger[Any]] = np.uint32 if confidence.dtype == np.float32 else np.uint64
    key: Array = confidence.view(kind) << kind(1)
    key |= verdict.astype(kind)
    return key


def _decode(key: Array) -> tuple[Array, Array]:
    kind = key.dtype.type
    floats = np.float32 if kind is np.uint32 else np.float64
    return (key >> kind(1)).view(floats), (key & kind(1)).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Confidence and verdict of every row, or, above `LIMIT` rows, a histogram of both.

    Whether rows are kept depends on their number in all, never on the order of merging, so merging stays
    associative.
    """

    rows: int
    keys: tuple[Array, ...] = ()
    histogram: _Histogram | None = None

    @classmethod
    def of(cls, confidence: Array, verdict: Array) -> Ranks:
        """State of confidences in [0, 1] (float32 or float64, no negative zero) and verdicts 0 or 1, (sample,)."""
        if len(confidence) > LIMIT:
            return cls(len(confidence), (), _Histogram.of(confidence, verdict))
        return cls(len(confidence), (_encode(np.ascontiguousarray(confidence), verdict),))

    def merge(self, other: Ranks) -> Ranks:
        """Rows of both; a histogram as soon as they are too many."""
        rows = self.rows + other.rows
        if rows <= LIMIT:
            return Ranks(rows, self.keys + other.keys)
        return Ranks(rows, (), self._collapsed().merge(other._collapsed()))

    def _collapsed(self) -> _Histogram:
        if self.histogram is not None:
            return self.histogram
        return _Histogram.of(*_decode(self._joined()))

    def _joined(self) -> Array:
        keys = self.keys
        if len({key.dtype for key in keys}) > 1:  # float32 and float64 parts: widen, which is exact
            pairs = [_decode(key) for key in keys]
            keys = tuple(_encode(c.astype(np.float64), v) for c, v in pairs)
        return np.concatenate(keys) if keys else np.empty(0, dtype=np.uint64)

    @property
    def exact(self) -> bool:
        """Whether every row was kept."""
        return self.histogram is None

    @cached_property
    def groups(self) -> Groups:
        """Groups of equal confidence, most confident first; sorted once for all metrics that share the state."""
        if self.histogram is not None:
            return self.histogram.groups()
        key = self._joined()
        key.sort()
        key = key[::-1]
        bits = key >> key.dtype.type(1)
        verdict = (key & key.dtype.type(1)).astype(np.float64)
        new = np.empty(len(bits), dtype=bool)
        new[:1] = True
        np.not_equal(bits[1:], bits[:-1], out=new[1:])
        confidence = bits.view(np.float32 if bits.dtype == np.uint32 else np.float64)
        if new.all():
            return Groups(confidence.astype(np.float64), np.ones(len(bits)), verdict)
        starts = np.flatnonzero(new)
        sizes = np.diff(starts, append=len(bits)).astype(np.float64)
        return Groups(confidence[starts].astype(np.float64), sizes, np.add.reduceat(verdict, starts))


class RankMetric(Metric[Ranks, R]):
    """A metric over `Ranks`; all of them share one state, sorted once."""

    needs = CONFIDENCE

    @property
    def state_key(self) -> str:
        """One state for all."""
        return "ranks"

    def summarize(self, batch: Predictions) -> Ranks:
        """Confidence and verdict of one batch."""
        return Ranks.of(*confidence_and_verdict(batch))

    def merge(self, a: Ranks, b: Ranks) -> Ranks:
        """Rows of both."""
        return a.merge(b)
