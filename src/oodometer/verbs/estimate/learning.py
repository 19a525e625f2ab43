"""Learning: what `estimate` is asked, and all that it takes from a reference or from a file in which that was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError, visible
from ...estimators.expected_classes import class_metrics_asked, metric_name
from ...headline.alarms import alarm_rules, check_when
from ...headline.natural_shifts import NaturalShifts, check_margin, packaged_prior
from ...options import declared
from ...passes.folding import Execution
from ...passes.slicing import Chunks, parse_chunks
from ...predictions import FIELDS
from ...registry import find
from ...results.alarms import ASKED, AlarmRule, FailWhen
from ...results.estimation import ASSUMPTIONS
from ...store.where import parse_where
from ..opening import renamings
from ..options import EstimateOptions

if TYPE_CHECKING:
    from ...histories import Recorder

import os
from dataclasses import replace
from typing import Any

from ...arrays import Array
from ...backtests.trials import LEAST_REFERENCE, BacktestOptions, run_backtest
from ...calibrators.binned_map import count_verdicts
from ...classes import ClassNames, said_of_classes
from ...diagnoses import Diagnostician
from ...errors import InputError
from ...estimators import SourceAccuracy
from ...intervals import clopper_pearson
from ...options import placed
from ...passes.folding import enter_phase, hearing_phases
from ...passes.metrics import MetricsAsked, metric_methods
from ...passes.plan import CONFIDENCE_BINS, bins_of_confidence, decisions_said, fit_plan, quick_methods, rounding
from ...passes.reference import FEW_ROWS, Reference, check_classes, gather_reference, label_warnings
from ...predictions import Predictions
from ...registry import broken
from ...results import Skipped
from ...results.backtest import Backtest
from ...store import Source
from ..clusters import side_of
from ..fitted import Fitted
from ..opening import positive_class
from ..options import Learnt


class EstimateJob(EstimateOptions):
    """What `estimate` was asked and where it works; `UsageError` for options that make no sense together."""

    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        object.__setattr__(self, "metrics", watched_metrics(self.metrics, self.fail_below, self.fail_drop))
        if self.assume not in ASSUMPTIONS:
            raise UsageError(f"unknown assumption {self.assume!r}; known: {', '.join(ASSUMPTIONS)}")
        check_margin(self.margin)
        if self.by is not None and self.every is not None:
            raise UsageError("give --by or --every, not both")
        if isinstance(self.backtest, (str, Path)) and self.backtest != "auto":
            place = Path(self.backtest)
            if place.is_file() or (place.suffix and not place.is_dir()):
                there = "a file" if place.is_file() else "there is no such file or folder"
                raise UsageError(
                    f"--backtest: expected auto, none or a folder that keeps backtests, got {place} ({there}); name a "
                    "folder, which is made where its name has no ending, or leave it out"
                )
        # refused before the work
        _ = self.chunks, self.alarm_rules, self.when, self.recorder, parse_where(self.where)
        for name in self.methods or ():
            find("estimator", name)
        if self.payoff is not None:
            from ...metrics.payoff import Payoff

            Payoff.of(self.payoff)  # refused before the work
        for name in self.metrics:
            class_metrics_asked([name.partition(":")[0]], (), None if self.payoff is None else np.eye(1))
        for accuracy in self.target_accuracies:
            if not 0 < accuracy <= 1:
                raise UsageError(
                    f"expected an accuracy between 0 and 1 such as 0.95, got {accuracy}; divide percents by 100"
                )

    @cached_property
    def natural_shifts(self) -> NaturalShifts:
        """The prior of natural shifts: the packaged one, or that of a file."""
        if isinstance(self.prior, NaturalShifts):
            return self.prior  # of a fitted file
        return packaged_prior() if self.prior is None else NaturalShifts.read(self.prior)

    @cached_property
    def chunks(self) -> Chunks | None:
        """How the target is cut into chunks; `UsageError` for what is no way to."""
        return None if self.every is None else parse_chunks(self.every)

    @cached_property
    def alarm_rules(self) -> tuple[AlarmRule, ...]:
        """What must not be undercut."""
        below, drop = named_bounds(self.fail_below), named_bounds(self.fail_drop)
        return alarm_rules(below, drop, ("accuracy", *map(metric_name, self.metrics)))

    @property
    def when(self) -> FailWhen:
        """What an alarm is judged by."""
        return check_when(self.fail_when)

    @cached_property
    def recorder(self) -> Recorder | None:
        """What takes the run to its store; `UsageError` for words that ask for a store where none is given."""
        if self.alarms not in ASKED:
            raise UsageError(f"--alarms: expected one of {', '.join(ASKED)}, got {self.alarms!r}")
        if self.store is None:
            for given, why in ((self.job is not None, "--job"), (self.alarms != "all", f"--alarms {self.alarms}")):
                if given:
                    raise UsageError(f"{why} needs a store of past runs; give --store FILE or --store postgresql://...")
            return None
        if self.job is not None and not self.job.strip():
            raise UsageError("--job: expected a name, got an empty one")
        from ...histories import Recorder, open_store

        job = None if self.job is None else visible(self.job.strip())
        values = {name: getattr(self, name) for name, _, about in declared(type(self)) if about.noted}
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return Recorder(open_store(self.store), job, self.alarms, told)

    @property
    def extra_columns(self) -> list[str]:
        """Columns of the target that are no field and are read all the same."""
        return [self.by] if self.by is not None and self.by not in FIELDS else []


def named_bounds(given: float | Mapping[str, float] | None) -> dict[str, float]:
    """Metric -> bound, each metric by the name that it is known by; a number alone is of the accuracy.

    >>> named_bounds(0.93), named_bounds({"auc": 0.8}), named_bounds(None)
    ({'accuracy': 0.93}, {'roc_auc': 0.8}, {})
    """
    if given is None:
        return {}
    return (
        {metric_name(name): bound for name, bound in given.items()}
        if isinstance(given, Mapping)
        else {"accuracy": given}
    )


def watched_metrics(metrics: Sequence[str], *given: float | Mapping[str, float] | None) -> list[str]:
    """The metrics asked for, and those that an alarm asks for.

    >>> watched_metrics(["f1"], {"auc": 0.8, "accuracy": 0.9}, 0.02)
    ['f1', 'roc_auc']
    """
    asked = [name for one in given for name in named_bounds(one) if name != "accuracy"]
    return list(dict.fromkeys((*metrics, *asked)))


FITTED = tuple(placed(Learnt, "fit", "read"))
"""Options that shape what is learnt from a reference: a fitted file holds them, and another value is refused."""

_OPENED = ("classes", "mapping", "positive", "threshold")  # whoever opens the target sees to these
_DEFAULTS: dict[str, Any] = {name: field.default for name, field, _ in declared(Learnt)}
_LEAST_CANDIDATES = 3  # methods below which there is nothing to weigh
_REPEATS = 8  # trials of each family and severity behind a headline
_HISTOGRAM_BINS = 20
_RELIABILITY_BINS = 15


def learn(sources: Sequence[Source], options: EstimateJob, target: Source | None = None) -> Fitted:
    """Everything learnt from the reference; ``target`` is what will be asked about, where that is known."""
    reading = options.execution
    if target is not None:  # then plain functions hear of the target's parts alone
        reading = reading.heard_by(hearing_phases(reading.progress))
    gathered = [gather_reference(s, execution=reading, in_parts=target is None, seed=options.seed) for s in sources]
    read = [gathered.pop(0).joined() for _ in range(len(gathered))]  # pieces are let go one by one
    record = read[0].record if len(read) == 1 else Predictions.concat([r.record for r in read])
    rows, correct, left_out = (sum(getattr(r, name) for r in read) for name in ("rows", "correct", "unlabelled"))
    reference = Reference(record, rows, correct, left_out, any(r.sampled for r in read))
    check_classes(record, sources[0].name)
    warnings = _reference_warnings(reference, target, sources)
    enter_phase(options.execution.progress, "fitting")
    plan, skipped = fit_plan(
        record,
        options.methods,
        level=options.level,
        seed=options.seed,
        target_accuracies=options.target_accuracies,
        calibrator=options.calibrator,
        diagnostician=Diagnostician(seed=options.seed, columns=sources[0].users) if options.diagnosis else None,
        metrics=_asked_metrics(record, sources[0], options),
    )
    trials = options.backtest if options.diagnosis else None
    if trials is not None and not isinstance(trials, Backtest):
        candidates, cache, trials = quick_methods(options.methods), trials, None
        if len(candidates) >= _LEAST_CANDIDATES and len(record) >= LEAST_REFERENCE:
            how = {name: getattr(options, name) for name in ("level", "calibrator", "seed")}
            # a second at most, which no engine is worth that must be started or sent the rows
            here = Execution(progress=enter_phase(options.execution.progress, "backtest"))
            trials = run_backtest(record, BacktestOptions(candidates, repeats=_REPEATS, cache=cache, **how), here)
    # the source accuracy from all reference rows, also where methods were fitted on a sample of them
    methods = {
        name: one.with_counts(correct, rows) if isinstance(one, SourceAccuracy) else one
        for name, one in plan.methods.items()
    }
    plan = replace(plan, methods=methods, argmax=record.is_argmax)
    unmade = [Skipped(*one) for one in broken("estimator").items()] if options.methods is None else []
    own = options.cluster if all(source.holds(str(options.cluster)) for source in sources) else None
    clusters = side_of(sources, own, rows, options.level, plan.shift_statistics, labelled=True)
    return Fitted(plan, sources[0].name, reference, trials, skipped, warnings, len(record), unmade, clusters)


def _asked_metrics(record: Predictions, source: Source, options: EstimateJob) -> MetricsAsked | None:
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
    return MetricsAsked(metrics, place_of_class(classes, positive) if len(classes) == 2 else 0, methods)


def _reference_warnings(reference: Reference, target: Source | None, sources: Sequence[Source]) -> list[str]:
    record = reference.record
    warnings: list[str] = []
    if reference.unlabelled:
        warnings.append(f"{reference.unlabelled} reference rows have no known truth and were left out")
    warnings += said_of_classes(record.noted, "the reference")
    if reference.sampled:
        warnings.append(
            f"the reference has {reference.rows} labelled rows; methods were fitted on a seeded sample of "
            f"{len(record)} of them"
        )
    if record.rounded is not None:
        warnings.append(rounding(record.rounded, "the reference's"))
    if len(record) < FEW_ROWS:
        warnings.append(
            f"the reference has only {len(record)} labelled rows; intervals are wide and rest on few errors"
        )
    verdicts = record.verdicts
    if verdicts.all() or not verdicts.any():
        kind = "errors" if verdicts.all() else "correct answers"
        warnings.append(f"the reference has no {kind}: what separates right from wrong cannot be learnt from it")
    warnings += decisions_said(record, "reference")
    warnings += label_warnings("the reference", [record], record.accuracy)
    theirs = None if target is None else target.path
    if theirs is not None:
        paths = [source.path for source in sources if source.path is not None]  # of patterns, as they are written
        there = [path for path in paths if os.path.exists(path) and os.path.exists(theirs)]
        if theirs in paths or any(os.path.samefile(path, theirs) for path in there):
            warnings.append("reference and target are the same file")
    if record.label is not None and len(record) and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


def reference_figures(fitted: Fitted, level: float) -> dict[str, Any] | None:
    """What the page draws of the reference; None where there is no confidence.

    `reliability` is its diagram (15 bins of calibrated confidence, exact intervals), `shares` are those of rows in 20
    bins of confidence.
    """
    plan, record = fitted.plan, fitted.reference.record
    if plan.confidence is None:
        return None
    calibrated = plan.choice.apply(record)
    values, cell = bins_of_confidence(plan.confidence, calibrated)
    counts, correct = count_verdicts(cell, calibrated.verdicts, CONFIDENCE_BINS)
    total = np.bincount(cell, weights=values, minlength=CONFIDENCE_BINS)
    rows, hits, sums = (c.reshape(_RELIABILITY_BINS, -1).sum(axis=1) for c in (counts, correct, total))
    full = np.flatnonzero(rows)
    ends = np.array([clopper_pearson(int(hits[b]), int(rows[b]), level) for b in full])
    reliability = {
        "confidence": sums[full] / rows[full],
        "accuracy": hits[full] / rows[full],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "rows": rows[full],
    }
    return {"reliability": reliability, "shares": _shares(counts), "score": plan.confidence.name}


def confidence_figure(figures: Mapping[str, Any], target_counts: Array) -> dict[str, Any]:
    """The histogram of confidence on both sides; the target's counts are those of 60 cells."""
    edges, target = np.linspace(0, 1, _HISTOGRAM_BINS + 1), _shares(target_counts)
    return {"edges": edges, "reference": figures["shares"], "target": target, "score": figures["score"]}


def _shares(counts: Array) -> Array:
    wide = counts.reshape(_HISTOGRAM_BINS, -1).sum(axis=1)
    return np.asarray(wide / wide.sum())


# ------------------------------------------------------------------------------------------ from a fitted file


def told_of_fit(options: EstimateJob) -> dict[str, Any]:
    """The options that a file is to hold, as plain values."""
    told: dict[str, Any] = {}
    for name in FITTED:
        value = getattr(options, name)
        told[name] = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    return told


def asked_as_fitted(kept: Fitted, options: EstimateJob) -> EstimateJob:
    """The options with those of the fit; `UsageError` for one that was given and is another.

    Fewer methods may be asked than were fitted, and the diagnosis and the backtest may be left out.
    """
    changes: dict[str, Any] = {}
    for name in FITTED:
        if name in _OPENED or name not in kept.options:
            continue
        before, now, usual = kept.options[name], getattr(options, name), _DEFAULTS[name]
        now, usual = list(now) if isinstance(now, tuple) else now, list(usual) if isinstance(usual, tuple) else usual
        if now == before:
            continue
        if now == usual:
            changes[name] = before
        elif name == "diagnosis" or (name == "cluster" and before is None and now not in kept.clusters.columns):
            continue
        elif name == "methods":
            known = {*kept.plan.methods, *(one.method for one in kept.skipped)}
            for unknown in (one for one in now if one not in known):
                raise UsageError(
                    f"{kept.where} holds no method {unknown!r}, only {', '.join(kept.plan.methods)}; fit the "
                    f"reference again with --method {unknown}"
                )
        elif name == "metrics":
            fitted = [] if kept.plan.metrics is None else [one.name for one in kept.plan.metrics.metrics]
            for unknown in (one for one in now if metric_name(one) not in (*fitted, "accuracy")):
                had = ", ".join(fitted) or "no metric but the accuracy"
                raise UsageError(f"{kept.where} was fitted with {had}; fit the reference again with --metric {unknown}")
        else:
            told = [", ".join(map(str, one)) if isinstance(one, list) else str(one) for one in (before, now)]
            raise UsageError(
                f"{kept.where} was fitted with {name} {told[0]}, got {told[1]}; leave {name} out, or fit the reference "
                "again with it"
            )
    if options.payoff is not None:
        raise UsageError(f"{kept.where} holds what was fitted with its pay-off; give another one to `oodometer fit`")
    if options.backtest not in ("auto", None) and not isinstance(options.backtest, Backtest):
        raise UsageError(f"{kept.where} holds its backtest; a folder for backtests is of use to `oodometer fit`")
    if options.prior is None and kept.prior is not None:
        changes["prior"] = kept.prior
    try:
        return replace(options, **changes)
    except UsageError as error:
        raise ValueError(str(error)) from error  # nobody typed it: `faults_of_fitted` names the file


def recalled(kept: Fitted, options: EstimateJob) -> Fitted:
    """What was learnt, cut to the methods that are asked for."""
    plan, trials, skipped, warnings = kept.plan, kept.trials, list(kept.skipped), list(kept.warnings)
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
    return replace(kept, plan=plan, trials=trials, skipped=skipped, warnings=warnings)


def _of_methods(trials: Backtest | None, names: Sequence[str]) -> Backtest | None:
    """The trials as if only these methods had been tried; None where there are too few to weigh."""
    if trials is None or len(names) < _LEAST_CANDIDATES:
        return None
    cut = tuple(
        replace(trial, estimates={name: one for name, one in trial.estimates.items() if name in names})
        for trial in trials.trials
    )
    return replace(trials, trials=cut)
