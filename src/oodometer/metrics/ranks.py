"""Ranks: the state of metrics that need an order, exact up to four million rows, then a fine histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..predictions import Predictions
from ..registry import find
from ..scores import Score
from .base import CONFIDENCE, VERDICT, Metric, R, clean_confidence, confidence_and_verdict

MOST_GROUPS = (
    2048  # groups from which an interval is read; more are joined, which hardly moves a width
)
_LONG = 1 << 22  # ranks whose reciprocals are summed one by one
_MANY_TIES = 16  # with more than one tie in so many groups, harmonic sums are made for all at once


@dataclass(frozen=True, eq=False)
class Groups:
    """Samples grouped by equal confidence, most confident first; all arrays of shape (group,).

    confidence : confidence of the group (its mean, in a histogram).
    answered, right : samples down to the end of the group, and how many of them are correct; float64.
    high, low : highest and lowest confidence in the group where it holds more than true ties, else None.
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
        return digamma(last) - digamma(first) if power == 1 else zeta(2.0, first) - zeta(2.0, last)

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
        """Sum over k = 1..n of the expected accuracy of the first k, ties in expectation over their order."""
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
        """How far the correct samples among the first few of a group may be from what is expected; 0 for true ties."""
        spread: Array = self.correct * (self.sizes - self.correct) / self.sizes
        return (
            np.zeros_like(spread) if self.widths is None else np.where(self.widths > 0, spread, 0.0)
        )

    @cached_property
    def coarse(self) -> Groups:
        """At most `MOST_GROUPS` groups of near equal size, for intervals; itself where there are no more."""
        return self.joined(MOST_GROUPS)

    def joined(self, limit: int) -> Groups:
        """Neighbouring groups joined into at most ``limit`` of near equal size; itself where there are no more."""
        if len(self.answered) <= limit:
            return self
        goals = np.arange(1, limit + 1) * (self.rows / limit)
        goals[-1] = self.rows
        last = np.unique(np.searchsorted(self.answered, goals - 1e-6))
        first = np.concatenate([[0], last[:-1] + 1])
        high, low = self.highest[first], self.lowest[last]
        middle = high + (low - high) / 2
        return Groups(middle, self.answered[last], self.right[last], high=high, low=low)


LIMIT = 1 << 22  # rows kept one by one, at 4 (float32) or 8 bytes each

# The histogram: 1024 bins an octave of min(p, 1 - p), down to 2**-30. Like `kernels.log_odds_bin`, but finer, since
# what is lost inside a bin is an order of samples.
_MANTISSA_BITS = 10
_OCTAVES = 30
_HALF = _OCTAVES << _MANTISSA_BITS
_FINE_BINS, _SHIFT = 2 * _HALF, 23 - _MANTISSA_BITS
_TOP_CODE = int(np.float32(0.5).view(np.int32)) >> _SHIFT
# That of a score of any size: its sign, its exponent and the first bits of its mantissa, 64 bins an octave.
_SCORE_BITS = 18


def _fine_bin(confidence: Array) -> Array:
    upper = confidence >= 0.5
    tail = np.where(upper, 1 - confidence, confidence).astype(np.float32, copy=False)
    code = tail.view(np.int32) >> _SHIFT
    code -= _TOP_CODE - _HALF
    np.clip(code, 0, _HALF - 1, out=code)
    return np.where(upper, _FINE_BINS - 1 - code, code).astype(np.intp)


def _ordered(score: Array) -> Array:
    """The bits of float64 numbers, turned so that they sort as the numbers do."""
    bits = np.ascontiguousarray(score, dtype=np.float64).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


@dataclass(frozen=True, eq=False)
class _Histogram:
    """Fixed-size stand-in for many rows: count, correct, summed, lowest and highest confidence by bin."""

    counts: Array
    correct: Array
    sums: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, confidence: Array, verdict: Array, signed: bool = False) -> _Histogram:
        """Counts of confidences and verdicts of shape (sample,); ``signed`` for scores of any size."""
        bins = 1 << _SCORE_BITS if signed else _FINE_BINS
        at = (
            (_ordered(confidence) >> np.uint64(64 - _SCORE_BITS)).astype(np.intp)
            if signed
            else _fine_bin(confidence)
        )
        low, high = np.full(bins, np.inf), np.full(bins, -np.inf)
        exact = confidence.astype(np.float64, copy=False)
        np.minimum.at(low, at, exact)
        np.maximum.at(high, at, exact)
        counts, correct = (np.bincount(cells, minlength=bins) for cells in (at, at[verdict > 0]))
        return cls(counts, correct, np.bincount(at, weights=confidence, minlength=bins), low, high)

    def __add__(self, other: _Histogram) -> _Histogram:
        sums = self.counts + other.counts, self.correct + other.correct, self.sums + other.sums
        return _Histogram(*sums, np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def groups(self) -> Groups:
        """The bins that hold samples as groups, most confident first."""
        used = np.flatnonzero(self.counts)[::-1]
        sizes, correct = self.counts[used].astype(np.float64), self.correct[used].astype(np.float64)
        low, high = self.low[used], self.high[used]
        mean = np.clip(self.sums[used] / sizes, low, high)
        return Groups(mean, np.cumsum(sizes), np.cumsum(correct), high=high, low=low)


def _encode(confidence: Array, verdict: Array, signed: bool) -> Array:
    """One sortable integer a row, the most confident first: the bits of its confidence, then of its verdict."""
    if signed:
        key: Array = _ordered(confidence) & ~np.uint64(1)
    else:
        kind: type[np.unsignedinteger[Any]] = (
            np.uint32 if confidence.dtype == np.float32 else np.uint64
        )
        key = np.ascontiguousarray(confidence).view(kind) << kind(1)
    key |= verdict.astype(key.dtype)
    return np.invert(key, out=key)


def _confidence(key: Array, signed: bool) -> Array:
    """The confidences in keys; of a score of any size never more than the score itself."""
    low_bit = key.dtype.type(1)
    if signed:
        bits = ~key & ~low_bit
        sign = np.uint64(1 << 63)
        return np.asarray(np.where(bits & sign, bits ^ sign, ~bits).view(np.float64))
    return np.asarray((~key >> low_bit).view(np.float32 if key.dtype == np.uint32 else np.float64))


def _decode(key: Array, signed: bool) -> tuple[Array, Array]:
    return _confidence(key, signed), (~key & key.dtype.type(1)).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Confidence and verdict of every row, or, above `LIMIT` rows, a histogram; ``signed``: by a score of any size."""

    rows: int
    keys: tuple[Array, ...] = ()
    histogram: _Histogram | None = None
    signed: bool = False

    @classmethod
    def of(cls, confidence: Array, verdict: Array, signed: bool = False) -> Ranks:
        """State of confidences in [0, 1] (float32 or float64, no negative zero) and verdicts 0 or 1, (sample,)."""
        if len(confidence) > LIMIT:
            return cls(len(confidence), (), _Histogram.of(confidence, verdict, signed), signed)
        return cls(len(confidence), (_encode(confidence, verdict, signed),), None, signed)

    def __add__(self, other: Ranks) -> Ranks:
        """Rows of both; a histogram as soon as they are too many."""
        if self.signed != other.signed:
            raise UsageError(
                "states of different orderings cannot merge; use one metric for all parts"
            )
        rows = self.rows + other.rows
        if rows <= LIMIT:
            return Ranks(rows, self.keys + other.keys, None, self.signed)
        return Ranks(rows, (), self._collapsed() + other._collapsed(), self.signed)

    def _collapsed(self) -> _Histogram:
        if self.histogram is not None:
            return self.histogram
        return _Histogram.of(*_decode(self._joined(), self.signed), self.signed)

    def _joined(self) -> Array:
        keys = self.keys
        if len({key.dtype for key in keys}) > 1:  # float32 and float64 parts: widen, which is exact
            pairs = [_decode(key, False) for key in keys]
            keys = tuple(_encode(c.astype(np.float64), v, False) for c, v in pairs)
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
        low_bit = key.dtype.type(1)
        bits = key >> low_bit
        wrong = np.cumsum(key & low_bit, dtype=np.uint32)
        new = np.flatnonzero(bits[1:] != bits[:-1])
        last = np.append(new, len(bits) - 1) if len(bits) else new
        answered = last + 1.0
        return Groups(_confidence(key[last], self.signed), answered, answered - wrong[last])


def ordering_named(name: str) -> Score:
    """A registered score to put rows in order; `UsageError` where it must learn from a reference first."""
    score: Score = find("score", name)()
    if type(score)._fit is not Score._fit:
        raise UsageError(
            f"the score {name!r} learns from a reference, and there is none; use another score"
        )
    return score


def ordered_by(metrics: Sequence[Metric[Any, Any]], score: str | None) -> list[Metric[Any, Any]]:
    """The metrics, those of risk and coverage with rows ordered by a score; calibration errors keep the confidence.

    >>> from oodometer.registry import create
    >>> metrics = [create("metric", "aurc"), create("metric", "ks_calibration_error")]
    >>> [metric.state_key for metric in ordered_by(metrics, "margin")]
    ['ranks:margin', 'ranks']
    """
    if score is not None:
        ordering_named(score)
        for metric in metrics:
            if isinstance(metric, RankMetric) and metric.selective:
                metric.score = score
    return list(metrics)


class RankMetric(Metric[Ranks, R]):
    """A metric over `Ranks`, a state shared and sorted once. ``score`` orders the rows, by default the confidence."""

    needs = CONFIDENCE
    score: str | None = None
    selective: ClassVar[bool] = (
        True  # about risk and coverage, where any ordering will do, unlike calibration
    )

    @property
    def state_key(self) -> str:
        """One state for all that share an ordering."""
        return "ranks" if self.score is None else f"ranks:{self.score}"

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None: the verdict, and what the ordering needs."""
        if self.score is None:
            return self.missing(record)
        if not any(all(record.has(name) for name in group) for group in VERDICT):
            return (
                f"needs label and prediction, or correct; the record has {', '.join(record.fields)}"
            )
        return ordering_named(self.score).why_not(record)

    def ordering(self, batch: Predictions) -> tuple[Array, Array, bool]:
        """What rows are ordered by, their verdicts, and whether the order may leave [0, 1]; rows of known truth."""
        if self.score is None:
            return *confidence_and_verdict(batch), False
        labelled, score = batch.known(), ordering_named(self.score)
        values = np.asarray(score(labelled))
        if score.is_probability:
            return clean_confidence(values), labelled.verdicts, False
        if not np.isfinite(values).all():
            raise NotApplicable(f"the score {self.score} is not finite in every row")
        return values.astype(np.float64) + 0.0, labelled.verdicts, True

    def summarize(self, batch: Predictions) -> Ranks:
        """Confidence (or score) and verdict of one batch."""
        return Ranks.of(*self.ordering(batch))
