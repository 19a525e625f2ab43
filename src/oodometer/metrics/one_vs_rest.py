"""One versus rest: the state of metrics of class scores, who is of a class and who is not by its probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, as_cells
from ..checks import check_finite, check_length
from ..classes import truth_values
from ..errors import InputError, NotApplicable, UsageError
from ..predictions import Predictions
from .base import CLASSES, Measure, Metric, R, measure
from .confusion import Confusion
from .positive_class import AboutClass
from .ranks import Ranks
from .spread import dot, from_effective_rows

_KEPT = 1 << 22  # values kept one by one, at 4 or 8 bytes each; more are counted in bins
_SORTED = 1 << 18  # of them are put in their exact order
_OCTAVES = 30
_CELLS = 1 << 19  # bins of all classes together, but at least 60 of each
_MOST_BITS = 10
_AT_A_TIME = 1 << 14  # rows whose numbers stay in the cache


class ScoreCounts(NamedTuple):
    """Samples of a class and of all others by rising score, shape (group,): of one score each, or of a narrow bin."""

    positives: Array
    negatives: Array

    def turned(self) -> ScoreCounts:
        """The same about the other of two classes, whose score is 1 - p."""
        return ScoreCounts(self.negatives[::-1], self.positives[::-1])


class Uncertain(NamedTuple):
    """An estimate, and how far one sample of the class, or one of all others, moves it, shape (group,)."""

    value: float
    by_positive: Array
    by_negative: Array

    def variances(self, counts: ScoreCounts) -> tuple[float, float]:
        """The variance that the samples of the class bring, and that of all others."""
        return dot(counts.positives, self.by_positive**2), dot(counts.negatives, self.by_negative**2)


def _bits(classes: int) -> int:
    """Bits of the mantissa that tell bins apart: 10 for one column of scores, fewer for many classes."""
    return max(0, min(_MOST_BITS, int(np.log2(max(_CELLS / (2 * _OCTAVES * classes), 1)))))


def _counted(scores: Array, positive: Array, bits: int) -> Array:
    """Samples by bin of their score and whether they are positive; int64, axes (bin, verdict).

    Bins rise with the score and are equal in the exponent and the first bits of min(p, 1 - p): 2**bits an octave.
    """
    shift, half = 23 - bits, _OCTAVES << bits
    first = (int(np.float32(0.5).view(np.int32)) >> shift) - half
    cell = np.empty(len(scores), dtype=np.intp)
    for start in range(0, len(scores), _AT_A_TIME):
        stop = start + _AT_A_TIME
        p = scores[start:stop]
        tail = np.minimum(p, 1 - p).astype(np.float32, copy=False)
        code = tail.view(np.int32) >> shift
        code -= first
        np.maximum(code, 0, out=code)  # also where rounding made a probability negative
        np.minimum(code, half - 1, out=code)
        code = np.where(p >= 0.5, 2 * half - 1 - code, code)
        code <<= 1
        code |= positive[start:stop]
        cell[start:stop] = code
    return np.bincount(cell, minlength=4 * half).reshape(2 * half, 2).astype(np.int64, copy=False)


def _counts(scores: Array, label: Array, of: Array, bits: int) -> Array:
    """`_counted` of each column, whose class is in ``of``; axes (column, bin, verdict)."""
    return np.stack([_counted(scores[:, place], label == k, bits) for place, k in enumerate(of)])


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """Confusion counts, and probabilities with labels: kept, or above `_KEPT` values counted in narrow bins.

    Of two classes one column is enough. Whether values are kept depends on their number in all, never on the order of
    merging, so merging stays associative. ``scored``: whether there are probabilities at all.
    """

    confusion: Confusion
    rows: int
    scored: bool = False
    kept: tuple[tuple[Array, Array], ...] = ()
    binned: Array | None = None

    @classmethod
    def of(cls, batch: Predictions) -> OneVsRest:
        """State of the rows of a record whose class is known."""
        confusion: Confusion = batch.derived("confusion", lambda: Confusion.of(batch))
        if batch.probabilities is None or batch.label is None:
            return cls(confusion, confusion.rows)
        known = batch.label >= 0
        at = slice(None) if known.all() else known
        columns = slice(1, 2) if batch.num_classes == 2 else slice(None)
        scores, label = batch.probabilities[at, columns], batch.label[at]  # no copies: they are kept, or counted soon
        return cls(confusion, len(label), True, ((scores, label),))._bounded()

    @property
    def columns(self) -> Array:
        """Classes whose scores are held."""
        classes = len(self.confusion.classes)
        return np.array([1]) if classes == 2 else np.arange(classes)

    def _bounded(self) -> OneVsRest:
        """The state itself, or with bins where its values are too many."""
        if not self.kept or self.rows * len(self.columns) <= _KEPT:
            return self
        counts = self._collapsed(self.kept)
        counts = counts if self.binned is None else counts + self.binned
        return OneVsRest(self.confusion, self.rows, True, (), counts)

    def _collapsed(self, kept: tuple[tuple[Array, Array], ...]) -> Array:
        bits = _bits(len(self.columns))
        return reduce(np.add, (_counts(scores, label, self.columns, bits) for scores, label in kept))

    def __add__(self, other: OneVsRest) -> OneVsRest:
        """Rows of both."""
        if self.rows and other.rows and self.scored != other.scored:
            raise UsageError("some parts have probabilities and some have none; give all of them, or leave them out")
        confusion, rows = self.confusion + other.confusion, self.rows + other.rows
        binned = [one for one in (self.binned, other.binned) if one is not None]
        counts = sum(binned[1:], binned[0]) if binned else None
        scored = self.scored or other.scored
        return OneVsRest(confusion, rows, scored, self.kept + other.kept, counts)._bounded()

    @cached_property
    def exact(self) -> bool:
        """Whether scores are put in their exact order; else those of one narrow bin count as tied."""
        return self.binned is None and self.rows * len(self.columns) <= _SORTED

    @property
    def binning(self) -> float | None:
        """How far at most an area under the ROC curve may be off for ties within bins; None where orders are exact."""
        if self.exact:
            return None
        pairs = [(dot(p, n), float(p.sum() * n.sum())) for p, n in self.by_class[-len(self.columns) :]]
        return float(np.mean([tied / both / 2 for tied, both in pairs if both] or [0.0]))

    @cached_property
    def by_class(self) -> list[ScoreCounts]:
        """Counts by score for each class, in the order of the classes."""
        if not self.scored:
            raise NotApplicable("needs `probabilities` (or `logits`)")
        if not self.exact:
            counts = self._collapsed(self.kept) if self.binned is None else self.binned
            made = []
            for own in counts:
                used = np.flatnonzero(own[:, 0] + own[:, 1])
                made.append(ScoreCounts(own[used, 1].astype(np.float64), own[used, 0].astype(np.float64)))
        elif len(self.confusion.classes) == 2:
            scores, label = self._joined
            made = [_in_order(scores[:, 0], label == 1)]
        else:
            label = self._joined[1]
            made = [_tallied(label == k, place) for k, place in zip(self.columns, self.places or (), strict=True)]
        return [made[0].turned(), made[0]] if len(self.confusion.classes) == 2 else made

    @property
    def _joined(self) -> tuple[Array, Array]:
        return np.concatenate([s for s, _ in self.kept]), np.concatenate([y for _, y in self.kept])

    @cached_property
    def places(self) -> list[Array] | None:
        """The group of each row in the counts of each of several classes; None where rows are not kept in order."""
        if not self.exact or len(self.confusion.classes) == 2:
            return None
        return [np.unique(column, return_inverse=True)[1].reshape(-1) for column in self._joined[0].T]

    def variance(self, each: list[Uncertain | None]) -> float:
        """Of the mean of several classes' numbers.

        Where rows are kept, from how far each row moves the mean in all its parts. Else samples of different classes
        are different samples; as the rest of several classes they are the same ones, and what the two do together is
        not known: at worst they move the mean as one.
        """
        used = [(k, one) for k, one in enumerate(each) if one is not None]
        if self.places is not None:
            label, moved = self._joined[1], np.zeros(self.rows)
            for k, one in used:
                moved += np.where(label == k, one.by_positive[self.places[k]], one.by_negative[self.places[k]])
            return dot(moved, moved) / len(used) ** 2
        parts = np.array([one.variances(self.by_class[k]) for k, one in used])
        return float(parts[:, 0].sum() ** 0.5 + (parts[:, 1] ** 0.5).sum()) ** 2 / len(used) ** 2


def _tallied(positive: Array, place: Array) -> ScoreCounts:
    """Counts of groups from the group of each row."""
    width = int(place.max()) + 1
    pos, neg = (np.bincount(place[which], minlength=width) for which in (positive, ~positive))
    return ScoreCounts(pos.astype(np.float64), neg.astype(np.float64))


def _in_order(scores: Array, positive: Array) -> ScoreCounts:
    """Counts of each distinct score, rising."""
    clean = np.clip(scores, 0, 1) + scores.dtype.type(0)
    groups = Ranks.of(clean, positive.view(np.int8)).groups
    return ScoreCounts(groups.correct[::-1], (groups.sizes - groups.correct)[::-1])


def score_counts(positive: Any, score: Any) -> ScoreCounts:
    """Arguments of the pure functions, checked: which samples are positive, and finite scores; at least one sample.

    >>> [counts.tolist() for counts in score_counts([True, False, True], [0.5, 0.5, 2.0])]
    [[1, 1], [1, 0]]
    """
    verdict, values = truth_values(positive, "positive"), np.asarray(as_cells(score))
    check_length(len(verdict), len(values), "score")
    if values.dtype.kind not in "fiu" or values.ndim != 1 or not len(values):
        got = f"{values.dtype}, shape {values.shape}"
        raise InputError("one score a sample", got=got, remedy="give a number for each", column="score")
    check_finite(values.astype(np.float64), "score", "sample")
    if (verdict < 0).any():
        row = int(np.argmax(verdict < 0)) + 1
        raise InputError("true or false", got="null", remedy="drop the row", row=row, column="positive")
    distinct, at = np.unique(values, return_inverse=True)
    width = len(distinct)
    return ScoreCounts(np.bincount(at[verdict == 1], minlength=width), np.bincount(at[verdict == 0], minlength=width))


class OneVsRestMetric(AboutClass, Metric[OneVsRest, R]):
    """A metric over `OneVsRest`; all of them share one state, put in order once."""

    needs = CLASSES

    @property
    def state_key(self) -> str:
        """One state for all."""
        return "one_vs_rest"

    def summarize(self, batch: Predictions) -> OneVsRest:
        """Scores and labels of one batch."""
        return OneVsRest.of(batch)

    def averaged(
        self, state: OneVsRest, of: Callable[[ScoreCounts], Uncertain | None], level: float, **extras: Any
    ) -> Measure:
        """What ``of`` says of the positive class of two, else its mean over the classes of which it says something."""
        extras = {name: extra for name, extra in extras.items() if extra is not None}
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        classes, support = state.confusion.classes, state.confusion.support
        if len(classes) == 2:
            at = self.position(classes)
            own = of(state.by_class[at])
            if own is None:
                raise NotApplicable(f"every row is of class {classes[int(support.argmax())]!r}: needs both classes")
            few = int(support.min())
            ends = from_effective_rows(own.value, sum(own.variances(state.by_class[at])), few, level)
            return measure(own.value, ends, level, "asymptotic", positive=classes[at], **extras)
        each = [of(counts) for counts in state.by_class]
        used = [k for k, one in enumerate(each) if one is not None]
        there = [one for one in each if one is not None]
        if not there:
            raise NotApplicable("every row is of one class: needs two")
        value = float(np.mean([one.value for one in there]))
        few = int(support[used].sum())
        ends = from_effective_rows(value, state.variance(each), few, level)
        extras |= {"average": "macro, one versus rest", "classes": len(there)}
        return measure(value, ends, level, "asymptotic", **extras)
