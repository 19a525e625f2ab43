"""Recalling: what a fitted file knows, in the place of what would be learnt from its reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import UsageError
from ...estimators.expected_classes import metric_name
from ...options import declared, placed
from ...passes.plan import EstimationPlan, quick_methods
from ...results.backtest import Backtest
from ..fitted import Contents, Fitted
from ..options import Learnt
from .learning import LEAST_CANDIDATES
from .options import EstimateJob
from .reference_figures import ReferenceFigures

FITTED = tuple(placed(Learnt, "fit", "read"))
"""Options that shape what is learnt from a reference: a fitted file holds them, and another value is refused."""

_OPENED = ("classes", "mapping", "positive", "threshold")  # whoever opens the target sees to these
_DEFAULTS = {name: field.default for name, field, _ in declared(Learnt)}


def told_of_fit(options: EstimateJob) -> dict[str, Any]:
    """The options that a file is to hold, as plain values."""
    told: dict[str, Any] = {}
    for name in FITTED:
        value = getattr(options, name)
        told[name] = list(value) if isinstance(value, (list, tuple)) else value
        if isinstance(value, Mapping):
            told[name] = dict(value)
    return told


def asked_as_fitted(kept: Contents, options: EstimateJob) -> EstimateJob:
    """The options with those of the fit; `UsageError` for one that was given and is another.

    Fewer methods may be asked than were fitted, and the diagnosis and the backtest may be left out.
    """
    told = kept.options
    changes: dict[str, Any] = {}
    for name in FITTED:
        if name in _OPENED or name not in told:
            continue
        before, now = told[name], getattr(options, name)
        now = list(now) if isinstance(now, tuple) else now
        usual = _DEFAULTS[name]
        if now == before:
            continue
        if now == (list(usual) if isinstance(usual, tuple) else usual):
            changes[name] = before
        elif name == "diagnosis" or (name == "cluster" and before is None and now not in kept.fitted.clusters.columns):
            continue
        elif name == "methods":
            _check_fitted(kept, now)
        elif name == "metrics":
            _check_metrics(kept, now)
        else:
            raise UsageError(
                f"{_file(kept)} was fitted with {name} {_shown(before)}, got {_shown(now)}; leave {name} out, or fit "
                "the reference again with it"
            )
    if options.payoff is not None:
        raise UsageError(f"{_file(kept)} holds what was fitted with its pay-off; give another one to `oodometer fit`")
    if options.backtest not in ("auto", None) and not isinstance(options.backtest, Backtest):
        raise UsageError(f"{_file(kept)} holds its backtest; a folder for backtests is of use to `oodometer fit`")
    if options.prior is None and kept.prior is not None:
        changes["prior"] = kept.prior
    try:
        return replace(options, **changes)
    except UsageError as error:
        raise ValueError(str(error)) from error  # nobody typed it: `faults_of_fitted` names the file


def recalled(kept: Contents, options: EstimateJob) -> Fitted:
    """What was learnt, cut to the methods that are asked for."""
    fitted = kept.fitted
    plan, trials, skipped, warnings = fitted.plan, fitted.trials, list(fitted.skipped), list(fitted.warnings)
    wanted = options.methods
    if wanted is not None and wanted != kept.options.get("methods"):
        plan = replace(plan, methods={name: plan.methods[name] for name in wanted if name in plan.methods})
        skipped = [one for one in skipped if one.method in wanted]
        trials = _of_methods(trials, quick_methods(wanted))
        if plan.metrics is not None:
            plan = replace(plan, metrics=plan.metrics.of_methods(wanted))
            if plan.metrics is None:
                warnings.append("none of the methods asked for can estimate the metrics of the fit: they are left out")
    if plan.metrics is not None and options.metrics:
        plan = replace(plan, metrics=plan.metrics.only(options.metrics))
    if not options.diagnosis:
        plan, trials = replace(plan, shift_statistics=None, diagnostician=None), None
    if options.backtest is None or isinstance(options.backtest, Backtest):
        trials = options.backtest
    return replace(fitted, plan=plan, trials=trials, skipped=skipped, warnings=warnings)


def figures_of(kept: Contents, plan: EstimationPlan) -> ReferenceFigures | None:
    """What the page draws of the reference; None where the target has no confidence to set beside it."""
    figures: ReferenceFigures | None = kept.figures
    return None if plan.confidence is None else figures


def _of_methods(trials: Backtest | None, names: list[str]) -> Backtest | None:
    """The trials as if only these methods had been tried; None where there are too few to weigh."""
    if trials is None or len(names) < LEAST_CANDIDATES:
        return None

    def few(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in found.items() if name in names}

    cut = tuple(replace(trial, estimates=few(trial.estimates)) for trial in trials.trials)
    return replace(trials, trials=cut)


def _check_fitted(kept: Contents, wanted: list[str]) -> None:
    known = {*kept.fitted.plan.methods, *(one.method for one in kept.fitted.skipped)}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(
            f"{_file(kept)} holds no method {unknown[0]!r}, only {', '.join(kept.fitted.plan.methods)}; fit the "
            f"reference again with --method {unknown[0]}"
        )


def _check_metrics(kept: Contents, wanted: list[str]) -> None:
    """`UsageError` for a metric that was not fitted."""
    plan = kept.fitted.plan.metrics
    fitted = [] if plan is None else [one.name for one in plan.metrics]
    unknown = [name for name in wanted if metric_name(name) not in (*fitted, "accuracy")]
    if unknown:
        had = ", ".join(fitted) or "no metric but the accuracy"
        raise UsageError(f"{_file(kept)} was fitted with {had}; fit the reference again with --metric {unknown[0]}")


def _file(kept: Contents) -> str:
    return kept.file or "this Oodometer"


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
