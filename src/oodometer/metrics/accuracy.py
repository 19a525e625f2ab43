"""Accuracy, top-k accuracy and recall at k: shares of samples that are right, with exact binomial intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array, Ragged, present
from ..classes import encode_positions, truth_values
from ..errors import InputError, NotApplicable, UsageError
from ..fields import check_candidate_scores, check_length, check_within
from ..inference.method import Sums
from ..intervals import clopper_pearson
from ..predictions import Predictions
from ..registry import register
from .base import VERDICT, Measure, Metric, S, checked_classes, measure, where_labelled

_OFTEN_ASKED = (1, 2, 3, 5, 10)


def recall_at_k(candidate_scores: Any, label: Any, k: int = 1) -> float:
    """R@k = share of samples whose true candidate is among the k of the highest scores, a fraction.

    ``candidate_scores``: a list of scores a sample; ``label``: the position of the true one, from 0. Among equal scores
    the first comes first, as in a prediction, so that R@1 is the accuracy.

    Raises `InputError` for scores or positions that are none, `UsageError` for a k below 1. Source: Lowe et al. (2015).

    >>> recall_at_k([[0.1, 0.9, 0.5], [2.0, 1.0, 3.0]], [2, 2], k=1), recall_at_k([[0.1, 0.9, 0.5]], [2], k=2)
    (0.5, 1.0)
    """
    scores = check_candidate_scores(candidate_scores)
    truth = encode_positions(label, "label")
    check_length(len(scores), len(truth), "label")
    if not len(truth) or (truth < 0).any():
        raise InputError(
            "a true candidate for every sample",
            got="null" if len(truth) else "none",
            remedy="drop unlabelled rows",
            column="label",
        )
    check_within(truth, scores, "label")
    return float((_candidates_before(scores, truth) < _checked_k(k, "R@1")).mean())


def _checked_k(k: Any, first: str) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise UsageError(f"expected a k of at least 1, got {k!r}; {first} is the accuracy")
    return int(k)


def _candidates_before(scores: Ragged, truth: Array) -> Array:
    """How many candidates stand before the true one, int64, shape (sample,)."""
    starts, lengths = scores.offsets[:-1], scores.lengths
    true_score = np.repeat(scores.values[starts + truth], lengths)
    at = np.arange(len(scores.values)) - np.repeat(starts, lengths)
    before = (scores.values > true_score) | (
        (scores.values == true_score) & (at < np.repeat(truth, lengths))
    )
    return np.add.reduceat(before.astype(np.int64), starts)


class _AtK(Metric[S, Measure]):
    """What both share that ask for a true class or candidate among the first ``k``; ``name:5`` asks for k = 5."""

    bigger_is_better = True
    quiet = True
    example: ClassVar[str]
    first: ClassVar[str]  # what k = 1 is called

    def __init__(self, k: int = 1) -> None:
        self.k = _checked_k(k, self.first)

    @classmethod
    def from_argument(cls, argument: str) -> Self:
        """The metric with the k after the colon."""
        if not (argument.isascii() and argument.isdecimal()):
            raise UsageError(f"expected a k such as {cls.example}, got {argument!r}")
        return cls(int(argument))


@dataclass(frozen=True, eq=False)
class Places:
    """How many samples have their true candidate at each place, shape (place,), and the most and fewest candidates."""

    rows: int
    counts: Array
    most: int
    fewest: int

    def __add__(self, other: Places) -> Places:
        counts = np.zeros(max(len(self.counts), len(other.counts)), dtype=np.int64)
        counts[: len(self.counts)] += self.counts
        counts[: len(other.counts)] += other.counts
        rows = self.rows + other.rows
        return Places(rows, counts, max(self.most, other.most), min(self.fewest, other.fewest))


@register("metric")
class RecallAtK(_AtK[Places]):
    """R@k, with the interval of Clopper and Pearson (1934); ``recall_at_k:5`` asks for k = 5.
    ``by_k`` has it for other k, ``mean_reciprocal_rank`` the mean of 1 / place; of R@k/n, n is ``most_candidates``.
    Only of records with `candidate_scores`. Source: Lowe et al. (2015).

    >>> p = Predictions.from_candidates([[0.1, 0.9, 0.5], [2.0, 1.0, 3.0]], label=[2, 2])
    >>> found = RecallAtK(k=2).compute(p)
    >>> found.value, [row["value"] for row in found.extras["by_k"]], found.extras["mean_reciprocal_rank"]
    (1.0, [0.5, 1.0], 0.75)
    """

    name = "recall_at_k"
    needs = (("candidate_scores", "label"),)
    example, first = "recall_at_k:5", "R@1"
    citation = "lowe2015"

    def summarize(self, batch: Predictions) -> Places:
        """Count the places of the true candidates."""
        if batch.label is None or batch.candidate_scores is None:
            raise NotApplicable("needs `candidate_scores` and `label`")
        at = np.flatnonzero(batch.label >= 0)
        scores, label = batch.candidate_scores.take(at), batch.label[at]
        if not len(label):
            return Places(0, np.zeros(0, dtype=np.int64), 0, np.iinfo(np.int64).max)
        counts, lengths = np.bincount(_candidates_before(scores, label)), scores.lengths
        return Places(len(label), counts, int(lengths.max()), int(lengths.min()))

    def row_values(self, batch: Predictions) -> Array:
        """1 where the true candidate is among the first k."""

        def hits(rows: Predictions) -> Array:
            before = _candidates_before(present(rows.candidate_scores), present(rows.label))
            return (before < self.k).astype(np.float64)

        return where_labelled(batch, hits)

    def _finish(self, state: Places, level: float, seed: int) -> Measure:
        rows, by_k = state.rows, []
        for k in sorted({self.k, *(often for often in _OFTEN_ASKED if often < state.most)}):
            hits = int(state.counts[:k].sum())
            low, high = clopper_pearson(hits, rows, level)
            by_k.append({"k": k, "value": hits / rows, "lower": low, "upper": high})
        at_k = next(row for row in by_k if row["k"] == self.k)
        reciprocal = (state.counts / np.arange(1, len(state.counts) + 1)).sum() / rows
        return measure(
            at_k["value"],
            (at_k["lower"], at_k["upper"]),
            level,
            "exact",
            k=self.k,
            most_candidates=state.most,
            fewest_candidates=state.fewest,
            mean_reciprocal_rank=float(reciprocal),
            by_k=by_k,
        )


def accuracy(correct: Any) -> float:
    """Share of samples that are correct, a fraction, of ``correct`` (sample,); `InputError` for none or odd ones.

    >>> accuracy([True, True, False, True])
    0.75
    """
    verdict = truth_values(correct, "correct")
    if not verdict.size or (verdict < 0).any():
        raise InputError(
            "a verdict for every sample",
            got="null" if verdict.size else "none",
            remedy="drop unlabelled rows",
            column="correct",
        )
    return float(verdict.mean())


@register("metric")
class Accuracy(Metric[Sums, Measure]):
    """Accuracy, hits / n, with the interval of Clopper and Pearson (1934), which holds for every n.

    Source: Clopper and Pearson (1934) for the interval.

    >>> Accuracy().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value
    0.75
    """

    name = "accuracy"
    needs = VERDICT
    bigger_is_better = True
    citation = "clopper1934"

    def summarize(self, batch: Predictions) -> Sums:
        """Count the rows of known truth."""
        verdict = batch.known().verdicts
        return Sums(rows=len(verdict), hits=int(verdict.sum()))

    def row_values(self, batch: Predictions) -> Array:
        """1 where a row is right."""
        return batch.verdicts.astype(np.float64)

    def _finish(self, state: Sums, level: float, seed: int) -> Measure:
        hits, rows = state["hits"], state["rows"]
        return measure(hits / rows, clopper_pearson(hits, rows, level), level, "exact")


def top_k_accuracy(probabilities: Any, label: Any, k: int = 5) -> float:
    """Share of samples whose true class is among the k of the highest probabilities, a fraction.

    ``probabilities`` of shape (sample, class), ``label`` integer classes of shape (sample,). Among equal probabilities
    the first class comes first, as in a prediction, so that k = 1 is the accuracy. Raises `InputError` for arrays that
    hold no probabilities or no known classes, `UsageError` for a k below 1. Source: Russakovsky et al. (2015).

    >>> top_k_accuracy([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [1, 0], k=2)
    0.5
    """
    checked, codes = checked_classes(probabilities, label)
    return float((_classes_before(checked, codes) < _checked_k(k, "top 1")).mean())


def _classes_before(probabilities: Array, label: Array) -> Array:
    """How many classes stand before the true one, int64, shape (sample,)."""
    true_probability = probabilities[np.arange(len(label)), label][:, None]
    before = probabilities > true_probability
    tied = (probabilities == true_probability) & (
        np.arange(probabilities.shape[1]) < label[:, None]
    )
    return np.asarray(np.count_nonzero(before | tied, axis=1))


@register("metric")
class TopKAccuracy(_AtK[Sums]):
    """Top-k accuracy with the interval of Clopper and Pearson (1934); ``top_k_accuracy:3`` asks for k = 3, not 5.

    Only for more than k classes. Source: Russakovsky et al. (2015).

    >>> p = Predictions.from_probabilities([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], label=[1, 0])
    >>> TopKAccuracy(k=2).compute(p).value
    0.5
    """

    name = "top_k_accuracy"
    needs = (("class", "label", "probabilities"),)
    example, first = "top_k_accuracy:3", "top 1"
    citation = "russakovsky2015"

    def __init__(self, k: int = 5) -> None:
        super().__init__(k)

    @property
    def state_key(self) -> str:
        """One state for each k."""
        return f"top:{self.k}"

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        few = record.probabilities is not None and record.num_classes <= self.k
        return (
            f"needs more than {self.k} classes; ask for top_k_accuracy:2, say"
            if few
            else self.missing(record)
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Count the rows whose true class is among the first k."""
        if batch.label is None or batch.probabilities is None:
            raise NotApplicable("needs `probabilities` and `label`")
        labelled = batch.label >= 0
        ranks = _classes_before(batch.probabilities[labelled], batch.label[labelled])
        return Sums(rows=len(ranks), hits=int(np.count_nonzero(ranks < self.k)))

    def row_values(self, batch: Predictions) -> Array:
        """1 where the true class is among the first k."""

        def hits(rows: Predictions) -> Array:
            ranks = _classes_before(present(rows.probabilities), present(rows.label))
            return (ranks < self.k).astype(np.float64)

        return where_labelled(batch, hits)

    def _finish(self, state: Sums, level: float, seed: int) -> Measure:
        hits, rows = state["hits"], state["rows"]
        return measure(hits / rows, clopper_pearson(hits, rows, level), level, "exact", k=self.k)
