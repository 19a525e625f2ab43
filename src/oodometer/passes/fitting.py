"""Fitting: from a labelled record to a plan with a calibrator and every method that the record can feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import plugins
from ..calibrators import Choice, choose_calibrator
from ..diagnoses import Diagnostician, ShiftStatistics
from ..errors import NotApplicable
from ..estimators import Estimator, RiskCoverage
from ..estimators.base import NOT_ARGMAX
from ..kernels import side_by_side
from ..predictions import Predictions
from ..registry import create, find, known, names, those
from ..results import Skipped
from ..scores import Score, natural_confidence
from .metrics import MetricsAsked, fit_metrics
from .plan import EstimationPlan, batch_rows

_LONG = frozenset({"atc-entropy", "threshold-classwise", "cbpe"})  # fits that take longest on many rows
_THREADED_ROWS = 50_000  # below this, threads cost more than they bring


def default_methods() -> list[str]:
    """Names of the methods that `estimate` runs when none is asked for, in the order that they state.

    Every method that the data can feed is run; those of plugins come last where they state no order.
    """
    names("estimator")  # with the plugins
    found = [(name, known("estimator", name)) for name in those("estimator", lambda cls: True)]
    return [one for name, cls in found for one in ((name,) if cls.runs_as is None else cls.runs_as)]


def quick_methods(methods: Sequence[str] | None) -> list[str]:
    """Those of the methods (all by default) that are quick enough for a hundred simulated targets.

    Of a method that runs under several names the first is.

    >>> quick_methods(["doc", "cot"])
    ['doc']
    """
    out = []
    for name in those("estimator", lambda cls: cls.cost == "quick"):
        runs_as = known("estimator", name).runs_as
        out += [name] if runs_as is None else list(runs_as[:1])
    return [name for name in out if methods is None or name in methods]


def choose(record: Predictions, calibrator: str, seed: int = 0) -> Choice:
    """The calibrator: "auto" by cross-validation, "none", or one by name."""
    if calibrator == "none":
        return Choice(None, "it was switched off", {})
    if calibrator == "auto":
        return choose_calibrator(record, seed=seed)
    made = create("calibrator", calibrator)
    return Choice(plugins.answer(made, lambda: made.fit(record, seed)), "it was asked for", {})


def fit_plan(
    record: Predictions,
    methods: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
    target_accuracies: Sequence[float] | None = None,
    calibrator: str = "auto",
    diagnostician: Diagnostician | None = None,
    metrics: MetricsAsked | None = None,
) -> tuple[EstimationPlan, list[Skipped]]:
    """A plan fitted on a labelled record, and the methods that do not apply to it.

    ``target_accuracies`` ask for the risk-coverage curve; without them it is left out. A ``diagnostician`` is fitted
    with the shift statistics; ``metrics`` are what is asked for besides the accuracy.
    """
    choice = choose(record, calibrator, seed)
    calibrated = choice.apply(record)
    # worked out once, before several threads ask for them
    _ = record.verdicts, calibrated.verdicts, calibrated.probabilities is not None and calibrated.top
    names_wanted = list(methods or default_methods())
    names_asked = list(dict.fromkeys([*names_wanted, *(metrics.methods if metrics is not None else ())]))
    curve = None
    if target_accuracies is not None:
        curve = RiskCoverage(level=level, target_accuracies=tuple(target_accuracies), seed=seed)
    jobs: list[Callable[[], Any]] = [partial(_fit_curve, record, curve)]
    decided = not record.is_argmax
    jobs += [partial(_fit_one, name, calibrated, level, seed, decided) for name in names_asked]
    threads = len(record) >= _THREADED_ROWS
    # the long ones first, so that no core waits for one that began last
    order = sorted(range(len(jobs)), key=lambda i: i > 0 and names_asked[i - 1] not in _LONG)
    done = dict(zip(order, side_by_side([jobs[i] for i in order], threads=threads), strict=True))
    fitted_curve, *found = (done[i] for i in range(len(jobs)))
    fitted = {n: f for n, f in zip(names_asked, found, strict=True) if isinstance(f, Estimator)}
    skipped = [f for n, f in zip(names_asked, found, strict=True) if isinstance(f, Skipped) and n in names_wanted]
    metric_plan = None
    if metrics is not None:
        metric_plan = fit_metrics(metrics, fitted, calibrated, record, level=level, seed=seed)
        fitted |= {n: m for n, m in metric_plan.methods.items() if n in fitted}
    fitted = {n: m for n, m in fitted.items() if n in names_wanted}
    confidence: Score | None = natural_confidence(record) if fitted_curve is not None else None
    plan = EstimationPlan(
        choice,
        fitted,
        fitted_curve,
        confidence,
        rows=batch_rows(record.num_classes),
        shift_statistics=None if diagnostician is None else ShiftStatistics().fit(calibrated),
        diagnostician=None if diagnostician is None else diagnostician.fit(calibrated),
        metrics=metric_plan,
    )
    return plan, skipped


def _fit_one(name: str, reference: Predictions, level: float, seed: int, decided: bool) -> Estimator | Skipped:
    made: Any = find("estimator", name)
    try:
        made = create("estimator", name, level=level, seed=seed)
        if decided and getattr(made, "argmax_only", False):
            return Skipped(name, NOT_ARGMAX)
        fitted = made.fit(reference)
        if not isinstance(fitted, Estimator):
            raise TypeError(f"fit gave no estimator but {type(fitted).__name__}")
    except plugins.FAILURES as error:
        return Skipped(name, plugins.why_failed(name, made, error))
    return fitted


def _fit_curve(reference: Predictions, curve: RiskCoverage | None) -> RiskCoverage | None:
    if curve is None:
        return None
    try:
        return curve.fit(reference)
    except NotApplicable:
        return None  # no confidence, no curve: the report leaves the section out
