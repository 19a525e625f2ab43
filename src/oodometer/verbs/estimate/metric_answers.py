"""Metrics besides the accuracy: what was asked for, and the headline of each for the target and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ...classes import ClassNames
from ...errors import InputError, UsageError
from ...estimators.expected_classes import ClassMetric, class_metrics_asked
from ...headline.headline import Evidence
from ...headline.natural_headline import MetricEvidence, metric_answers
from ...headline.natural_shifts import NaturalShifts, ShiftSigns
from ...passes.metrics import COUNTS, MetricPlan, MetricsAsked, metric_methods, predicted_of
from ...predictions import Predictions
from ...results import Estimate, Interval, Skipped
from ...results.estimation import Headline, MetricEstimation
from ..opening import positive_class
from .options import EstimateJob


def asked_metrics(record: Predictions, source: Any, options: EstimateJob) -> MetricsAsked | None:
    """What was asked for besides the accuracy, or None; `UsageError` where this reference cannot tell it."""
    if not options.metrics:
        return None
    from ...metrics import place_of_class
    from ...metrics.payoff import Payoff

    classes: ClassNames = record.classes or ()
    payoff = None if options.payoff is None else Payoff.of(options.payoff).matrix(classes)
    metrics = class_metrics_asked(options.metrics, classes, payoff)
    if not metrics:
        return None
    if record.label is None or not record.has_classes or not record.num_classes:
        raise InputError(
            f"reference rows with a `label`, which {metrics[0].name} asks for",
            got="`correct` alone" if record.has("correct") else "none",
            remedy="add the true class of each row, or leave --metric out",
            file=source.name,
        )
    methods = metric_methods(options.methods)
    if not methods:
        able = ", ".join(metric_methods(None))
        raise UsageError(f"none of the methods asked for can estimate {metrics[0].name}; these can: {able}")
    positive = positive_class(source, options.positive)
    at = place_of_class(classes, positive) if len(classes) == 2 else 0
    return MetricsAsked(metrics, at, methods)


def check_metrics(
    plan: MetricPlan | None,
    found: Mapping[str, MetricEstimation],
    skipped: Sequence[Skipped],
    options: EstimateJob,
    target: str | None,
) -> list[str]:
    """Warnings about metrics that nothing can be said of, with the reasons that ``skipped`` holds; `InputError` where
    an alarm is to be judged by one of them, or where all of them want something else than reference rows of a class.
    """
    if plan is None:
        return []
    why = {one.method: one.why for one in skipped}
    missing = [one.name for one in plan.metrics if one.name not in found]
    for rule in options.alarm_rules:
        if rule.metric in missing and rule.metric in why:
            raise InputError(
                f"a reference that tells {rule.metric}, which an alarm asks for", got="none", remedy=why[rule.metric]
            )
    if missing and not found and not any(name in why for name in missing):
        reasons = "; ".join(f"{s.method}: {s.why}" for s in plan.skipped) or "it is undefined on this target"
        raise InputError(
            f"a target of which {', '.join(missing)} can be estimated",
            got=f"none ({reasons})",
            remedy="`roc_auc` and `average_precision` need probabilities, the others predicted classes",
            file=target,
        )
    undefined = "it is undefined, or needs `probabilities`"
    return [f"{name} cannot be estimated here: {why.get(name, undefined)}" for name in missing]


class MetricAnswers:
    """Makes the headlines of the metrics that were asked for, of a target or of a part of it."""

    def __init__(self, plan: MetricPlan | None, prior: NaturalShifts, assume: str) -> None:
        self.plan, self.prior, self.assume = plan, prior, assume

    def answers(
        self,
        by_metric: Mapping[str, Sequence[Estimate]],
        states: Mapping[str, Any],
        evidence: Evidence,
        signs: ShiftSigns | None,
    ) -> dict[str, MetricEstimation]:
        """Metric -> headline, estimates, the reference's own value and the truth where rows are labelled."""
        plan = self.plan
        if plan is None or COUNTS not in states:
            return {}
        # rows of a class that the model does not know are missing from the counts of classes
        truth, out = {} if states["truth"]["new"] else plan.truth(states), {}
        for metric in plan.metrics:
            said = by_metric.get(metric.name, ())
            settled = plan.settled(metric, predicted_of(states)) if said else None
            if settled is not None:
                made: MetricEstimation | None = _settled(*settled, said, plan.reference.get(metric.name))
            else:
                reference, error = plan.reference.get(metric.name), plan.errors.get(metric.name)
                told = MetricEvidence(evidence, signs, reference, metric.bounds, error)
                made = self._answer(metric, said, told)
            if made is not None:
                out[metric.name] = replace(made, truth=truth.get(metric.name))
        return out

    def _answer(
        self, metric: ClassMetric, said: Sequence[Estimate], evidence: MetricEvidence
    ) -> MetricEstimation | None:
        assert self.plan is not None
        base = metric.base
        if len(self.plan.support) == 2 and metric.at not in (None, self.plan.positive):
            # of two classes, the recall of one is the specificity of the other
            base = {"recall": "specificity", "specificity": "recall"}.get(base, base)
        made = metric_answers(base, said, evidence, self.prior, self.assume)
        return made and MetricEstimation(made[0], tuple(said), evidence.reference, assumptions=made[1])


def _settled(value: float, why: str, said: Sequence[Estimate], reference: Interval | None) -> MetricEstimation:
    """What the predicted classes of the target settle by themselves; all methods then agree on the value."""
    lower, upper = median(e.lower for e in said), median(e.upper for e in said)
    interval = Interval(value, min(lower, value), max(upper, value), said[0].level, "exact")
    trust = "high" if upper - lower < 1 else "none"
    headline = Headline(interval, "predicted classes", "nothing: the predicted classes settle it", trust, why)
    return MetricEstimation(headline, tuple(said), reference)
