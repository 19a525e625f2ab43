"""Judged outputs: the result of asking judges, bounds of accuracy or of a metric, and the truth where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...estimators import VotingBounds
from ...metrics.votes import agreements, bounds_of, check_agree, count_votes, share
from ...predictions import Predictions
from ...results import Interval, plain
from ...results.shown import Shown
from .pseudo_labels import PseudoLabels
from .worth import metric_table, spread


@dataclass(frozen=True, eq=False)
class JudgedOutputs(Shown):
    """What judges say of a file of outputs; ``record`` holds its rows with their `votes`.

    metric : "exact" (accuracy), or what the judges predict. judges : their names. lower, upper, mean, single : the
    share that all of them accept (or ``agree``), that some accept (or all but agree - 1), the middle, and the first
    judge's; of a metric the mean of each row's smallest and largest prediction. Their intervals are of sampling alone.
    estimate : the middle, from the lower end of ``lower`` to the upper end of ``upper``; kind empirical, since it
    ``assumes`` something of the judges. ladder : the share that at least j judges accept. bounds : for every agree.
    thresholds : from which P(Correct) each judge accepts and where that comes from, None for the paper's 0.5; then
    at_half are lower, upper and mean with that. truth : None where no row is known, else the accuracy, whether it lies
    between the bounds, recalls and precisions.
    """

    name: str
    rows: int
    metric: str
    judges: tuple[str, ...]
    agree: int
    estimate: Interval
    assumes: str
    lower: Interval
    upper: Interval
    mean: Interval
    single: Interval
    by_judge: tuple[Interval, ...]
    ladder: tuple[Mapping[str, Any], ...]
    bounds: tuple[Mapping[str, Any], ...]
    truth: Mapping[str, Any] | None
    empty: int
    cut: int
    warnings: tuple[str, ...]
    level: float
    seed: int
    record: Predictions
    out: str | None = None
    pseudo_labels: PseudoLabels | None = None
    pseudo_out: str | None = None
    argv: str | None = None
    thresholds: Mapping[str, Any] | None = None
    at_half: Mapping[str, Interval] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ...version import __version__

        exported = None
        if self.pseudo_labels is not None:
            found = self.pseudo_labels.to_dict()
            exported = {name: found[name] for name in ("kept", "agree", "accepted", "precision", "accuracy", "ladder")}
            exported["file"] = self.pseudo_out
        return {
            "command": "discriminate predict",
            "version": __version__,
            "argv": self.argv,
            "name": self.name,
            "rows": self.rows,
            "level": self.level,
            "seed": self.seed,
            "metric": self.metric,
            "judges": list(self.judges),
            "agree": self.agree,
            "estimate": self.estimate.to_dict(),
            "assumes": self.assumes,
            **{name: getattr(self, name).to_dict() for name in ("lower", "upper", "mean", "single")},
            "by_judge": [{"judge": n, **i.to_dict()} for n, i in zip(self.judges, self.by_judge, strict=True)],
            "ladder": [plain(row) for row in self.ladder],
            "bounds": [plain(row) for row in self.bounds],
            "thresholds": plain(self.thresholds),
            "at_half": plain(self.at_half),
            "truth": plain(self.truth),
            "empty": self.empty,
            "cut": self.cut,
            "out": self.out,
            "pseudo_labels": exported,
            "warnings": list(self.warnings),
        }


def vote_numbers(record: Predictions, agree: int | None, level: float) -> dict[str, Any]:
    """Bounds, ladder and single judges from a record's votes.

    >>> found = vote_numbers(Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]]), None, 0.95)
    >>> found["lower"].value, found["upper"].value, found["mean"].value, found["single"].value
    (0.25, 0.5, 0.375, 0.5)
    """
    votes = record.votes
    assert votes is not None
    judges, rows = votes.shape
    agree = check_agree(agree, judges)
    counts = np.bincount(count_votes(votes), minlength=judges + 1)
    at_least = counts[::-1].cumsum()[::-1]
    bare = record.without_labels()
    estimate = VotingBounds(agree=agree, level=level).fit(bare).estimate(bare)
    each = tuple(share(int(count), rows, level) for count in np.count_nonzero(votes > 0, axis=1))
    widest = bounds_of(at_least, agree, level)
    return {
        "agree": agree,
        "estimate": estimate.interval,
        "assumes": estimate.assumes,
        "warnings": estimate.warnings,
        **{name: widest[name] for name in ("lower", "upper", "mean")},
        "single": each[0],
        "by_judge": each,
        "ladder": tuple({"at_least": j, "share": share(int(at_least[j]), rows, level)} for j in range(1, judges + 1)),
        "bounds": tuple(bounds_of(at_least, k, level) for k in agreements(judges)),
    }


def with_slack(estimate: Interval, strict: Interval, lenient: Interval) -> Interval:
    """The estimate's interval, widened to its lower end with strict thresholds, its upper one with lenient ones."""
    low, high = min(estimate.lower, strict.lower), max(estimate.upper, lenient.upper)
    return replace(estimate, lower=low, upper=high)


def metric_numbers(said: Array, agree: int | None, level: float, true: Array | None = None) -> dict[str, Any]:
    """The same of predictions of a metric, axes (judge, sample); ``true`` is the metric where known, else NaN.

    A row's predictions are sorted: the j-th largest is what at least j judges say it reaches, so that verdicts of 0 and
    1 give `vote_numbers` again.

    >>> votes = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=np.float32)
    >>> found = metric_numbers(votes, None, 0.95)
    >>> found["lower"].value, found["upper"].value, found["mean"].value, found["single"].value
    (0.25, 0.5, 0.375, 0.5)
    """
    judges = len(said)
    agree = check_agree(agree, judges)
    falling = np.sort(said.astype(np.float64), axis=0)[::-1]

    def bound(k: int) -> dict[str, Any]:
        low, high = falling[k - 1], falling[judges - k]
        ends = {"lower": spread(low, level), "upper": spread(high, level)}
        return {
            "agree": k,
            **ends,
            "mean": spread((low + high) / 2, level),
            "width": spread(high - low, level),
        }

    widest = bound(agree)
    each = tuple(spread(one, level) for one in said)
    value = widest["mean"].value
    low, high = min(widest["lower"].lower, value), max(widest["upper"].upper, value)
    truth = None
    if true is not None and np.isfinite(true).any():
        known = np.isfinite(true)
        table = metric_table(true[known], said[:, known], level)
        among = [float(falling[k - 1][known].mean()) for k in (agree, judges - agree + 1)]
        inside = among[0] <= table["true"].value <= among[1]
        truth = {"rows": int(known.sum()), **table, "lower": among[0], "upper": among[1], "inside": inside}
    return {
        "agree": agree,
        "estimate": Interval(value, low, high, level, "empirical"),
        "assumes": VotingBounds.assumes,
        **{name: widest[name] for name in ("lower", "upper", "mean")},
        "single": each[0],
        "by_judge": each,
        "ladder": tuple({"at_least": j, "share": spread(falling[j - 1], level)} for j in range(1, judges + 1)),
        "bounds": tuple(bound(k) for k in agreements(judges)),
        "truth": truth,
    }
