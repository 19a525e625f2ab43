"""Per class: precision, recall, F1 and ROC AUC of each class, each with its interval."""

from __future__ import annotations

from typing import Any, final

from ..errors import NotApplicable
from ..registry import register
from ..results import Interval
from .one_vs_rest import OneVsRest, OneVsRestMetric
from .roc_auc import auc_of
from .spread import clopper_pearson_many, from_effective_rows


@final
@register("metric")
class PerClass(OneVsRestMetric[list[dict[str, Any]]]):
    """A table with one row a class: support, predicted, precision, recall, F1 and, with probabilities, ROC AUC.

    precision = hits / predicted, recall = hits / support, F1 = 2 hits / (support + predicted); where the divisor is 0
    they are 0, as in scikit-learn, and the interval is (0, 1). Given how many samples are predicted as the class (are
    of the class; are either), hits are binomial, so all three have Clopper-Pearson intervals, that of F1 by
    F1 = 2q / (1 + q) with q = hits / (support + predicted - hits).
    `roc_auc` is that of the class's probability against all other rows. Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> rows = PerClass().compute(Predictions.from_classes(["a", "b", "b"], label=["a", "a", "b"]))
    >>> rows[0]["class"], rows[0]["precision"].value, rows[0]["recall"].value, round(rows[0]["f1"].value, 3)
    ('a', 1.0, 0.5, 0.667)
    """

    name = "per_class"
    bigger_is_better = None
    citation = "sokolova2009"
    gives = "table"

    def finish(self, state: OneVsRest, level: float = 0.95, seed: int = 0) -> list[dict[str, Any]]:
        """The rows, in the order of the classes."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        areas = _areas(state, level)
        counted = state.confusion
        hits, support, predicted = counted.hits, counted.support, counted.predicted
        either = support + predicted - hits
        columns: dict[str, list[Interval]] = {}
        for name, trials in (("precision", predicted), ("recall", support), ("f1", either)):
            lower, upper = clopper_pearson_many(hits, trials, level)
            share = hits / trials.clip(1)
            if name == "f1":
                lower, upper, share = (2 * q / (1 + q) for q in (lower, upper, share))
            columns[name] = [
                Interval(float(v), min(float(a), float(v)), max(float(b), float(v)), level, "exact")
                for v, a, b in zip(share, lower, upper, strict=True)
            ]
        return [
            {
                "class": name,
                "support": int(support[k]),
                "predicted": int(predicted[k]),
                "precision": columns["precision"][k],
                "recall": columns["recall"][k],
                "f1": columns["f1"][k],
                **({} if areas is None else {"roc_auc": areas[k]}),
            }
            for k, name in enumerate(counted.classes)
        ]


def _areas(state: OneVsRest, level: float) -> list[Interval | None] | None:
    """The area of each class, None where it has no row or all; None without probabilities."""
    if not state.scored:
        return None
    out: list[Interval | None] = []
    for counts in state.by_class:
        area = auc_of(counts)
        if area is None:
            out.append(None)
            continue
        few = int(min(counts.positives.sum(), counts.negatives.sum()))
        low, high = from_effective_rows(area.value, sum(area.variances(counts)), few, level)
        out.append(Interval(area.value, min(low, area.value), max(high, area.value), level, "asymptotic"))
    return out
