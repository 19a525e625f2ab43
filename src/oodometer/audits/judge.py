"""Judge: all intervals that the labelled rows allow, and the one to be printed, chosen without a look at the labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..arrays import Array
from ..intervals import clopper_pearson
from ..results import Estimate, Kind
from .betting import betting_interval, betting_p_value
from .label_only import SMALL_TARGET, effective_labels, exact_p_value, hypergeometric
from .prediction_powered import confidence_pays, ppi_plus_plus
from .sampling import SampledRows

_MOST_ROUNDS = 20_000  # labels beyond which betting takes seconds and the large-sample interval is good
_LARGE = 200  # labels from which the large-sample interval is shown beside the others
_FEW_ERRORS = 50.0  # predicted errors (or hits) among the labels below which it is not

_RANDOM = "the labelled rows were drawn at random from the target"
_KNOWN = "the labelled rows were drawn from the target with the chances that --suggest wrote down"


@dataclass(frozen=True)
class Judgement:
    """Intervals from labels: the one to print, that of labels alone, all of them, and what the labels are worth."""

    estimate: Estimate
    label_only: Estimate
    intervals: tuple[Estimate, ...]
    effective_labels: float
    warnings: tuple[str, ...]

    def conditional(self, assumes: str) -> Judgement:
        """The same intervals, whose promise holds under an assumption alone."""
        made = {e.method: replace(e, kind="conditional", assumes=assumes) for e in (*self.intervals, self.label_only)}
        kept = tuple(made[e.method] for e in self.intervals)
        return replace(
            self, estimate=made[self.estimate.method], label_only=made[self.label_only.method], intervals=kept
        )


def judge(sampled: SampledRows, score: Array, slope: float, level: float, seed: int = 0) -> Judgement:
    """Intervals for the accuracy of the target rows.

    Rows drawn evenly: Clopper-Pearson; the hypergeometric interval for a target of at most 100 rows a label; betting
    with predictions; PPI++ from 200 labels with 50 predicted errors on. Printed is betting with predictions where
    `confidence_pays`, else labels alone; above 20,000 labels PPI++. Suggested rows: betting with predictions, and
    without (labels alone). Which one is printed depends on predictions and counts of rows, never on a label, so that it
    keeps its level.
    ``effective_labels``: see `effective_labels`. score is f on all target rows, shape (sample,).

    >>> import numpy as np
    >>> rows = np.arange(40)
    >>> found = judge(SampledRows.evenly(rows, (rows % 10 > 0).astype(int)), np.full(4000, 0.9), 1.0, 0.9)
    >>> found.estimate.method, round(found.estimate.value, 2), round(found.effective_labels)
    ('hypergeometric', 0.9, 40)
    """
    labels, rows = len(sampled), len(score)
    intervals = _weighted(sampled, score, slope, level) if sampled.weighted else _even(sampled, score, slope, level)
    by_name = {e.method: e for e in intervals}
    if sampled.weighted:
        label_only, chosen = by_name["betting"], by_name["ppi-betting"]
    else:
        label_only = by_name["clopper-pearson"]
        alone = by_name.get("hypergeometric", label_only)
        if labels > _MOST_ROUNDS:
            chosen = by_name.get("ppi++", alone)
        else:
            chosen = by_name["ppi-betting"] if confidence_pays(score, slope, labels, level, seed) else alone
    warnings = []
    if len(sampled.gaps):
        warnings.append(
            f"{len(sampled.gaps)} suggested rows were passed over; the interval allows for any truth in them"
        )
    if labels < 10:
        warnings.append(f"only {labels} labels: the interval is valid, and wide")
    worth = effective_labels(chosen.value, chosen.upper - chosen.lower, level, rows)
    if not sampled.weighted and chosen.method == "clopper-pearson" and not len(sampled.gaps):
        worth = float(labels)
    return Judgement(chosen, label_only, tuple(intervals), worth, tuple(warnings))


def _even(sampled: SampledRows, score: Array, slope: float, level: float) -> list[Estimate]:
    labels, rows, hits = len(sampled), len(score), int(sampled.correct.sum())
    inside = rows - len(sampled.gaps)

    def alone(name: str, ends: tuple[float, float]) -> Estimate:
        value, *ends_of_all = _with_gaps((hits / labels, *ends), sampled, score)
        return _estimate(name, value, (ends_of_all[0], ends_of_all[1]), level, "exact", _RANDOM, "clopper1934", labels)

    out = [alone("clopper-pearson", clopper_pearson(hits, labels, level))]
    if inside <= SMALL_TARGET * labels:
        out.append(alone("hypergeometric", hypergeometric(hits, labels, inside, level)))
    if slope > 0 and labels <= _MOST_ROUNDS:
        out.append(_betting("ppi-betting", sampled, score, slope, level))
    mean = float(score.mean())
    if slope > 0 and labels >= _LARGE and labels * min(mean, 1 - mean) >= _FEW_ERRORS:
        three = ppi_plus_plus(sampled.correct, score[sampled.row], mean, rows, level)
        value, *found = _with_gaps(three, sampled, score)
        assumes = f"{_RANDOM}, and there are enough of them for the normal law"
        ends = (found[0], found[1])
        out.append(_estimate("ppi++", value, ends, level, "asymptotic", assumes, "angelopoulos2023", labels))
    return out


def _with_gaps(three: tuple[float, float, float], sampled: SampledRows, score: Array) -> tuple[float, float, float]:
    """Value and ends for all rows: those that were drawn and passed over may hold any truth."""
    rows, gaps = len(score), len(sampled.gaps)
    if not gaps:
        return three
    value, low, high = three
    inside = rows - gaps
    return (
        (value * inside + float(score[sampled.gaps].sum())) / rows,
        low * inside / rows,
        (high * inside + gaps) / rows,
    )


def _weighted(sampled: SampledRows, score: Array, slope: float, level: float) -> list[Estimate]:
    """Betting on the labels and their chances alone, and with predictions."""
    return [
        _betting("betting", sampled, score, 0.0, level),
        _betting("ppi-betting", sampled, score, slope, level),
    ]


def _betting(name: str, sampled: SampledRows, score: Array, slope: float, level: float) -> Estimate:
    """The betting interval, within what is certain: labelled rows are known, the others lie between 0 and 1."""
    rows, gaps = len(score), len(sampled.gaps)
    inside = rows - gaps
    hits = int(sampled.correct.sum())
    game = sampled.game(score, slope)
    low, high = betting_interval(game, level, hits / inside, (hits + inside - len(sampled)) / inside)
    value = sampled.mean(score, slope) * inside / rows + float(score[sampled.gaps].sum()) / rows
    ends = (float(low) * inside / rows, (float(high) * inside + gaps) / rows)
    assumes = _KNOWN if sampled.weighted else _RANDOM
    return _estimate(name, value, ends, level, "exact", assumes, "waudbysmith2024", len(sampled))


def _estimate(
    name: str,
    value: float,
    ends: tuple[float, float],
    level: float,
    kind: Kind,
    assumes: str,
    key: str,
    labels: int,
) -> Estimate:
    low, high = max(ends[0], 0.0), min(ends[1], 1.0)
    inside = min(max(value, low), high)
    return Estimate(name, inside, low, high, level, kind, assumes, key, rows=labels)


def refutes(sampled: SampledRows, score: Array, slope: float, lower: float, upper: float, level: float) -> float:
    """p-value of "the accuracy lies in [lower, upper]": exact for even draws, betting for suggested rows.

    >>> import numpy as np
    >>> refutes(SampledRows.evenly(np.arange(10), np.zeros(10, dtype=int)), np.ones(99), 1.0, 0.9, 1.0, 0.95) < 1e-6
    True
    """
    rows, gaps = len(score), len(sampled.gaps)
    inside = rows - gaps
    low, high = lower, upper
    if gaps:
        low, high = max((lower * rows - gaps) / inside, 0.0), min(upper * rows / inside, 1.0)
    if not sampled.weighted:
        return exact_p_value(int(sampled.correct.sum()), len(sampled), inside, low, max(high, low))
    return betting_p_value(sampled.game(score, slope), low, max(high, low), level)
