"""Recall at k: how often the true one is among the k candidates of the highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from ..arrays import Array, Ragged
from ..candidates import check_candidate_scores, check_within
from ..checks import check_length
from ..classes import encode_positions
from ..errors import InputError, NotApplicable, UsageError
from ..intervals import clopper_pearson
from ..predictions import Predictions
from ..registry import register
from .base import Measure, Metric, measure

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
        got = "null" if len(truth) else "none"
        raise InputError("a true candidate for every sample", got=got, remedy="drop unlabelled rows", column="label")
    check_within(truth, scores, "label")
    return float((_places(scores, truth) < _checked(k)).mean())


def _checked(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise UsageError(f"expected a k of at least 1, got {k!r}; R@1 is the accuracy")
    return int(k)


def _places(scores: Ragged, truth: Array) -> Array:
    """How many candidates stand before the true one, int64, shape (sample,)."""
    starts, lengths = scores.offsets[:-1], scores.lengths
    own = np.repeat(scores.values[starts + truth], lengths)
    at = np.arange(len(scores.values)) - np.repeat(starts, lengths)
    before = (scores.values > own) | ((scores.values == own) & (at < np.repeat(truth, lengths)))
    found: Array = np.add.reduceat(before.astype(np.int64), starts)
    return found


@dataclass(frozen=True, eq=False)
class Places:
    """How many samples have their true candidate at each place, shape (place,), and the most and fewest candidates."""

    counts: Array
    most: int
    fewest: int

    def __add__(self, other: Places) -> Places:
        counts = np.zeros(max(len(self.counts), len(other.counts)), dtype=np.int64)
        counts[: len(self.counts)] += self.counts
        counts[: len(other.counts)] += other.counts
        return Places(counts, max(self.most, other.most), min(self.fewest, other.fewest))


@final
@register("metric")
class RecallAtK(Metric[Places, Measure]):
    """R@k, with the interval of Clopper and Pearson (1934); ``recall_at_k:5`` asks for k = 5.

    ``by_k`` has it for other k, ``mean_reciprocal_rank`` the mean of 1 / place. By default k is 1; of R@k/n, n is the
    number of candidates, ``most_candidates``. Only of records with `candidate_scores`.

    Source: Lowe et al. (2015).

    >>> p = Predictions.from_candidates([[0.1, 0.9, 0.5], [2.0, 1.0, 3.0]], label=[2, 2])
    >>> found = RecallAtK(k=2).compute(p)
    >>> found.value, [row["value"] for row in found.extras["by_k"]], found.extras["mean_reciprocal_rank"]
    (1.0, [0.5, 1.0], 0.75)
    """

    name = "recall_at_k"
    needs = (("candidate_scores", "label"),)
    bigger_is_better = True
    quiet = True
    citation = "lowe2015"

    def __init__(self, k: int = 1) -> None:
        self.k = _checked(k)

    @classmethod
    def from_argument(cls, argument: str) -> Self:
        """``recall_at_k:5``."""
        if not (argument.isascii() and argument.isdecimal()):
            raise UsageError(f"expected a k such as recall_at_k:5, got {argument!r}")
        return cls(int(argument))

    def summarize(self, batch: Predictions) -> Places:
        """Count the places of the true candidates."""
        if batch.label is None or batch.candidate_scores is None:
            raise NotApplicable("needs `candidate_scores` and `label`")
        known = batch.take(batch.label >= 0)
        scores, label = known.candidate_scores, known.label
        assert scores is not None
        assert label is not None
        if not len(label):
            return Places(np.zeros(0, dtype=np.int64), 0, np.iinfo(np.int64).max)
        lengths = scores.lengths
        return Places(np.bincount(_places(scores, label)), int(lengths.max()), int(lengths.min()))

    def finish(self, state: Places, level: float = 0.95, seed: int = 0) -> Measure:
        """R@k and its exact interval."""
        rows = int(state.counts.sum())
        if not rows:
            raise NotApplicable("needs at least one labelled row")
        by_k: list[dict[str, Any]] = []
        for k in sorted({self.k, *(one for one in _OFTEN_ASKED if one < state.most)}):
            hits = int(state.counts[:k].sum())
            low, high = clopper_pearson(hits, rows, level)
            by_k.append({"k": k, "value": hits / rows, "lower": low, "upper": high})
        own = next(row for row in by_k if row["k"] == self.k)
        return measure(
            own["value"],
            (own["lower"], own["upper"]),
            level,
            "exact",
            k=self.k,
            most_candidates=state.most,
            fewest_candidates=state.fewest,
            mean_reciprocal_rank=float((state.counts / np.arange(1, len(state.counts) + 1)).sum() / rows),
            by_k=by_k,
        )
