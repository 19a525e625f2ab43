"""Metrics besides the accuracy: how they are read off the states of a target, by every method that can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import NotApplicable
from ..estimators import Estimator, Sums
from ..estimators.expected_classes import (
    ClassMetric,
    Expectation,
    ExpectedClasses,
    count_classes,
    drawn_truth,
    known_classes,
    metric_name,
    values_of,
)
from ..inference.decision_metrics import Margins
from ..intervals import clopper_pearson, from_spread, normal_quantile
from ..predictions import Predictions
from ..registry import FAILURES, Failed, create, guarded, those, unless_failed, why_failed
from ..results import Estimate, Interval, Skipped

COUNTS = "class counts"
_DRAWS = 60  # enough for a spread
_LEVEL_OF_ERRORS = 0.95
_CAREFUL = 1.05  # without it 8 of 196 cells of benchmarks/metric_coverage.py held in less than 86 % at 90 %


@dataclass(frozen=True)
class MetricsAsked:
    """What is asked for besides the accuracy, of which positive class, and by which methods."""

    metrics: tuple[ClassMetric, ...]
    positive: int = 1
    methods: tuple[str, ...] = ()


def metric_methods(methods: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the methods (of all, or of those named) that tell more than the accuracy."""
    able = those("estimator", lambda cls: cls.expect is not Estimator.expect)
    return tuple(name for name in able if methods is None or name in methods)


@dataclass(frozen=True)
class MetricPlan:
    """What is learnt of the reference for metrics besides the accuracy; ``errors`` are standard errors there."""

    metrics: tuple[ClassMetric, ...]
    positive: int
    methods: Mapping[str, Estimator]
    reference: Mapping[str, Interval]
    level: float = 0.95
    seed: int = 0
    skipped: tuple[Skipped, ...] = field(default=())
    errors: Mapping[str, float] = field(default_factory=dict)
    classes: ClassNames = ()
    support: tuple[int, ...] = ()

    def why_not(self, metric: ClassMetric, predicted: Array) -> str | None:
        """Why the reference cannot tell a metric of a target with these predicted classes; None where it can."""
        missing = [k for k, rows in enumerate(self.support) if not rows]
        at = metric.about(len(self.support), self.positive)
        if metric.base == "expected_value" or not missing:
            return None
        if at is None:
            missing = [k for k in missing if len(self.support) == 2 or predicted[k]]
        elif at not in missing and (metric.base == "recall" or sum(map(bool, self.support)) > 1):
            return None
        elif at in missing:
            missing = [at]
        if not missing:
            return None
        names = ", ".join(repr(self.classes[k]) for k in missing[:3]) + (", ..." if len(missing) > 3 else "")
        return f"no labelled reference row is of class {names}; add some, or leave {metric.name} out"

    def settled(self, metric: ClassMetric, predicted: Array) -> tuple[float, str] | None:
        """The value, and why, where the predicted classes of a target settle it, whatever the labels are."""
        at = metric.about(len(predicted), self.positive)
        taken = np.flatnonzero(predicted)
        if at is None and metric.base in ("mcc", "cohen_kappa") and len(taken) == 1:
            only = repr(self.classes[taken[0]])
            return 0.0, f"every row is predicted as {only}: no better than chance, which counts as 0"
        if at is None or metric.needs_scores or not len(taken):
            return None
        name = repr(self.classes[at])
        if metric.base == "precision" and not predicted[at]:
            return 0.0, f"no row is predicted as {name}: 0/0, which counts as 0, as in scikit-learn"
        if metric.base in ("recall", "f1", "specificity") and not predicted[at]:
            return float(metric.base == "specificity"), f"no row is predicted as {name}"
        if metric.base in ("recall", "specificity") and len(taken) == 1:
            return float(metric.base == "recall"), f"every row is predicted as {name}"
        return None

    def only(self, names: Sequence[str]) -> MetricPlan:
        """Some of the metrics that were fitted."""
        wanted = {metric_name(name) for name in names}
        return replace(self, metrics=tuple(metric for metric in self.metrics if metric.name in wanted))

    def of_methods(self, names: Sequence[str]) -> MetricPlan | None:
        """By some of the methods that were fitted; None where none of them tells metrics."""
        few = {n: m for n, m in self.methods.items() if n in names}
        skipped = tuple(skip for skip in self.skipped if skip.method in names)
        return replace(self, methods=few, skipped=skipped) if few else None

    def lighter(self) -> MetricPlan:
        """The methods that are quick enough for each of many slices."""
        return replace(self, methods={n: m for n, m in self.methods.items() if not m.traits.heavy})

    def restricted_to(self, batch: Predictions) -> MetricPlan:
        """Without the methods that a target like this batch cannot feed."""
        methods = {n: m for n, m in self.methods.items() if guarded(n, m, partial(m.why_not, batch)) is None}
        return replace(self, methods=methods)

    def summarize(self, own: Predictions, calibrated: Predictions, others: Mapping[str, Any]) -> dict[str, Any]:
        """States of a batch: the class counts, and those of methods that ``others`` do not hold anyway."""
        out: dict[str, Any] = {COUNTS: guarded(COUNTS, self, partial(count_classes, own), Sums)}
        for name, method in self.methods.items():
            if name not in others:
                out[f"metrics:{name}"] = guarded(name, method, partial(method.summarize, calibrated), Sums)
        return out

    def estimates(self, states: Mapping[str, Any]) -> tuple[dict[str, list[Estimate]], list[Skipped]]:
        """Metric -> estimates of the methods that can tell it, and why some say nothing."""
        expected: dict[str, Expectation] = {}  # by method
        skipped: list[Skipped] = []
        counts, predicted = unless_failed(states[COUNTS]), predicted_of(states)

        def as_predicted(expected: ExpectedClasses) -> ExpectedClasses:
            """What is expected, with what the predicted classes settle: a class that none is taken for has no hit."""
            hits, support, guessed = expected.margins
            if np.count_nonzero(predicted) == 1:
                total = support.sum(axis=-1, keepdims=True)
                hits, guessed = np.where(predicted > 0, support, 0.0), np.where(predicted > 0, total, 0.0)
            elif not predicted.all():
                hits, guessed = np.where(predicted > 0, hits, 0.0), np.where(predicted > 0, guessed, 0.0)
            return expected._replace(margins=Margins(hits, support, guessed))

        for name, method in self.methods.items():
            state = states.get(f"metrics:{name}", states.get(name))
            if state is None:
                continue  # it was left out
            try:
                made = method.expect(unless_failed(state), counts, _DRAWS)
                expected[name] = made._replace(expected=as_predicted(made.expected), drawn=as_predicted(made.drawn))
            except FAILURES as error:
                skipped.append(Skipped(name, why_failed(name, method, error)))
        out: dict[str, list[Estimate]] = {metric.name: [] for metric in self.metrics}
        for metric in self.metrics:
            why = self.why_not(metric, predicted)
            if why is not None:
                skipped.append(Skipped(metric.name, why))
                continue
            estimates = (self._estimate(name, metric, value, int(counts["rows"])) for name, value in expected.items())
            out[metric.name] = [estimate for estimate in estimates if estimate is not None]
        return out, [*self.skipped, *skipped]

    def _estimate(self, name: str, metric: ClassMetric, made: Expectation, rows: int) -> Estimate | None:
        value = values_of([metric], made.expected, self.positive).get(metric.name)
        if value is None or not (np.isfinite(value) or metric.zero_over_zero):
            return None
        draws = metric(made.drawn, self.positive)
        averaged = metric.at is None and made.expected.margins.hits.shape[-1] > 2
        wider = made.wider.get(f"mean {metric.base}" if averaged else metric.base, 1.0)
        # the quantile of Student's t for so few draws (Cornish and Fisher, first order)
        wider *= _CAREFUL * (1 + (normal_quantile(self.level) ** 2 + 1) / (4 * (_DRAWS - 1)))
        centre = float(np.nanmean(draws)) if np.isfinite(draws).any() else float(value)
        if np.isfinite(value):
            lower, upper = from_spread(centre + (draws - centre) * wider, float(value), self.level, *metric.bounds)
            low, high = self._least_doubt(metric, made.expected.margins)
            lower, upper = min(lower, low), max(upper, high)
        else:
            value, (lower, upper) = np.zeros(()), metric.bounds
        method = self.methods[name]
        return Estimate(
            method.name, float(value), lower, upper, self.level, "conditional", method.assumes, method.citation,
            rows=rows, details=made.details, warnings=made.warnings,
        )  # fmt: skip

    def _least_doubt(self, metric: ClassMetric, margins: Margins) -> tuple[float, float]:
        """Ends that a rate's interval reaches at least where all trials, or none, are hits: redrawn they are alike."""
        at = metric.about(len(margins.hits), self.positive)
        if at is None or metric.needs_scores:
            return metric.bounds[::-1]
        share = float(metric(ExpectedClasses(margins, None, None), self.positive))
        if 0 < share < 1:
            return metric.bounds[::-1]
        support, labelled = float(margins.support[at]), float(self.support[at])
        if metric.base == "specificity":
            support, labelled = float(margins.support.sum()) - support, float(sum(self.support)) - labelled
        n = min(support, labelled)
        if metric.base in ("precision", "f1"):
            n = float(margins.predicted[at]) if metric.base == "precision" else max(n, float(margins.predicted[at]))
        low, high = clopper_pearson(share * n, n, self.level)
        return (2 * low / (1 + low), 2 * high / (1 + high)) if metric.base == "f1" else (low, high)

    def truth(self, states: Mapping[str, Any]) -> dict[str, Interval]:
        """Metric -> what the labelled rows of a target say of it; empty without any."""
        return measured_metrics(self.metrics, states[COUNTS], self.positive, self.level, self.seed)


def predicted_of(states: Mapping[str, Any]) -> Array:
    """Rows of a target by predicted class."""
    rows: Array = unless_failed(states[COUNTS])["top"].sum(axis=1)
    return rows


def measured_metrics(
    metrics: Sequence[ClassMetric], counts: Any, positive: int, level: float, seed: int
) -> dict[str, Interval]:
    """Metric -> its value on labelled rows that were counted; areas and pay-offs with the spread of redrawn rows."""
    if isinstance(counts, Failed) or not counts.get("known", 0):
        return {}
    drawn, expected = drawn_truth(counts, _DRAWS, np.random.default_rng([seed, 0x707])), known_classes(counts)
    out = {}
    for metric in metrics:
        if metric.zero_over_zero:
            from ..metrics.confusion import Confusion

            pairs = counts["pairs"]
            at = metric.about(len(pairs), positive)
            if at is not None:
                hits, support, predicted = pairs[at, at], pairs[at].sum(), pairs[:, at].sum()
                rest = pairs.sum() - support - predicted + hits
                pairs = np.array([[rest, predicted - hits], [support - hits, hits]])
            cells = np.flatnonzero(pairs)
            confusion = Confusion(tuple(range(len(pairs))), cells, pairs.reshape(-1)[cells])
            try:
                made = create("metric", metric.base).finish(confusion, level)
            except NotApplicable:
                continue
            out[metric.name] = Interval(made.value, made.lower, made.upper, level, made.kind)
        value = values_of([metric], expected, positive).get(metric.name)
        if metric.name in out or value is None or not np.isfinite(value):
            continue
        lower, upper = from_spread(metric(drawn, positive), float(value), level, *metric.bounds)
        out[metric.name] = Interval(float(value), lower, upper, level, "asymptotic")
    return out


def fit_metrics(
    asked: MetricsAsked,
    fitted: Mapping[str, Estimator],
    calibrated: Predictions,
    own: Predictions,
    *,
    level: float,
    seed: int,
) -> MetricPlan:
    """The plan for what was asked from methods that are fitted already; ``own`` is the reference as it came."""
    methods: dict[str, Estimator] = {}
    skipped: list[Skipped] = []
    for name in asked.methods:
        if name in fitted:
            method = fitted[name]
            try:
                methods[name] = method.with_metrics(calibrated, own)
            except FAILURES as error:
                skipped.append(Skipped(name, f"{why_failed(name, method, error)} (metrics)"))
    counts = guarded(COUNTS, None, partial(count_classes, own), Sums)
    reference = measured_metrics(asked.metrics, counts, asked.positive, level, seed)
    support = () if isinstance(counts, Failed) or "pairs" not in counts else counts["pairs"].sum(axis=1).tolist()
    same = measured_metrics(asked.metrics, counts, asked.positive, _LEVEL_OF_ERRORS, seed)
    errors = {name: value.width / 2 / normal_quantile(_LEVEL_OF_ERRORS) for name, value in same.items()}
    about = (asked.metrics, asked.positive, methods, reference, level, seed, tuple(skipped))
    return MetricPlan(*about, errors, own.classes or (), tuple(support))
