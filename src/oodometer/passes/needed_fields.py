"""Needed fields: which fields of a target a plan reads, so that columns nobody looks at stay on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import plugins
from ..fields import FIELDS
from ..predictions import Predictions
from ..scores import Score

if TYPE_CHECKING:
    from .plan import EstimationPlan


# What stands beside the answer of the model; everything else may be what confidence, predicted class or truth are
# made of, and is always read.
SPARED = frozenset(("members", "member_probabilities", "views", "votes", "features", "time", "group"))


def needed_fields(plan: EstimationPlan, beginning: Predictions) -> tuple[str, ...] | None:
    """Names of the fields that a plan reads, None for all where a method of another package may look at any.

    ``beginning`` is the target's first batch: where it holds no other prediction, the first of the members is it.

    >>> from oodometer.calibrators import Choice
    >>> from oodometer.estimators import AverageConfidence
    >>> from oodometer.passes.plan import EstimationPlan
    >>> record = Predictions.from_probabilities([[0.9, 0.1]] * 40, label=[0] * 40, features=[[1.0]] * 40)
    >>> plan = EstimationPlan(Choice(None, "", {}), {"ac": AverageConfidence().fit(record)})
    >>> found = needed_fields(plan, record)
    >>> [name in found for name in ("probabilities", "members", "features", "time")]
    [True, True, False, False]
    """
    methods = [*plan.methods.values(), *(() if plan.metrics is None else plan.metrics.methods.values())]
    if any(map(plugins.is_foreign, methods)):
        return None
    named = {name for method in methods for need in _needs(method) for name in need.split("|")}
    named |= {name for one in (*methods, plan.diagnostician) if one is not None for name in one.also_reads}
    if beginning.prediction is None and beginning.probabilities is None:
        named.add("members")
    if plan.every is not None and plan.every.timed:
        named.add("time")
    named |= {plan.by} if plan.by is not None else set()
    return tuple(name for name, known in FIELDS.items() if not known.on_request and name not in SPARED - named)


def _needs(method: Any) -> Iterator[str]:
    """The fields of a method, and of the scores that it was given."""
    yield from method.needs
    for value in vars(method).values():
        if isinstance(value, Score):
            yield from _needs(value)
