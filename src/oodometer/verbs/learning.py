"""What `estimate` and `fit` learn from a labelled reference, before any target is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..audits.joining import KEY
from ..backtests.trials import LEAST_REFERENCE, BacktestOptions, run_backtest
from ..calibrators.binned_map import count_verdicts
from ..classes import ClassNames, said_of_classes
from ..diagnoses import Diagnostician
from ..errors import InputError, UsageError
from ..estimators import SourceAccuracy
from ..estimators.expected_classes import metrics_named
from ..inference.row_sample import in_content_order
from ..intervals import clopper_pearson
from ..passes.folding import Execution, enter_phase, hearing_phases
from ..passes.metrics import MetricsAsked, metric_methods
from ..passes.plan import (
    CONFIDENCE_BINS,
    EstimationPlan,
    bins_of_confidence,
    decisions_said,
    fit_plan,
    quick_methods,
    rounding,
)
from ..passes.reference import FEW_ROWS, Reference, added, label_warnings, read_reference
from ..predictions import Predictions
from ..registry import broken
from ..results import Skipped
from ..results.backtest import Backtest
from ..store import Source
from .clusters import Side, side_of
from .estimate_job import EstimateJob
from .fitted import LEAST_CANDIDATES, Fitted
from .opening import positive_class
from .past_periods import periods_left_out

HISTOGRAM_BINS = 20
_RELIABILITY_BINS = 15
# Trials are drawn by content alone, so that another seed moves no interval by the luck of two hundred of them.
_TRIALS_SEED = 0
_REPEATS = 8  # trials of each family and severity behind a headline


def learn(
    sources: Sequence[Source],
    options: EstimateJob,
    execution: Execution,
    target: Source | None = None,
) -> Fitted:
    """Everything learnt from the reference; ``target`` is what will be asked about, where that is known."""
    reference = _read_references(sources, options, execution, target)
    record = reference.record
    renamed = label_warnings("the reference", [record], record.accuracy)
    warnings = [*_reference_warnings(reference, target, sources), *renamed]
    enter_phase(execution.progress, "fitting")
    diagnostician = None
    if options.diagnosis:
        diagnostician = Diagnostician(seed=options.seed, columns=sources[0].users)
    plan, skipped = fit_plan(
        record,
        options.methods,
        level=options.level,
        calibrator=options.calibrator,
        seed=options.seed,
        target_accuracies=options.target_accuracies,
        metrics=_asked_metrics(record, sources[0], options) if options.metrics else None,
        diagnostician=diagnostician,
    )
    trials = _trials(record, options, execution)
    plan = _with_exact_accuracy(plan, reference)
    past = []
    if options.diagnosis and options.assume == "natural" and record.time is not None:
        past = periods_left_out(
            record, options.natural_shifts, options.methods, options.level, options.seed
        )
    unmade = []
    if options.methods is None:
        unmade = [Skipped(*why) for why in broken("estimator").items()]
    return Fitted(
        plan=plan,
        name=sources[0].name,
        reference=reference,
        trials=trials,
        skipped=skipped,
        warnings=warnings,
        doubt="; ".join(renamed),
        learnt_rows=record.rows,
        unmade=unmade,
        clusters=_clusters(sources, options, reference.rows, plan),
        past=past,
    )


def _read_references(
    sources: Sequence[Source], options: EstimateJob, execution: Execution, target: Source | None
) -> Reference:
    """All files of the reference as one, its rows in the order of their content."""
    reading = execution
    if target is not None:  # then plain functions hear of the target's parts alone
        reading = reading.heard_by(hearing_phases(reading.progress))
    read = [
        read_reference(
            source, execution=reading, in_parts=target is None, seed=options.seed, by=options.by
        )
        for source in sources
    ]
    return Reference(
        record=in_content_order(Predictions.concat([part.record for part in read])),
        rows=sum(part.rows for part in read),
        correct=sum(part.correct for part in read),
        unlabelled=sum(part.unlabelled for part in read),
        sampled=any(part.sampled for part in read),
        by=options.by,
        verdicts=added(part.verdicts for part in read)
        if all(part.verdicts for part in read)
        else {},
    )


def _trials(record: Predictions, options: EstimateJob, execution: Execution) -> Backtest | None:
    """The backtest that weighs methods: the one that was given, or one of quick methods where rows suffice."""
    backtest = options.backtest if options.diagnosis else None
    if backtest is None or isinstance(backtest, Backtest):
        return backtest
    few = options.methods is not None and len(options.methods) < LEAST_CANDIDATES
    if few or record.rows < LEAST_REFERENCE:
        return None
    candidates = quick_methods(options.methods)
    if len(candidates) < LEAST_CANDIDATES:
        return None
    how = BacktestOptions(
        candidates,
        repeats=_REPEATS,
        level=options.level,
        calibrator=options.calibrator,
        seed=_TRIALS_SEED,
        cache=backtest,
    )
    # a second at most, which no engine is worth that must be started or sent the rows
    phase_execution = Execution(progress=enter_phase(execution.progress, "backtest"))
    return run_backtest(record, how, phase_execution)


def _with_exact_accuracy(plan: EstimationPlan, reference: Reference) -> EstimationPlan:
    """The plan with the source accuracy of all reference rows, also where methods were fitted on a sample of them."""
    counts = (reference.correct, reference.rows)
    methods = {
        name: method.with_counts(*counts) if isinstance(method, SourceAccuracy) else method
        for name, method in plan.methods.items()
    }
    return replace(plan, methods=methods, argmax=reference.record.is_argmax)


def _clusters(
    sources: Sequence[Source], options: EstimateJob, rows: int, plan: EstimationPlan
) -> Side:
    """How rows of the reference depend on each other, by the column asked for or by ids that repeat."""
    column = options.cluster
    if column is not None and not all(source.holds(column) for source in sources):
        column = None
    if column is None and not all(source.holds(KEY) for source in sources):
        return Side(tuple(sources[0].columns))
    return side_of(sources, column, rows, options.level, plan.shift_statistics, labelled=True)


def _asked_metrics(
    record: Predictions, source: Source, options: EstimateJob
) -> MetricsAsked | None:
    """What was asked for besides the accuracy, or None; `UsageError` where this reference cannot tell it."""
    from ..metrics import place_of_class
    from ..metrics.payoff import Payoff

    classes: ClassNames = record.classes or ()
    payoff = None if options.payoff is None else Payoff.of(options.payoff).matrix(classes)
    if not (metrics := metrics_named(options.metrics, classes, payoff)):
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
        raise UsageError(
            f"none of the methods asked for can estimate {metrics[0].name}; these can: {able}"
        )
    positive = positive_class(source, options.positive)
    return MetricsAsked(
        metrics, place_of_class(classes, positive) if len(classes) == 2 else 0, methods
    )


def are_one_file(sources: Sequence[Source], target: Source) -> bool:
    """Whether the target is a file of the reference."""
    if target.path is None:
        return False
    # of patterns, as they are written
    paths = [source.path for source in sources if source.path is not None]
    present = [path for path in paths if os.path.exists(path) and os.path.exists(target.path)]
    return target.path in paths or any(os.path.samefile(path, target.path) for path in present)


def _reference_warnings(
    reference: Reference, target: Source | None, sources: Sequence[Source]
) -> list[str]:
    record, verdicts = reference.record, reference.record.verdicts
    warnings: list[str] = []
    if reference.unlabelled:
        warnings.append(
            f"{reference.unlabelled} reference rows have no known truth and were left out"
        )
    warnings += said_of_classes(record.noted, "the reference") if record.noted else ()
    if reference.sampled:
        sampled = f"methods were fitted on a seeded sample of {len(record):,} of them"
        warnings.append(f"the reference has {reference.rows} labelled rows; {sampled}")
    if record.rounded is not None:
        warnings.append(rounding(record.rounded, "the reference's"))
    if len(record) < FEW_ROWS:
        few = f"the reference has only {len(record)} labelled rows"
        warnings.append(f"{few}; intervals are wide and rest on few errors")
    if verdicts.all() or not verdicts.any():
        kind = "errors" if verdicts.all() else "correct answers"
        warnings.append(
            f"the reference has no {kind}: what separates right from wrong cannot be learnt from it"
        )
    warnings += () if record.is_argmax else decisions_said(record, "reference")
    if target is not None and are_one_file(sources, target):
        warnings.append("reference and target are the same file")
    if record.label is not None and record.rows and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


def reference_figures(fitted: Fitted, level: float) -> dict[str, Any] | None:
    """The reference's reliability diagram (15 bins, exact intervals) and shares in 20 bins of confidence, or None."""
    plan, record = fitted.plan, fitted.reference.record
    if plan.confidence is None:
        return None
    calibrated = plan.choice.apply(record)
    values, cell = bins_of_confidence(plan.confidence, calibrated)
    counts, correct = count_verdicts(cell, calibrated.verdicts, CONFIDENCE_BINS)
    total = np.bincount(cell, weights=values, minlength=CONFIDENCE_BINS)
    rows, hits, sums = (
        c.reshape(_RELIABILITY_BINS, -1).sum(axis=1) for c in (counts, correct, total)
    )
    full = np.flatnonzero(rows)
    ends = np.array([clopper_pearson(int(hits[b]), int(rows[b]), level) for b in full])
    diagram = {
        "confidence": sums[full] / rows[full],
        "accuracy": hits[full] / rows[full],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "rows": rows[full],
    }
    wide = counts.reshape(HISTOGRAM_BINS, -1).sum(axis=1)
    return {"reliability": diagram, "shares": wide / wide.sum(), "score": plan.confidence.name}
