"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY, joined_truth, mostly_new, target_key
from ..audits.judge import EVEN
from ..audits.labels import (
    by_confidence,
    no_random_sample,
    of_state,
    open_labels,
    said_of_labels,
    uneven,
)
from ..backtests.trials import LEAST_REFERENCE, BacktestOptions, run_backtest
from ..calibrators.binned_map import count_verdicts
from ..classes import ClassNames, said_of_classes
from ..diagnoses import Diagnosis, Diagnostician
from ..errors import InputError, UsageError, WorkError, visible
from ..estimators import Estimator, SourceAccuracy
from ..estimators.expected_classes import metric_name, metrics_named
from ..headline.alarms import Watched, alarm_rules, judge_alarms
from ..headline.headline import Evidence, TrialWeighting, make_headline, middle_methods
from ..headline.label_posterior import (
    LabelEvidence,
    LabelPosterior,
    cdf_without_labels,
    falls_by_labels,
    known_by,
)
from ..headline.metric_headline import WIDE, MetricEvidence, Scale, metric_answers
from ..headline.metric_shifts import packaged_metrics
from ..headline.natural_shifts import (
    DOMAINS,
    NaturalShifts,
    ShiftSigns,
    chance_of_fall,
    check_margin,
    contradicted,
    doubt_of,
    headline_under,
    judged,
    judges_alone,
    natural_headline,
    packaged_prior,
    signs_of,
    under_assumptions,
    under_covariate_shift,
)
from ..headline.own_history import (
    HistoryPosterior,
    PastPeriod,
    Reading,
    Together,
    before,
    given_past,
    reading_of,
    together,
)
from ..headline.parts import SeenWhole, part_headline, seen_whole
from ..inference.domain_classifier import compared_once
from ..inference.row_sample import in_content_order
from ..intervals import clopper_pearson
from ..kernels import later, one_thread, side_by_side
from ..options import declared, verb
from ..passes.folding import Execution, enter_phase, hearing_phases
from ..passes.metrics import COUNTS, MetricsAsked, metric_methods, predicted_of
from ..passes.plan import (
    CONFIDENCE_BINS,
    EstimationPlan,
    State,
    batch_rows,
    bins_of_confidence,
    check_rule,
    checked_estimate,
    decisions_said,
    fit_plan,
    needed_fields,
    quick_methods,
    rounding,
)
from ..passes.reference import (
    FEW_ROWS,
    FIELDS_NEEDED,
    Reference,
    added,
    has_column,
    label_warnings,
    read_reference,
)
from ..passes.slicing import (
    WHOLE,
    Chunks,
    TimeChunks,
    column_of,
    in_natural_order,
    parse_chunks,
    rows_by_value,
)
from ..predictions import FIELDS, Predictions
from ..registry import FAILURES, broken, find, unless_failed, why_failed
from ..results import Estimate, Interval, Skipped
from ..results.alarms import ASKED, WHEN, AlarmRule, Alarms, FailWhen, Fall
from ..results.backtest import Backtest
from ..results.estimation import (
    ASSUMPTIONS,
    Assumed,
    Estimation,
    Headline,
    MetricEstimation,
    Part,
    PartReference,
)
from ..store import Part as SourcePart
from ..store import Source
from ..store.base import rows_of
from ..store.memory import RecordSource
from ..store.where import parse_where
from .clusters import Design, Side, cluster_column, side_of
from .fitted import LEAST_CANDIDATES, Fitted, FittedSource
from .opening import (
    about_features,
    executing,
    opener_for,
    positive_class,
    renamings,
    with_classes_of_all,
    with_features,
)
from .options import EstimateOptions
from .parts import AskedPart, asked_parts, said_of_references
from .past_periods import (
    distance_in_time,
    groups_left_out,
    known_truth,
    middle_time,
    periods_left_out,
    periods_of_store,
    places_in_time,
    said_of_past,
)
from .shared_rows import said_of_shared_rows

if TYPE_CHECKING:
    from ..histories import Recorder


def named_bounds(given: float | Mapping[str, float] | None) -> dict[str, float]:
    """Metric -> bound, each metric by the name that it is known by; a number alone is of the accuracy."""
    given = given if isinstance(given, Mapping) else {} if given is None else {"accuracy": given}
    return {metric_name(name): bound for name, bound in given.items()}


PART_ROWS = (
    1 << 17
)  # small enough that two workers finish together, large enough to hide their overhead
_MANY_ROWS = 1 << 18  # of a target, from which on a batch keeps its share of samples alone
_SLOW = {
    "threshold-distance": 200_000
}  # target rows above which a method must be asked for by name
_TRIALS_SEED = 0
_REPEATS = 8  # trials of each family and severity behind a headline
_HISTOGRAM_BINS = 20
_RELIABILITY_BINS = 15

Chance = Callable[[float], float | None]  # how likely the accuracy lies below a bound
_ByMetric = Mapping[str, Sequence[Estimate]]


class EstimateJob(EstimateOptions):
    """What `estimate` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mapping or self.positive is not None:
            object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        bounds = (*named_bounds(self.fail_below), *named_bounds(self.fail_drop))
        metrics = dict.fromkeys((*self.metrics, *(name for name in bounds if name != "accuracy")))
        object.__setattr__(self, "metrics", list(metrics))
        if self.assume not in ASSUMPTIONS:
            raise UsageError(f"unknown assumption {self.assume!r}; known: {', '.join(ASSUMPTIONS)}")
        if self.domain is not None and self.domain not in DOMAINS:
            raise UsageError(f"--domain: expected one of {', '.join(DOMAINS)}, got {self.domain!r}")
        check_margin(self.margin)
        if self.by is not None and self.every is not None:
            raise UsageError("give --by or --every, not both")
        if isinstance(self.backtest, (str, Path)) and self.backtest != "auto":
            path = Path(self.backtest)
            if path.is_file() or (path.suffix and not path.is_dir()):
                what = "a file" if path.is_file() else "there is no such file or folder"
                remedy = (
                    "name a folder, which is made where its name has no ending, or leave it out"
                )
                expected = "expected auto, none or a folder that keeps backtests"
                raise UsageError(f"--backtest: {expected}, got {path} ({what}); {remedy}")
        # refused before the work
        _ = self.chunks, self.alarm_rules, self.recorder, self.where and parse_where(self.where)
        if self.fail_when not in WHEN:
            raise UsageError(
                f"--fail-when: expected one of {', '.join(WHEN)}, got {self.fail_when!r}"
            )
        for name in self.methods or ():
            find("estimator", name)
        if self.payoff is not None:
            from ..metrics.payoff import Payoff

            Payoff.of(self.payoff)
        for name in self.metrics:
            metrics_named([name.partition(":")[0]], (), None if self.payoff is None else np.eye(1))
        for accuracy in self.target_accuracies:
            if not 0 < accuracy <= 1:
                expected = "expected an accuracy between 0 and 1 such as 0.95"
                raise UsageError(f"{expected}, got {accuracy}; divide percents by 100")

    @cached_property
    def natural_shifts(self) -> NaturalShifts:
        """The prior of natural shifts: the packaged one, or that of a file."""
        if isinstance(self.prior, NaturalShifts):
            return self.prior  # of a fitted file
        return packaged_prior() if self.prior is None else NaturalShifts.read(self.prior)

    @cached_property
    def chunks(self) -> Chunks | None:
        """How the target is cut into chunks; `UsageError` for what is no way to."""
        return None if self.every is None else parse_chunks(self.every, self.timezone or "")

    @cached_property
    def alarm_rules(self) -> tuple[AlarmRule, ...]:
        """What must not be undercut."""
        below, drop = named_bounds(self.fail_below), named_bounds(self.fail_drop)
        return (
            alarm_rules(below, drop, ("accuracy", *map(metric_name, self.metrics)))
            if below or drop
            else ()
        )

    @cached_property
    def recorder(self) -> Recorder | None:
        """What takes the run to its store; `UsageError` for words that ask for a store where none is given."""
        if self.alarms not in ASKED:
            raise UsageError(f"--alarms: expected one of {', '.join(ASKED)}, got {self.alarms!r}")
        if self.store is None:
            for given, why in (
                (self.job is not None, "--job"),
                (self.alarms != "all", f"--alarms {self.alarms}"),
            ):
                if given:
                    raise UsageError(
                        f"{why} needs a store of past runs; give --store FILE or --store postgresql://..."
                    )
            return None
        if self.job is not None and not self.job.strip():
            raise UsageError("--job: expected a name, got an empty one")
        from ..histories import Recorder, open_store

        job = None if self.job is None else visible(self.job.strip())
        values = {
            name: getattr(self, name) for name, _, about in declared(type(self)) if about.noted
        }
        noted = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }
        return Recorder(open_store(self.store), job, self.alarms, noted)

    @property
    def extra_columns(self) -> list[str]:
        """Columns of the target that are no field and are read all the same."""
        return [self.by] if self.by is not None and self.by not in FIELDS else []


@verb(EstimateJob)
def estimate(options: EstimateJob) -> Estimation:
    """Estimate the accuracy of a model on unlabelled data, by every method that the data can feed.

    Raises `InputError` for input that cannot become a number, `UsageError` for a call that makes no sense, and
    `oodometer.errors.NotStoredError`, which holds the answer, where the store did not take it; a method that does not
    apply is skipped with its reason.

    >>> y, p = [0, 0, 1] * 40, [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40
    >>> found = estimate(y, p, [[0.9, 0.1], [0.6, 0.4]] * 40, methods=["source", "atc"])
    >>> round(found["source"].value, 3), found["atc"].value, found["atc"].kind
    (0.667, 0.5, 'conditional')
    """
    recorder = options.recorder
    if recorder is not None:
        recorder.store.check()
    with executing(
        "estimate", options, reference=options.reference, target=options.target
    ) as execution:
        estimation = estimated(options, execution)
    return estimation if recorder is None else recorder.record(estimation, options.reference)


def estimated(
    options: EstimateJob, execution: Execution, given: LabelEvidence | None = None
) -> Estimation:
    """The estimate, with options that are checked already; of files or opened sources. ``given``: what labels of the
    whole target say, where an audit has read them.
    """
    run = partial(_estimated, options, execution=execution, given=given)
    return with_classes_of_all(run, [options.reference, options.target], options)


def _estimated(
    options: EstimateJob,
    classes: Sequence[int | str] | None,
    execution: Execution,
    given: LabelEvidence | None = None,
) -> Estimation:
    enter_phase(execution.progress, "reading")
    opener = opener_for(options)
    sources = opener.references(options.reference, classes, extra_columns=options.extra_columns)
    target: Any = opener.target(options.target, options.extra_columns, options.where)
    labels = None if options.labels is None else open_labels(options.labels, opener.labels)
    past = [opener.history(data) for data in listed_history(options.history)]
    opener.check()
    fitted = sources[0].fitted if isinstance(sources[0], FittedSource) else None
    if fitted is not None:
        options = fitted.options_with(options)
    if options.cluster is not None:
        cluster_column(
            target, options.cluster, 0, None if fitted is None else fitted.options.get("cluster")
        )
    if (
        options.features is not None or sources[0].encoding is not None
    ):  # those of a fitted file are known
        asked = options.features if fitted is None else None
        sources, target = with_features(sources, target, asked, [target_key(options.key, target)])
    prior = options.natural_shifts  # a file that is no prior is refused before the work
    truth, notes = (None, ()) if labels is None else joined_truth(labels, target, options.key)
    if options.methods is None:
        later(
            partial(import_module, "scipy.optimize")
        )  # some will want it: it loads while files are read
    learnt = (
        learn(sources, options, execution, target) if fitted is None else fitted.cut_to(options)
    )
    learnt.warnings.extend([*opener.notes, *notes])
    if fitted is None and not _are_one_file(sources, target):
        learnt.warnings.extend(said_of_shared_rows(sources, target))
    learnt, parts = _for_target(learnt, target, execution, truth, options)
    drawn = partial(reference_figures, learnt, options.level)
    figures = (
        later(drawn)
        if fitted is None
        else lambda: fitted.figures if learnt.plan.confidence is not None else None
    )
    enter_phase(execution.progress, "estimating")
    state = learnt.plan.read(parts, execution, target.name)
    whole = state[WHOLE]
    rows, labelled_rows, correct = (
        int(whole["truth"][name]) for name in ("rows", "known", "correct")
    )
    if truth is not None:
        learnt.plan.check_labels(rows)
    noted = whole.get("noted", {})
    if whole["truth"]["new"] > labelled_rows / 2:
        raise mostly_new(noted, target.classes, target.path)
    learnt.warnings.extend(said_of_classes(noted, "the target") if noted else ())
    if labelled_rows:  # its rows are read again only where few are right
        batches = target.batches(fields=FIELDS_NEEDED)
        labelled_batches = batches if truth is None else map(learnt.plan.with_labels, batches)
        learnt.warnings.extend(
            label_warnings("the labelled target", labelled_batches, correct / labelled_rows)
        )
    enter_phase(execution.progress, "weighing")
    # clusters of both sides; None where no rows depend on each other
    own, away, reference = learnt.clusters, Side(), learnt.reference
    if options.cluster is not None or target.holds(KEY):
        away = side_of(
            [target],
            options.cluster,
            rows,
            options.level,
            learnt.plan.shift_statistics,
            labelled=False,
        )
    if options.cluster not in (None, *own.columns) and not own.count:
        learnt.warnings.append(
            f"{learnt.name} has no column {options.cluster}: its rows are taken as independent"
        )
    design = None
    if own.count or away.count:
        design = Design(own, away, reference.correct / reference.rows, reference.rows)
    picked = None if labels is None else by_confidence(labels)
    answers = _Answers(learnt, options, design, prior, picked)
    learnt.warnings.extend(answers.recall(past, target, execution))
    return answers.finish(state, figures, target, given)


def listed_history(history: Any) -> list[Any]:
    """Files or tables of the past, one or several."""
    if history is None:
        return []
    return list(history) if isinstance(history, (list, tuple)) else [history]


def with_history(
    fitted: Fitted, past: Sequence[Source], options: EstimateJob, execution: Execution
) -> Fitted:
    """What was learnt, with the periods of labelled sources of the past."""
    answers = _Answers(fitted, options, None, options.natural_shifts)
    said = answers.remember(past, execution)
    return replace(fitted, past=answers.past, warnings=[*fitted.warnings, *said])


def _for_target(
    fitted: Fitted,
    target: Source,
    execution: Execution,
    truth: Predictions | None,
    options: EstimateJob,
) -> tuple[Fitted, Sequence[SourcePart]]:
    """The plan as this target can feed it, what was left out, and the target's parts."""
    parts, rows = (
        target.parts(PART_ROWS, execution.each),
        batch_rows(fitted.reference.record.num_classes),
    )
    batches = (batch for part in parts for batch in part.batches(rows=fitted.plan.rows))
    beginning = next(batches, None)
    if beginning is None:
        raise InputError(
            "at least one row", got="none", remedy="check what wrote it", file=target.name
        )
    in_all = rows_of(parts) or target.rows
    if (
        len(parts) == 1
        and beginning.rows < fitted.plan.rows
        and execution.is_plain
        and next(batches, None) is None
    ):
        parts = RecordSource(beginning).parts(
            PART_ROWS
        )  # that is all of it, and it need not be read again
    many = in_all if in_all is not None and in_all >= _MANY_ROWS else None
    about: dict[str, Any] = {"rows": rows, "rows_in_all": many, "first_row": beginning.first_row}
    plan = replace(fitted.plan, by=options.by, every=options.chunks, labels=truth, **about)
    check_rule(beginning, bool(plan.argmax))
    plan, unfed = plan.restricted_to(beginning)
    skipped = [*fitted.skipped, *unfed, *fitted.unmade]
    for name, most in _SLOW.items():  # what would take minutes, unless it was asked for by name
        if (
            name in plan.methods
            and options.methods is None
            and (target.rows is None or target.rows > most)
        ):
            why = f"takes long on more than {most} target rows; ask for it with --method {name}"
            skipped.append(Skipped(name, why))
            plan = replace(plan, methods={n: m for n, m in plan.methods.items() if n != name})
    if not plan.methods:
        raise none_applies(skipped, target)
    plan = replace(plan, fields=needed_fields(plan, beginning))
    rounded = [] if beginning.rounded is None else [rounding(beginning.rounded, "the target's")]
    return replace(fitted, plan=plan, skipped=skipped, warnings=[*fitted.warnings, *rounded]), parts


def none_applies(skipped: Sequence[Skipped], target: Source) -> InputError:
    """The error where no method can say anything of the target, with each one's reason."""
    got = f"none applies ({'; '.join(f'{s.method}: {s.why}' for s in skipped)})"
    remedy = "`oodometer methods` says what each one needs"
    return InputError(
        "data that at least one method can use", got=got, file=target.name, remedy=remedy
    )


# ------------------------------------------------------------------------------------------ from the reference


def learn(
    sources: Sequence[Source],
    options: EstimateJob,
    execution: Execution,
    target: Source | None = None,
) -> Fitted:
    """Everything learnt from the reference; ``target`` is what will be asked about, where that is known."""
    reading = execution
    if target is not None:  # then plain functions hear of the target's parts alone
        reading = reading.heard_by(hearing_phases(reading.progress))
    how_read: dict[str, Any] = {
        "execution": reading,
        "in_parts": target is None,
        "seed": options.seed,
    }
    read = [read_reference(source, **how_read, by=options.by) for source in sources]
    record = in_content_order(Predictions.concat([r.record for r in read]))
    rows, correct, left_out = (
        sum(getattr(r, name) for r in read) for name in ("rows", "correct", "unlabelled")
    )
    verdicts = added(r.verdicts for r in read) if all(r.verdicts for r in read) else {}
    about_parts = (options.by, verdicts)
    reference = Reference(
        record, rows, correct, left_out, any(r.sampled for r in read), *about_parts
    )
    warnings = _reference_warnings(reference, target, sources)
    enter_phase(execution.progress, "fitting")
    how: dict[str, Any] = {name: getattr(options, name) for name in ("level", "calibrator", "seed")}
    diagnostician = (
        Diagnostician(seed=options.seed, columns=sources[0].users) if options.diagnosis else None
    )
    metrics = _asked_metrics(record, sources[0], options) if options.metrics else None
    more: dict[str, Any] = {"target_accuracies": options.target_accuracies, "metrics": metrics}
    plan, skipped = fit_plan(record, options.methods, **how, **more, diagnostician=diagnostician)
    trials = options.backtest if options.diagnosis else None
    if trials is not None and not isinstance(trials, Backtest):
        cache, trials = trials, None
        few = options.methods is not None and len(options.methods) < LEAST_CANDIDATES
        candidates = [] if few or record.rows < LEAST_REFERENCE else quick_methods(options.methods)
        if len(candidates) >= LEAST_CANDIDATES:
            # a second at most, which no engine is worth that must be started or sent the rows
            here = Execution(progress=enter_phase(execution.progress, "backtest"))
            # drawn by content alone, so that another seed moves no interval by the luck of two hundred trials
            drawn = {**how, "seed": _TRIALS_SEED}
            trials = run_backtest(
                record, BacktestOptions(candidates, repeats=_REPEATS, cache=cache, **drawn), here
            )
    # the source accuracy from all reference rows, also where methods were fitted on a sample of them
    methods = {
        name: method.with_counts(correct, rows) if isinstance(method, SourceAccuracy) else method
        for name, method in plan.methods.items()
    }
    plan = replace(plan, methods=methods, argmax=record.is_argmax)
    past: Sequence[PastPeriod] = ()
    if options.diagnosis and options.assume == "natural":
        past = periods_left_out(
            record, options.natural_shifts, options.methods, options.level, options.seed
        )
    unmade = (
        [Skipped(*why) for why in broken("estimator").items()] if options.methods is None else []
    )
    own = options.cluster
    own = own if own is not None and all(source.holds(own) for source in sources) else None
    clusters = Side(tuple(sources[0].columns))
    if own is not None or all(source.holds(KEY) for source in sources):
        clusters = side_of(sources, own, rows, options.level, plan.shift_statistics, labelled=True)
    made = Fitted(
        plan, sources[0].name, reference, trials, skipped, warnings, record.rows, unmade, clusters
    )
    return replace(made, past=past)


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
        got = "`correct` alone" if record.has("correct") else "none"
        remedy = "add the true class of each row, or leave --metric out"
        expected = f"reference rows with a `label`, which {metrics[0].name} asks for"
        raise InputError(expected, got=got, remedy=remedy, file=source.name)
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


def _are_one_file(sources: Sequence[Source], target: Source) -> bool:
    """Whether the target is a file of the reference."""
    if target.path is None:
        return False
    paths = [
        source.path for source in sources if source.path is not None
    ]  # of patterns, as they are written
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
        sampled = f"methods were fitted on a seeded sample of {len(record)} of them"
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
    warnings += label_warnings("the reference", [record], record.accuracy)
    if target is not None and _are_one_file(sources, target):
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
    diagram = {"confidence": sums[full] / rows[full], "accuracy": hits[full] / rows[full]}
    diagram |= {"lower": ends[:, 0], "upper": ends[:, 1], "rows": rows[full]}
    wide = counts.reshape(_HISTOGRAM_BINS, -1).sum(axis=1)
    return {"reliability": diagram, "shares": wide / wide.sum(), "score": plan.confidence.name}


# ------------------------------------------------------------------------------------------ from states to the result


def _estimates(
    methods: Mapping[str, Estimator], states: Mapping[str, Any], lighter: bool = False
) -> tuple[list[Estimate], list[Skipped]]:
    out, skipped = [], []
    for name, method in methods.items():
        if name not in states:
            continue  # left out of parts
        try:
            made = (method.lighter() if lighter else method).finish(unless_failed(states[name]))
            out.append(checked_estimate(method, made))
        except FAILURES as error:
            skipped.append(Skipped(name, why_failed(name, method, error)))
    return out, skipped


@dataclass(frozen=True)
class _Answer:
    """What is said of the target or a part of it; ``cdf``: how it is distributed without labels (`cdf_without_labels`),
    ``posterior``: with them, ``without``: the headline before; ``whole``: what its parts share, None where they have
    nothing to; ``reference``: what a part is held against.
    """

    headline: Headline
    assumptions: Mapping[str, Assumed]
    signs: Mapping[str, float]
    fell: float | None
    changed: float | None
    chance: Chance
    metrics: Mapping[str, MetricEstimation]
    cdf: Callable[[], Array | None] | None
    posterior: LabelPosterior | None = None
    without: Headline | None = None
    whole: SeenWhole | None = None
    reference: PartReference | None = None
    reading: Reading | None = None

    @property
    def distribution(self) -> Array | None:
        """The distribution function of the accuracy at 1,001 even ones, with labels where these take part."""
        if self.posterior is not None:
            return self.posterior.distribution
        return None if self.cdf is None else self.cdf()


class _Answers:
    """From estimates and states to what is said, alike for target and parts; ``design``: of clusters; ``picked``: why
    labels are no random sample, where their file says so. ``past``: periods whose truth is known; ``when``: the
    middle of the target's times, where it is asked about as one.
    """

    def __init__(
        self,
        fitted: Fitted,
        options: EstimateJob,
        design: Design | None,
        prior: NaturalShifts,
        picked: str | None = None,
    ) -> None:
        self.picked = picked
        self.past: list[PastPeriod] = [*fitted.past]
        self.when: np.datetime64 | None = None
        self.unit = "" if options.every is None else options.every.strip()
        self.fitted, self.plan, self.options, self.design, self.prior = (
            fitted,
            fitted.plan,
            options,
            design,
            prior,
        )
        self.correct, self.rows = fitted.reference.correct, fitted.reference.rows
        self.accuracy, trials = self.correct / self.rows, fitted.trials
        self.effects = (1.0, 1.0) if design is None else design.effects
        weighting = None
        if trials is not None:
            weighting = TrialWeighting(trials.trials, trials.methods, fitted.learnt_rows)
        self.evidence = Evidence(
            options.level,
            weighting,
            source=self.accuracy,
            reference_rows=self.rows,
            effects=self.effects,
            domain=options.domain,
        )

    def finish(
        self,
        state: State,
        figures: Callable[[], Mapping[str, Any] | None],
        target: Source,
        given: LabelEvidence | None = None,
    ) -> Estimation:
        """The result from the states of the whole target, its slices and its chunks."""
        fitted, plan, options, design, level = (
            self.fitted,
            self.plan,
            self.options,
            self.design,
            self.options.level,
        )
        whole = state[WHOLE]
        rows, labelled = int(whole["truth"]["rows"]), int(whole["truth"]["known"])
        estimates, late, diagnosis, by_metric = self._of_methods(whole)
        if diagnosis is not None:
            diagnosis = replace(diagnosis, features=about_features(target))
        self.evidence = replace(self.evidence, diagnosis=diagnosis)
        skipped = [*fitted.skipped, *late]
        if not estimates:
            raise none_applies(skipped, target)
        drawn = figures()
        evidence = given or self.labels_of(
            whole, [part for key, part in state.items() if key[0] in ("by", "every")]
        )
        answer = self.of(estimates, whole, by_metric, diagnosis)
        if plan.every is None:
            answer = self.with_past(answer, None, self.when)
        answer = self.with_labels(answer, evidence)
        warnings = [
            *fitted.warnings,
            *_metric_warnings(plan, answer.metrics, skipped, options, target.name),
        ]
        headline = answer.headline
        truth = None if evidence is None or not evidence.labelled else evidence.alone(level)
        parts = self.parts(state, answer) if plan.by is not None or plan.every is not None else []
        measured = evidence is not None and evidence.complete  # then nothing is left to compose
        heard = [one.headline.history is not None for _, one in parts]
        # slices of which the reference has rows share its correction, and with them the whole has
        by_parts = not measured and (any if plan.by is None else all)(heard or [False])
        if by_parts:
            answer = self.composed(answer, parts)
            headline = answer.headline
        ((fell, without),) = self.falls([answer])
        alarms = None
        if options.alarm_rules:
            about_it: tuple[Any, ...] = (
                headline,
                (),
                truth,
                fell,
                {},
                answer.metrics,
                without,
                answer.without,
            )
            own = Part({"value": "target"}, rows, *about_it)
            alarms = _alarms((own, answer), parts, options, self.accuracy)
        known = answer.posterior is not None and answer.without is None
        if headline.trust == "none" and len(estimates) > 1 and not known:
            warnings.append(headline.why)
        if truth is not None and plan.labels is None:
            used = "for the truth only, not for any estimate"
            if by_parts:
                used = "chunk by chunk: for the truth there, and as the history of what follows"
            elif answer.without is not None:
                used = "as those of a random sample"
            warnings.append(f"the target holds labels; they were used {used}")
        # labels of whole periods are no sample of all, and need be none where each period answers for itself
        not_random = None if evidence is None or by_parts else evidence.not_random
        if not_random is not None and given is None:
            warnings.append(no_random_sample(not_random))
        reference, calibrator, trials = fitted.reference, plan.choice.calibrator, fitted.trials
        low, high = clopper_pearson(reference.correct, reference.rows, level)
        about = {
            "name": fitted.name,
            "rows": reference.rows,
            "accuracy": self.accuracy,
            "lower": low,
            "upper": high,
        }
        about |= {"level": level, "kind": "exact", "classes": reference.record.num_classes}
        confidence = None
        if drawn is not None:
            wide = whole["confidence"]["counts"].reshape(_HISTOGRAM_BINS, -1).sum(axis=1)
            confidence = {
                "edges": np.linspace(0, 1, _HISTOGRAM_BINS + 1),
                "reference": drawn["shares"],
            }
            confidence |= {"target": wide / wide.sum(), "score": drawn["score"]}
        chosen: dict[str, Any] = {
            "name": None if calibrator is None else calibrator.name,
            "why": plan.choice.why,
        }
        chosen |= {
            "scores": plan.choice.scores,
            "temperature": getattr(calibrator, "temperature", None),
        }
        tried = None
        if trials is not None:  # rows that the trials read may be a sample
            tried = {"trials": len(trials.trials), "rows": trials.reference.get("rows")}
            tried |= {"families": trials.families, "methods": trials.methods}
        shown = None if truth is None else truth.to_dict()
        cut = tuple(part for part, _ in parts)
        if plan.by is not None:
            references = {part.name: part.reference for part in cut if part.reference is not None}
            warnings += said_of_references(fitted, references, plan.by)
        if design is not None:
            about, warnings = dict(design.about(about)), [*warnings, *design.said()]
            estimates = [design.wide(estimate, rows) for estimate in estimates]
        result: dict[str, Any] = {
            "reference": about,
            "estimates": tuple(estimates),
            "skipped": tuple(skipped),
        }
        result |= {
            "target": {"name": target.name, "rows": rows, "labelled": labelled, "accuracy": shown}
        }
        result |= {
            "headline": headline,
            "warnings": tuple(warnings),
            "level": level,
            "seed": options.seed,
        }
        result |= {
            "calibration": chosen,
            "confidence": confidence,
            "diagnosis": diagnosis,
            "backtest": tried,
        }
        result |= {
            "assumptions": answer.assumptions,
            "assume": options.assume,
            "metrics": answer.metrics,
        }
        result |= {"fell": fell, "fell_without_labels": without, "alarms": alarms}
        result |= {"headline_without_labels": answer.without, "not_random": not_random}
        result["risk_coverage"] = (
            None if plan.curve is None else plan.curve.finish(whole["risk_coverage"])
        )
        result["reliability"] = None if drawn is None else drawn["reliability"]
        result["slices" if plan.every is None else "chunks"] = cut
        return Estimation(**result)

    def _of_methods(
        self, whole: Mapping[str, Any]
    ) -> tuple[list[Estimate], list[Skipped], Diagnosis | None, _ByMetric]:
        """What methods and diagnostician say of the whole target, the heavy ones side by side, and of other metrics."""
        plan = self.plan
        light = {name: method for name, method in plan.methods.items() if not method.traits.heavy}
        alone = [{name: method} for name, method in plan.methods.items() if method.traits.heavy]
        jobs: list[Callable[[], Any]] = [
            partial(_estimates, methods, whole) for methods in (*alone, light)
        ]
        if plan.diagnostician is not None:
            jobs.insert(0, partial(plan.diagnostician.finish, whole["diagnosis"]))
        by_metric: _ByMetric = {}
        more: list[Skipped] = []
        # set once for all jobs: who asks inside pays nothing
        with compared_once(), one_thread():
            results = side_by_side([partial(copy_context().run, job) for job in jobs])
            if plan.metrics is not None:
                by_metric, more = plan.metrics.estimates(whole)
        diagnosis: Diagnosis | None = None if plan.diagnostician is None else results.pop(0)
        order = {method.name: i for i, method in enumerate(plan.methods.values())}
        estimates = sorted(
            (e for some, _ in results for e in some), key=lambda e: order.get(e.method, len(order))
        )
        late = sorted(
            (s for _, some in results for s in some),
            key=lambda s: list(plan.methods).index(s.method),
        )
        late += [s for s in more if s.method not in {skipped.method for skipped in late}]
        return estimates, late, diagnosis, by_metric

    def of(
        self,
        estimates: Sequence[Estimate],
        states: Mapping[str, Any],
        by_metric: _ByMetric,
        diagnosis: Diagnosis | None = None,
        part: AskedPart | None = None,
        whole: _Answer | None = None,
    ) -> _Answer:
        """What is said where the methods say this; a ``diagnosis`` is of the whole target. A ``part`` starts from what
        it shares with the others, and from what is said of the ``whole``.
        """
        options, design, prior = self.options, self.design, self.prior
        statistics = self.plan.shift_statistics
        outputs = (
            (1.0, 1.0) if design is None else (design.reference.outputs, design.target.outputs)
        )
        beside = None if part is None else part.outputs
        moves: Mapping[str, float] = {} if part is None else part.moves
        if part is None and statistics is not None:
            moves = statistics.finish(states["shift_statistics"], outputs)
        # a chunk's number is of its own rows alone: what came after it, and moved the diagnosis, leaves it as it was
        kind = (
            None if diagnosis is None and self.plan.every is not None else self.evidence.diagnosis
        )
        here = replace(self.evidence, shift_statistics=moves, diagnosis=kind)
        made = (
            None
            if part is None
            else Headline(part.own.interval, part.own.method, part.own.assumes, "low", "")
        )
        still = made or make_headline(estimates, here)
        assert still is not None  # there is at least one estimate
        signs = signs_of(still, {e.method: e for e in estimates}, here)
        if (
            diagnosis is None and signs is not None
        ):  # a part may be another than the whole, which was diagnosed
            signs = replace(signs, separation=None)
        rows = int(states["truth"]["rows"])
        if part is None or whole is None:
            middle = middle_methods({e.method: e for e in estimates})
            natural = natural_headline(
                still, signs, here, prior, under_covariate_shift(estimates), middle
            )
        else:
            error = here.error_of_clusters(part.seen.value, rows)
            natural = part_headline(part.seen, part.own, whole.headline, options.level, error)
        assumptions = under_assumptions(natural, still, estimates, diagnosis)
        if part is not None and part.reference.share is not None:
            assumptions |= {"none": Assumed(part.seen.unchanged(options.level), "source")}
        natural = contradicted(natural, assumptions["label"], diagnosis)
        headline = headline_under(options.assume, natural, assumptions)
        error = here.error_of_clusters(headline.interval.value, rows)
        assumed = headline.interval if judges_alone(still) or options.assume != "natural" else None

        def chance(bound: float) -> float | None:
            if still.method == "votes":  # nobody knows how these judges err
                return None
            if part is not None and assumed is None:
                return part.seen.chance_below(bound, error)
            return chance_of_fall(prior, signs, self.accuracy - bound, assumed, here.source, error)

        changed = None
        if statistics is not None:
            changed = statistics.p_value(states["shift_statistics"], options.seed, outputs, beside)
        if part is not None and whole is not None and self.plan.by is not None and beside is None:
            # beside the whole reference a slice differs in composition, whatever happened: the whole must have changed,
            # and the slice must not be like the reference
            changed = (
                None if changed is None or whole.changed is None else max(changed, whole.changed)
            )
        doubt = "" if signs is None or headline.trust != "high" else doubt_of(signs, self.evidence)
        headline = replace(headline, trust="low", why=doubt) if doubt else headline
        metrics = self._metrics(by_metric, states, here, signs)
        if design is not None:
            headline = design.headline(headline, rows)
            assumptions = {
                name: a
                if a.interval is None
                else replace(a, interval=design.wide(a.interval, rows))
                for name, a in assumptions.items()
            }
        reading = None
        if signs is not None and not judges_alone(still):
            reading = reading_of(signs, estimates, prior)
        reference = None if part is None else part.reference
        fell = chance((self.accuracy if reference is None else reference.pooled) - options.margin)
        shares = None
        if part is None and signs is not None and not natural.method.startswith("votes"):
            shares = seen_whole(natural.value, signs, here, prior)
        known = options.assume != "natural" or not judges_alone(
            still
        )  # how these judges err, nobody knows
        cdf: Callable[[], Array | None] | None = None
        if part is not None and assumed is None:
            cdf = partial(part.seen.distribution, EVEN, error)
        elif known:
            cdf = partial(cdf_without_labels, prior, signs, assumed, error)
        return _Answer(
            headline,
            assumptions,
            moves,
            fell,
            changed,
            chance,
            metrics,
            cdf,
            whole=shares,
            reference=reference,
            reading=reading,
        )

    def recall(self, past: Sequence[Source], target: Source, execution: Execution) -> list[str]:
        """Take in what a store and sources of the past tell, and when the target is; gives what is to be said of it."""
        options, recorder = self.options, self.options.recorder
        said: list[str] = []
        if recorder is not None:
            from ..histories.labelled_parts import labelled_parts

            try:
                told = labelled_parts(
                    recorder.store, recorder.job_of(options.reference, self.fitted.name)
                )
            except (
                InputError,
                WorkError,
            ) as error:  # a store that fails costs its history, and no answer
                said.append(
                    f"the past runs could not be read, so the number knows nothing of them: {error}"
                )
            else:
                self.past += periods_of_store(
                    told, options.chunks, self.unit, target.name, self.prior
                )
        if self.fitted.past and options.chunks is None:
            self.when = middle_time(target)
        return [*said, *self.remember(past, execution)]

    def remember(self, past: Sequence[Source], execution: Execution) -> list[str]:
        """Take in the periods of labelled sources, the oldest first; gives what is to be said of those that tell
        nothing.
        """
        if not past:
            return []
        here = Execution(progress=enter_phase(execution.progress, "history"))
        chunks, left_out = self.options.chunks, []
        for i, source in enumerate(past):
            learnt, parts = _for_target(
                self.fitted, source, here, None, replace(self.options, by=None)
            )
            state = learnt.plan.read(parts, here, source.name)
            keys = (
                sorted(key for key in state if key[0] == "every") if chunks is not None else [WHOLE]
            )
            for key, at in zip(keys, places_in_time(chunks, keys, i, len(past)), strict=True):
                states = state[key]
                rows = int(states["truth"]["rows"])
                name = source.name if source.path is not None else f"history {i + 1}"
                if chunks is not None:
                    name = str(chunks.place(key[1], rows, None)["name"])
                estimates, _ = _estimates(learnt.plan.methods, states, lighter=True)
                reading = self.of(estimates, states, {}).reading if estimates else None
                if not self._learn_from(name, at, reading, states, self.labels_of(states)):
                    left_out.append(name)
        return said_of_past(left_out)

    def _learn_from(
        self,
        name: str,
        at: float,
        reading: Reading | None,
        states: Mapping[str, Any],
        evidence: LabelEvidence | None,
    ) -> bool:
        """Whether a period tells anything: then it is behind those that come after it."""
        known = known_truth(states, evidence)
        if known is None or reading is None or evidence is None:
            return False
        one = PastPeriod(name, at, reading, *known, labelled=evidence.labelled, unit=self.unit)
        self.past = [
            other
            for other in self.past
            if (other.kind, other.unit, other.at) != (one.kind, one.unit, at)
        ]
        self.past.append(one)
        return True

    def with_past(self, answer: _Answer, at: float | None, when: np.datetime64 | None) -> _Answer:
        """What is said of a period at this place in time (None: after all), given those before it; without any the
        same. ``when`` it was: what the reference alone tells holds for times that are not too far from it.
        """
        past, at = before(self.past, at, self.unit)
        far = 0.0
        if past and all(one.kind == "inside the reference" for one in past):
            distance = distance_in_time(self.fitted.reference.record, when)
            if distance is None:
                return answer
            at, far = at + distance[0], distance[1]
        if (
            not past
            or answer.reading is None
            or answer.cdf is None
            or self.options.assume != "natural"
        ):
            return answer
        public = answer.cdf()
        if public is None:
            return answer
        return self.by_history(answer, given_past(past, answer.reading, at, public, far))

    def by_history(self, answer: _Answer, made: HistoryPosterior) -> _Answer:
        """What is said of a period or group by own history."""
        held = self.accuracy if answer.reference is None else answer.reference.pooled

        def ends(level: float) -> tuple[float, float]:
            found = made.interval(level)
            return found.lower, found.upper

        shared = answer.whole
        if shared is not None:  # what slices share is the whole as it is said now
            value = made.interval(self.options.level).value
            shared = replace(shared, value=value, interval=ends, quantile=made.quantile)
        return replace(
            answer,
            whole=shared,
            headline=made.headline(answer.headline, self.options.level),
            fell=made.below(held - self.options.margin),
            chance=made.below,
            cdf=lambda: made.cdf,
        )

    def with_groups(self, answer: _Answer) -> _Answer:
        """What is said of a slice of which the reference has no rows, given the groups that it has; the same without
        enough of these.
        """
        public = None if answer.cdf is None else answer.cdf()
        if not self.groups or answer.reading is None or public is None:
            return answer
        made = given_past(self.groups, answer.reading, 0.0, public)
        return self.by_history(answer, made)

    @cached_property
    def groups(self) -> list[PastPeriod]:
        """The groups of the reference by the column of slices, each left out of it once."""
        plan, options, reference = self.plan, self.options, self.fitted.reference
        record, by = reference.record, plan.by
        if by is None or reference.by != by or not has_column(record, by):
            return []
        names, places = rows_by_value(column_of(record, by))
        return groups_left_out(
            record,
            [str(name) for name in names],
            [*places],
            self.prior,
            options.methods,
            options.level,
            options.seed,
        )

    def composed(self, answer: _Answer, parts: Sequence[tuple[Part, _Answer]]) -> _Answer:
        """The whole as its periods have it, some by their labels and some by own history: the mean of them."""
        distributions = [one.distribution for _, one in parts]
        if any(cdf is None for cdf in distributions):
            return answer
        cdf = together(
            [cdf for cdf in distributions if cdf is not None], [part.rows for part, _ in parts]
        )
        made = Together(cdf, [one.headline for _, one in parts])

        def chance(bound: float) -> float | None:
            return made.below(bound)

        return replace(
            answer,
            headline=made.headline(answer.without or answer.headline, self.options.level),
            fell=made.below(self.accuracy - self.options.margin),
            chance=chance,
            cdf=lambda: cdf,
            posterior=None,
            without=None,
        )

    def labels_of(
        self, states: Mapping[str, Any], parts: Sequence[Mapping[str, Any]] | None = None
    ) -> LabelEvidence | None:
        """What the labels of a part of the target say; None without any. ``parts``: those that the whole of it was cut
        into.
        """
        rows, labelled, correct = (
            int(states["truth"][name]) for name in ("rows", "known", "correct")
        )
        if not labelled:
            return None
        # a slice may well be of one class; a period that is was most often not reported yet
        sliced = parts is None and self.plan.by is not None
        seen = None if sliced else said_of_labels(self.fitted.reference.record)
        spread = [(int(part["truth"]["known"]), int(part["truth"]["rows"])) for part in parts or ()]
        picked = of_state(states.get("labelled"), seen)
        not_random = self.picked or (uneven(spread) if picked is None else picked.why)
        by_outcome = self.picked is None and picked is not None and picked.by == "label"
        effect = self.effects[1]
        return LabelEvidence(
            correct / effect,
            labelled / effect,
            labelled,
            rows,
            not_random=not_random,
            by_outcome=by_outcome,
        )

    def with_labels(self, answer: _Answer, evidence: LabelEvidence | None) -> _Answer:
        """What is said with labels that can be a random sample, or of every row; else the same as without."""
        if evidence is None or not evidence.usable:
            return answer
        cdf = None if answer.cdf is None else answer.cdf()
        still = answer.headline
        known = known_by(self.prior, self.options.assume, still)
        posterior = LabelPosterior(cdf, evidence, known, by_history=still.history is not None)
        headline = posterior.headline(answer.headline, self.options.level)
        without = None if evidence.complete else answer.headline
        return replace(
            answer, headline=headline, chance=posterior.below, posterior=posterior, without=without
        )

    def _metrics(
        self,
        by_metric: _ByMetric,
        states: Mapping[str, Any],
        evidence: Evidence,
        signs: ShiftSigns | None,
    ) -> dict[str, MetricEstimation]:
        """Metric -> headline, estimates, the reference's own value and the truth where rows are labelled."""
        plan, out = self.plan.metrics, {}
        if plan is None or COUNTS not in states:
            return {}
        # rows of a class that the model does not know are missing from the counts of classes
        truth = {} if states["truth"]["new"] else plan.truth(states)
        for metric in plan.metrics:
            estimates, reference = (
                tuple(by_metric.get(metric.name, ())),
                plan.reference.get(metric.name),
            )
            settled = plan.settled(metric, predicted_of(states)) if estimates else None
            if settled is not None:  # by the predicted classes: all methods then agree on the value
                value, why = settled
                lower, upper = (
                    median(e.lower for e in estimates),
                    median(e.upper for e in estimates),
                )
                interval = Interval(
                    value, min(lower, value), max(upper, value), estimates[0].level, "exact"
                )
                trust = "high" if upper - lower <= WIDE else "low" if upper - lower < 1 else "none"
                assumes = "nothing: the predicted classes settle it"
                headline = Headline(interval, "predicted classes", assumes, trust, why)
                made = MetricEstimation(headline, estimates, reference)
            else:
                base = metric.base
                if len(plan.support) == 2 and metric.at not in (None, plan.positive):
                    # of two classes, the recall of one is the specificity of the other
                    base = {"recall": "specificity", "specificity": "recall"}.get(base, base)
                scale = Scale.of(*metric.bounds)
                rests = MetricEvidence(
                    evidence, signs, reference, scale, plan.errors.get(metric.name)
                )
                priors = self.prior.metrics or packaged_metrics()
                answers = metric_answers(base, estimates, rests, priors, self.options.assume)
                if answers is None:
                    continue
                made = MetricEstimation(answers[0], estimates, reference, assumptions=answers[1])
            if self.design is not None:
                made = replace(
                    made, headline=self.design.headline(made.headline, int(states["truth"]["rows"]))
                )
            out[metric.name] = replace(made, truth=truth.get(metric.name))
        return out

    def falls(self, answers: Sequence[_Answer]) -> list[tuple[Fall, Fall | None]]:
        """Whether the accuracy fell, of parts looked at together; with labels where these take part, and without."""
        prior, margin, assume = self.prior, self.options.margin, self.options.assume
        chances, changes = [a.fell for a in answers], [a.changed for a in answers]
        if assume == "natural" and any(judges_alone(a.without or a.headline) for a in answers):
            assume = "judges"
        if any(a.reference is not None for a in answers):
            prior = replace(prior, verdicts=())  # those are of whole targets
        assumes = [assume if a.headline.history is None else "history" for a in answers]
        without = judged(prior, margin, chances, changes, assumes)
        references = [self._reference_counts(a.reference) for a in answers]
        fell = falls_by_labels([a.posterior for a in answers], changes, margin, references, assume)
        return [
            (before, None) if own is None else (own, before)
            for own, before in zip(fell, without, strict=True)
        ]

    def _reference_counts(self, own: PartReference | None) -> tuple[float, float]:
        """Correct rows and rows that an accuracy is held against: those of the reference, or of a part in it."""
        rows = self.rows / self.effects[0]
        if own is None or own.share is None:
            return (self.correct / self.effects[0] if own is None else own.pooled * rows), rows
        # pooled as if so many rows had been seen: its own, and those that stand for the reference as a whole
        rows = min(own.rows / max(own.share, 1e-9) / self.effects[0], rows)
        return own.pooled * rows, rows

    def parts(self, state: State, whole: _Answer) -> list[tuple[Part, _Answer]]:
        """Slices in their natural order, or chunks in order of time or rows; whether they fell is judged of all."""
        plan, design, options = self.plan, self.design, self.options
        keys = sorted(k for k in state if k[0] == "every") or in_natural_order(
            [k for k in state if k[0] == "by"]
        )
        rows = [int(state[key]["truth"]["rows"]) for key in keys]
        metrics = None if plan.metrics is None else plan.metrics.lighter()
        wheres: list[Mapping[str, Any]] = []
        by_part, answers = [], []
        for (_, value), states, many in zip(keys, (state[key] for key in keys), rows, strict=True):
            if plan.every is None:
                where: Mapping[str, Any] = {"by": plan.by, "value": value}
            else:
                latest = state[WHOLE].get("latest") if len(wheres) + 1 == len(keys) else None
                where = plan.every.place(value, many, latest)
            estimates, skipped = _estimates(plan.methods, states, lighter=True)
            if not estimates:
                got = f"none applies ({'; '.join(f'{s.method}: {s.why}' for s in skipped)})"
                column = ", ".join(f"{key} {value}" for key, value in where.items())
                remedy = "cut the target into larger parts, or ask for more methods"
                raise InputError(
                    "rows that at least one method can use", got=got, column=column, remedy=remedy
                )
            wheres.append(where)
            by_part.append(estimates)
        asked = None
        if whole.whole is not None:
            effects = (
                (1.0, 1.0) if design is None else (design.reference.outputs, design.target.outputs)
            )
            some = [state[key] for key in keys]
            asked = asked_parts(
                self.fitted, [value for _, value in keys], by_part, some, whole.whole, effects
            )
        labels = [self.labels_of(state[key]) for key in keys]
        for i, key in enumerate(keys):
            one = None if asked is None else asked[i]
            of_metrics = {} if metrics is None else metrics.estimates(state[key])[0]
            answer = self.of(by_part[i], state[key], of_metrics, part=one, whole=whole)
            if plan.every is not None:
                at = float(key[1])
                when = (
                    plan.every.begins(int(key[1])) if isinstance(plan.every, TimeChunks) else None
                )
                answer = self.with_past(answer, at, when)
                self._learn_from(str(wheres[i]["name"]), at, answer.reading, state[key], labels[i])
            elif one is not None and one.reference.share is None and options.assume == "natural":
                answer = self.with_groups(answer)
            answers.append(self.with_labels(answer, labels[i]))
        out = []
        for i, (answer, (fell, without)) in enumerate(
            zip(answers, self.falls(answers), strict=True)
        ):
            signs = {
                name: sign
                for name, sign in answer.signs.items()
                if name in ("moved", "unexplained")
            }
            wide = tuple(
                by_part[i] if design is None else (design.wide(e, rows[i]) for e in by_part[i])
            )
            own = labels[i]
            truth = None if own is None else own.alone(self.options.level)
            part = Part(
                place=wheres[i],
                rows=rows[i],
                headline=answer.headline,
                estimates=wide,
                truth=truth,
                fell=fell,
                signs=signs,
                metrics=answer.metrics,
                fell_without_labels=without,
                headline_without_labels=answer.without,
                reference=answer.reference,
            )
            out.append((part, answer))
        return out


def _metric_warnings(
    estimation: EstimationPlan,
    answers: Mapping[str, MetricEstimation],
    skipped: Sequence[Skipped],
    options: EstimateJob,
    target: str | None,
) -> list[str]:
    """Warnings about metrics that nothing can be said of; `InputError` where an alarm asks for one, or none is left."""
    plan = estimation.metrics
    if plan is None:
        return []
    why = {skip.method: skip.why for skip in skipped}
    missing = [metric.name for metric in plan.metrics if metric.name not in answers]
    for rule in options.alarm_rules:
        if rule.metric in missing and rule.metric in why:
            expected = f"a reference that tells {rule.metric}, which an alarm asks for"
            raise InputError(expected, got="none", remedy=why[rule.metric])
    if missing and not answers and not any(name in why for name in missing):
        reasons = (
            "; ".join(f"{s.method}: {s.why}" for s in plan.skipped)
            or "it is undefined on this target"
        )
        expected = f"a target of which {', '.join(missing)} can be estimated"
        remedy = (
            "`roc_auc` and `average_precision` need probabilities, the others predicted classes"
        )
        raise InputError(expected, got=f"none ({reasons})", remedy=remedy, file=target)
    undefined = "it is undefined, or needs `probabilities`"
    return [f"{name} cannot be estimated here: {why.get(name, undefined)}" for name in missing]


def _alarms(
    whole: tuple[Part, _Answer],
    parts: Sequence[tuple[Part, _Answer]],
    options: EstimateJob,
    accuracy: float,
) -> Alarms:
    """What the rules say of the target, or of the parts that it was cut into; ``accuracy`` is the reference's."""
    kind = "target" if not parts else "slice" if options.by is not None else "chunk"
    references = {"accuracy": accuracy}
    references |= {
        name: m.reference.value for name, m in whole[0].metrics.items() if m.reference is not None
    }
    watched = []
    for part, answer in parts or [whole]:
        where: dict[str, Any] = {"name": part.name}
        if "by" in part.place:
            where |= {"by": part.place["by"], "slice": part.place["value"]}
        where |= {key: part.place[key] for key in ("start", "end", "timezone") if key in part.place}
        numbers = {"accuracy": part.headline.interval} | {
            n: m.headline.interval for n, m in part.metrics.items()
        }
        truths = {"accuracy": part.truth} | {name: m.truth for name, m in part.metrics.items()}
        labelled = {name: truth for name, truth in truths.items() if truth is not None}
        posterior = answer.posterior
        if posterior is not None and posterior.evidence.complete:
            numbers |= {"accuracy": posterior.interval(options.level)} | labelled
        changed = None if part.fell is None else part.fell.changed
        proofs = {} if posterior is None else {"accuracy": posterior.evidence.proof}
        own = {} if part.reference is None else {"accuracy": part.reference.pooled}
        watched.append(
            Watched(
                where,
                part.rows,
                numbers,
                {"accuracy": answer.chance},
                changed,
                labelled,
                proofs,
                references=own,
            )
        )
    when = cast("FailWhen", options.fail_when)
    return judge_alarms(options.alarm_rules, watched, references, kind=kind, when=when)
