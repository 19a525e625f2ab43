"""Per class: precision, recall and F1 of each class, each with an exact interval."""

from __future__ import annotations

from typing import Any, final

from ..errors import NotApplicable
from ..registry import register
from ..results import Interval
from .confusion import Confusion, ConfusionMetric
from .spread import clopper_pearson_many

__all__ = ["PerClass"]


@final
@register("metric")
class PerClass(ConfusionMetric[list[dict[str, Any]]]):
    """A table with one row a class: support, predicted, precision, recall and F1.

    precision = hits / predicted, recall = hits / support, F1 = 2 hits / (support + predicted); None where the
    divisor is 0. Given how many samples are predicted as the class (are of the class; are either), hits are
    binomial, so all three have Clopper-Pearson intervals, that of F1 by F1 = 2q / (1 + q) with
    q = hits / (support + predicted - hits).
    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> rows = PerClass().compute(Predictions.from_classes(["a", "b", "b"], label=["a", "a", "b"]))
    >>> rows[0]["class"], rows[0]["precision"].value, rows[0]["recall"].value, round(rows[0]["f1"].value, 3)
    ('a', 1.0, 0.5, 0.667)
    """

    name = "per_class"
    bigger_is_better = None
    citation = "sokolova2009"
    gives = "table"

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> list[dict[str, Any]]:
        """The rows, in the order of the classes."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        hits, support, predicted = state.hits, state.support, state.predicted
        either = support + predicted - hits
        columns: dict[str, list[Interval | None]] = {}
        for name, trials in (("precision", predicted), ("recall", support), ("f1", either)):
            lower, upper = clopper_pearson_many(hits, trials, level)
            share = hits / trials.clip(1)
            if name == "f1":
                lower, upper, share = (2 * q / (1 + q) for q in (lower, upper, share))
            columns[name] = [
                Interval(float(v), min(float(a), float(v)), max(float(b), float(v)), level, "exact") if n else None
                for v, a, b, n in zip(share, lower, upper, trials, strict=True)
            ]
        return [
            {
                "class": name,
                "support": int(support[k]),
                "predicted": int(predicted[k]),
                "precision": columns["precision"][k],
                "recall": columns["recall"][k],
                "f1": columns["f1"][k],
            }
            for k, name in enumerate(state.classes)
        ]
