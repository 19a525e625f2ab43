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
from ..estimators.expected_scores import ScoreCells, impossible_rows, sum_scores
from ..inference.decision_metrics import Margins
from ..intervals import clopper_pearson, from_spread, normal_quantile
from ..plain import Json, Plain, Strings
from ..predictions import Predictions
from ..registry import FAILURES, Failed, create, guarded, those, unless_failed, why_failed
from ..results import Estimate, Interval, Skipped
from ..results.values import counted

COUNTS, CELLS = "class counts", "score cells"
_DRAWS = 60  # enough for a spread
_LEVEL_OF_ERRORS = 0.95
_HALF_A_ROW = 0.5
_CAREFUL = 1.05  # without it 8 of 196 cells of benchmarks/metric_coverage.py held in less than 86 % at 90 %


@dataclass(frozen=True)
class MetricsAsked:
    """What is asked for besides the accuracy, of which positive class, and by which methods."""

    metrics: tuple[ClassMetric, ...]
    positive: int = 1
    methods: Strings = ()


def metric_methods(methods: Sequence[str] | None) -> Strings:
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
        names = ", ".join(repr(self.classes[k]) for k in missing[:3]) + (
            ", ..." if len(missing) > 3 else ""
        )
        return (
            f"no labelled reference row is of class {names}; add some, or leave {metric.name} out"
        )

    def settled(self, metric: ClassMetric, predicted: Array) -> tuple[float, str] | None:
        """The value, and why, where the predicted classes of a target settle it, whatever the labels are."""
        at = metric.about(len(predicted), self.positive)
        taken = np.flatnonzero(predicted)
        if at is None and metric.base in ("mcc", "cohen_kappa") and len(taken) == 1:
            only = repr(self.classes[taken[0]])
            return (
                0.0,
                f"every row is predicted as {only}: no better than chance, which counts as 0",
            )
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
        metric_names = {metric_name(name) for name in names}
        return replace(
            self, metrics=tuple(metric for metric in self.metrics if metric.name in metric_names)
        )

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
        methods = {
            n: m
            for n, m in self.methods.items()
            if guarded(n, m, partial(m.why_not, batch)) is None
        }
        return replace(self, methods=methods)

    def summarize(self, raw: Predictions, calibrated: Predictions, states: Plain) -> Json:
        """States of a batch: the class counts, and those of methods that ``states`` do not hold anyway."""
        out: Json = {COUNTS: guarded(COUNTS, self, partial(count_classes, raw), Sums)}
        losses = [metric.name for metric in self.metrics if metric.is_loss]
        if losses and raw.has("probabilities"):
            out[CELLS] = guarded(CELLS, self, partial(sum_scores, raw), Sums)
            out |= known_losses(losses, raw)
        for name, method in self.methods.items():
            if name not in states:
                out[f"metrics:{name}"] = guarded(
                    name, method, partial(method.summarize, calibrated), Sums
                )
        return out

    def estimates(self, states: Plain) -> tuple[dict[str, list[Estimate]], list[Skipped]]:
        """Metric -> estimates of the methods that can tell it, and why some say nothing."""
        expected: dict[str, Expectation] = {}  # by method
        skipped: list[Skipped] = []
        cells = None if CELLS not in states else unless_failed(states[CELLS])
        counts, predicted = unless_failed(states[COUNTS]), predicted_of(states)

        for name, method in self.methods.items():
            state = states.get(f"metrics:{name}", states.get(name))
            if state is None:
                continue  # it was left out
            try:
                expectation = method.expect(unless_failed(state), counts, _DRAWS)
                expected[name] = expectation._replace(
                    expected=_as_predicted(expectation.expected, predicted, cells),
                    drawn=_as_predicted(expectation.drawn, predicted, cells),
                )
            except FAILURES as error:
                skipped.append(Skipped(name, why_failed(name, method, error)))
        out: dict[str, list[Estimate]] = {metric.name: [] for metric in self.metrics}
        for metric in self.metrics:
            why = self.why_not(metric, predicted)
            if why is None and metric.base == "nll":
                why = impossible([expectation.expected for expectation in expected.values()])
            if why is not None:
                skipped.append(Skipped(metric.name, why))
                continue
            estimates = (
                self._estimate(name, metric, value, int(counts["rows"]))
                for name, value in expected.items()
            )
            out[metric.name] = [estimate for estimate in estimates if estimate is not None]
        return out, [*self.skipped, *skipped]

    def _estimate(
        self, name: str, metric: ClassMetric, expectation: Expectation, rows: int
    ) -> Estimate | None:
        value = values_of([metric], expectation.expected, self.positive).get(metric.name)
        if value is None or not (np.isfinite(value) or metric.zero_over_zero):
            return None
        draws = metric(expectation.drawn, self.positive)
        averaged = metric.at is None and expectation.expected.margins.hits.shape[-1] > 2
        wider = expectation.wider.get(f"mean {metric.base}" if averaged else metric.base, 1.0)
        # the quantile of Student's t for so few draws (Cornish and Fisher, first order)
        wider *= _CAREFUL * (1 + (normal_quantile(self.level) ** 2 + 1) / (4 * (_DRAWS - 1)))
        centre = float(np.nanmean(draws)) if np.isfinite(draws).any() else float(value)
        if np.isfinite(value):
            lower, upper = from_spread(
                centre + (draws - centre) * wider, float(value), self.level, *metric.bounds
            )
            low, high = self._least_doubt(metric, expectation.expected.margins)
            lower, upper = min(lower, low), max(upper, high)
        else:
            value, (lower, upper) = np.zeros(()), metric.bounds
        method = self.methods[name]
        return Estimate(
            method.name,
            float(value),
            lower,
            upper,
            self.level,
            "conditional",
            method.assumes,
            method.citation,
            rows=rows,
            details=expectation.details,
            warnings=expectation.warnings,
        )

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
            support = float(margins.support.sum()) - support
            labelled = float(sum(self.support)) - labelled
        n = min(support, labelled)
        if metric.base in ("precision", "f1"):
            n = (
                float(margins.predicted[at])
                if metric.base == "precision"
                else max(n, float(margins.predicted[at]))
            )
        low, high = clopper_pearson(share * n, n, self.level)
        return (2 * low / (1 + low), 2 * high / (1 + high)) if metric.base == "f1" else (low, high)

    def truth(self, states: Plain) -> dict[str, Interval]:
        """Metric -> what the labelled rows of a target say of it; empty without any."""
        losses = {
            metric.name: states[_LOSS + metric.name]
            for metric in self.metrics
            if _LOSS + metric.name in states
        }
        return measured_metrics(
            self.metrics, states[COUNTS], self.positive, self.level, self.seed, losses
        )


def _as_predicted(expected: ExpectedClasses, predicted: Array, cells: Any) -> ExpectedClasses:
    """What is expected, with what the predicted classes settle: a class that none is taken for has no hit."""
    hits, support, guessed = expected.margins
    if np.count_nonzero(predicted) == 1:
        hits = np.where(predicted > 0, support, 0.0)
        guessed = np.where(predicted > 0, support.sum(axis=-1, keepdims=True), 0.0)
    elif not predicted.all():
        hits, guessed = (np.where(predicted > 0, counts, 0.0) for counts in (hits, guessed))
    if cells is not None and expected.own is not None:
        expected = expected._replace(cells=ScoreCells.of(cells, expected.own[0].shape[-1]))
    return expected._replace(margins=Margins(hits, support, guessed))


def predicted_of(states: Plain) -> Array:
    """Rows of a target by predicted class."""
    rows: Array = unless_failed(states[COUNTS])["top"].sum(axis=1)
    return rows


_LOSS = "loss:"


def known_losses(names: Sequence[str], record: Predictions) -> Json:
    """States of Brier, log loss and ECE of the labelled rows of a batch, as `evaluate` has them."""
    if record.label is None:
        return {}
    labelled = record.known()
    metrics = ((name, create("metric", name)) for name in names)
    return {
        _LOSS + name: guarded(name, metric, partial(metric.summarize, labelled))
        for name, metric in metrics
    }


def impossible(expected: Sequence[ExpectedClasses]) -> str | None:
    """Why the log loss is infinite: rows of a class that got probability 0; None where less than half a row is."""
    sides = [(expectation.positives, expectation.cells) for expectation in expected]
    rows = [
        impossible_rows(positives, cells)
        for positives, cells in sides
        if positives is not None and cells
    ]
    if not rows or rows[0] < _HALF_A_ROW:
        return None
    count = counted(max(round(rows[0]), 1), "target row")
    why = f"about {count} of a class that got probability 0 are expected, so log loss is infinite"
    return f"{why}; give probabilities that are not rounded to 0, or ask for brier"


def measured_metrics(
    metrics: Sequence[ClassMetric],
    counts: Any,
    positive: int,
    level: float,
    seed: int,
    losses: Plain | None = None,
) -> dict[str, Interval]:
    """Metric -> its value on labelled rows that were counted; areas and pay-offs with the spread of redrawn rows.

    losses : states of Brier, log loss and ECE by name (`known_losses`).
    """
    if isinstance(counts, Failed) or not counts.get("known", 0):
        return {}
    draws = drawn_truth(counts, _DRAWS, np.random.default_rng([seed, 0x707]))
    expected = known_classes(counts)
    out = {}
    for metric in metrics:
        if metric.is_loss:
            try:
                seen = create("metric", metric.base).finish(
                    unless_failed((losses or {})[metric.name]), level, seed
                )
            except (KeyError, *FAILURES):
                continue
            out[metric.name] = Interval(seen.value, seen.lower, seen.upper, level, seen.kind)
            continue
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
                interval = create("metric", metric.base).finish(confusion, level)
            except NotApplicable:
                continue
            out[metric.name] = Interval(
                interval.value, interval.lower, interval.upper, level, interval.kind
            )
        value = values_of([metric], expected, positive).get(metric.name)
        if metric.name in out or value is None or not np.isfinite(value):
            continue
        lower, upper = from_spread(metric(draws, positive), float(value), level, *metric.bounds)
        out[metric.name] = Interval(float(value), lower, upper, level, "asymptotic")
    return out


def fit_metrics(
    request: MetricsAsked,
    fitted: Mapping[str, Estimator],
    calibrated: Predictions,
    raw: Predictions,
    *,
    level: float,
    seed: int,
) -> MetricPlan:
    """The plan for what was asked from methods that are fitted already; ``raw`` is the reference as it came."""
    methods: dict[str, Estimator] = {}
    skipped: list[Skipped] = []
    for name in request.methods:
        if name in fitted:
            method = fitted[name]
            try:
                methods[name] = method.with_metrics(calibrated, raw)
            except FAILURES as error:
                skipped.append(Skipped(name, f"{why_failed(name, method, error)} (metrics)"))
    counts = guarded(COUNTS, None, partial(count_classes, raw), Sums)
    losses = known_losses([metric.name for metric in request.metrics if metric.is_loss], raw)
    losses = {name.removeprefix(_LOSS): state for name, state in losses.items()}
    reference = measured_metrics(request.metrics, counts, request.positive, level, seed, losses)
    support = (
        ()
        if isinstance(counts, Failed) or "pairs" not in counts
        else counts["pairs"].sum(axis=1).tolist()
    )
    same = measured_metrics(
        request.metrics, counts, request.positive, _LEVEL_OF_ERRORS, seed, losses
    )
    errors = {
        name: value.width / 2 / normal_quantile(_LEVEL_OF_ERRORS) for name, value in same.items()
    }
    about = (request.metrics, request.positive, methods, reference, level, seed, tuple(skipped))
    return MetricPlan(*about, errors, raw.classes or (), tuple(support))
