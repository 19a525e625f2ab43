"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ...arguments import checked, renamed
from ...audits.joining import by_position, joined_truth
from ...audits.labels import open_labels
from ...backtests.run import BacktestOptions, run_backtest
from ...backtests.trials import LEAST_REFERENCE
from ...engines import Engine
from ...errors import InputError
from ...estimators import SourceAccuracy
from ...kernels import later, limited_to
from ...passes.base import State
from ...passes.below_chance import FIELDS_NEEDED, label_warnings
from ...passes.decisions import check_rule, decisions_said
from ...passes.fitting import fit_plan, quick_methods
from ...passes.folding import Execution
from ...passes.plan import EstimationPlan, batch_rows, rounding
from ...passes.slicing import WHOLE
from ...predictions import Predictions
from ...registry import broken
from ...results import Skipped
from ...results.backtest import Backtest
from ...results.estimation import Estimation
from ...store import Part, Source
from ..features import check_features, with_features
from ..opening import Opener, renamings
from ..reference import FEW_ROWS, Reference, gather_reference, width
from .finishing import Fitted, finish, none_applies
from .options import EstimateOptions
from .reading_ahead import ReadingAhead
from .reference_figures import reference_figures

__all__ = ["estimate"]

_PART_ROWS = 1 << 17  # small enough that two workers finish together, large enough to hide their overhead
_REPEATS = 8  # trials of each family and severity behind a headline
_LEAST_CANDIDATES = 3  # methods below which there is nothing to weigh
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method must be asked for by name


@renamed(wanted="target_accuracies")
@checked(features=check_features)
def estimate(
    reference: Any,
    target: Any,
    *,
    methods: Sequence[str] | None = None,
    level: float = 0.95,
    by: str | None = None,
    every: str | None = None,
    labels: Any = None,
    key: str | None = None,
    target_accuracies: Sequence[float] = (0.95,),
    calibrator: str = "auto",
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    features: str | Sequence[str] | None = None,
    backtest: str | Path | Backtest | None = "auto",
    diagnosis: bool = True,
    assume: str = "natural",
    prior: str | Path | None = None,
    margin: float = 0.01,
    engine: str | Engine = "local",
    workers: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Estimation:
    """Estimate the accuracy of a model on unlabelled data, by every method that the data can feed.

    Parameters
    ----------
    reference :
        Labelled predictions on known ground: a file, a frame, a dict of arrays, a `Predictions`, or a list of them.
    target :
        Predictions of the same model on the data in question; labels in it are not used for any estimate.
    methods :
        Names as in ``oodometer methods``; by default all that apply.
    level :
        Nominal coverage of every interval.
    by, every :
        Column to slice the target by; or chunks along the column `time`: ``"month"`` (day, week, quarter, year: those
        of the calendar, UTC), a length such as ``"7d"``; or of so many rows, ``"1000rows"``. Not both.
    labels :
        Truth of target rows (a file or a dict with `label` or `correct`, null where unknown); only printed beside the
        estimates. Joined by `id` where both hold it, by a column `row` (target rows counted from 0), else one row
        for each target row, in its order.
    key :
        Another column to join the labels by, in both files.
    target_accuracies :
        Accuracies for which the operating threshold is looked up on the label-free risk-coverage curve.
    calibrator :
        "auto" (temperature, where cross-validation on the reference says that it helps), "none", or a name.
    classes, mapping :
        Names of the classes in the order of the probabilities; columns to rename in any of the files, {theirs: ours}.
    positive :
        Column with a binary model's probability of class 1; ``"COLUMN=CLASS"`` where the class has another name.
    threshold :
        From which probability on a binary model decides for its positive class: the one that its lone column is about,
        else the second by name. Where there is a `prediction`, that is the decision.
    features :
        Columns of your own that are the model's inputs, the same in both files: names, or "auto" for all that can be.
        Numbers, categories, texts (by their length) and empty cells become `features`, by an encoding that is learnt on
        the reference; methods that compare inputs use them, and the diagnosis says which columns moved.
    backtest :
        What the headline is weighed by: "auto" (a quick backtest on the reference, kept in the user's cache folder and
        reused), a folder to keep it in, a result of `oodometer.backtest`, or None for no backtest.
    diagnosis :
        Whether to look at the kind of shift; without it there is no backtest either, only the methods themselves.
    assume :
        What is believed of the shift, which the headline then rests on: "natural" (like those that public data made by
        themselves), "none", "label" (P(x | y) stood still) or "covariate" (P(y | x) did). All four are in the result.
    prior :
        A file of `python -m benchmarks.natural.prior` in place of the packaged prior of natural shifts.
    margin :
        "Did the accuracy fall by at least this much?" is answered for the target, each slice and each chunk (`Fall`).
    engine, workers :
        Where the passes over the target run.
    seed :
        Seed of the bootstrap in some intervals.
    progress :
        Called with (parts done, parts in all).

    Raises `InputError` for input that cannot become a number, `UsageError` for a call that makes no sense; a
    method that does not apply is skipped with its reason.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> found = estimate(reference, {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}, methods=["source", "atc"])
    >>> round(found["source"].value, 3), found["atc"].value, found["atc"].kind
    (0.667, 0.5, 'conditional')
    """
    options = EstimateOptions(
        methods=methods,
        level=level,
        by=by,
        every=every,
        labels=labels,
        key=key,
        target_accuracies=target_accuracies,
        calibrator=calibrator,
        classes=classes,
        mapping=renamings(mapping, positive),
        threshold=threshold,
        features=features,
        backtest=backtest,
        diagnosis=diagnosis,
        assume=assume,
        prior=prior,
        margin=margin,
        seed=seed,
        execution=Execution(engine, workers, progress),
    )
    with limited_to(workers):
        return _estimate(reference, target, options)


def _estimate(reference: Any, target: Any, options: EstimateOptions) -> Estimation:
    opener = Opener(options.mapping, options.threshold)
    sources = opener.references(reference, options.classes)
    target = opener.target(target, options.extra_columns)
    labels = None if options.labels is None else open_labels(options.labels, opener.target)
    opener.check()
    sources, target = with_features(sources, target, options.features, [options.key])
    _ = options.natural_shifts  # a file that is no prior is refused before the work
    truth = None if labels is None else joined_truth(labels, target, options.key)
    if options.methods is None:
        later(partial(import_module, "scipy.optimize"))  # some will want it: it loads while files are read
    fitted, parts = _fitted(sources, target, options)
    if labels is not None and (said := by_position(labels, target, options.key)) is not None:
        fitted.warnings.append(said)
    fitted = _for_target(fitted, target, _first_batch(parts, fitted.plan.rows, target), truth, options)
    figures = later(partial(reference_figures, fitted.plan, fitted.record, options.level))
    state = fitted.plan.read(parts, options.execution, target.name)
    fitted.plan.check_labels(int(state[WHOLE]["truth"]["rows"]))
    fitted.warnings.extend(_target_warnings(fitted.plan, state, target))
    return finish(fitted, state, figures, target, options)


# ------------------------------------------------------------------------------------------ reading


def _first_batch(parts: Sequence[Part], rows: int, source: Source) -> Predictions:
    for part in parts:
        for batch in part.batches(rows=rows):
            return batch
    raise InputError("at least one row", got="none", remedy="check what wrote it", file=source.name)


def _reference_warnings(
    read: Sequence[Reference], record: Predictions, target: Source, sources: Sequence[Source]
) -> list[str]:
    warnings: list[str] = []
    unlabelled = sum(r.unlabelled for r in read)
    if unlabelled:
        warnings.append(f"{unlabelled} reference rows have no known truth and were left out")
    if any(r.sampled for r in read):
        warnings.append(
            f"the reference has {sum(r.rows for r in read)} labelled rows; methods were fitted on a seeded sample of "
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
    if target.path is not None and any(s.path and Path(s.path).samefile(target.path) for s in sources):
        warnings.append("reference and target are the same file")
    if record.label is not None and len(record) and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


def _target_warnings(plan: EstimationPlan, state: State, target: Source) -> list[str]:
    """What is to be said of the target's labels, where it has any; its rows are read again only where few are right."""
    known, correct = int(state[WHOLE]["truth"]["known"]), int(state[WHOLE]["truth"]["correct"])
    batches = target.batches(fields=FIELDS_NEEDED)
    labelled = batches if plan.labels is None else map(plan.with_labels, batches)
    return label_warnings("the labelled target", labelled, correct / known) if known else []


# ------------------------------------------------------------------------------------------ fitting


def _fitted(sources: Sequence[Source], target: Source, options: EstimateOptions) -> tuple[Fitted, Sequence[Part]]:
    """Everything learnt from the reference, and the target's parts, the first of which were read meanwhile."""
    gathered = [gather_reference(s) for s in sources]
    values = _PART_ROWS * width(gathered[0].parts[0][1])
    ahead = ReadingAhead(target.parts(_PART_ROWS), batch_rows(len(sources[0].classes or ())), values)
    try:
        read = [gathered.pop(0).joined() for _ in range(len(gathered))]  # pieces are let go one by one
        record = read[0].record if len(read) == 1 else Predictions.concat([r.record for r in read])
        warnings = _reference_warnings(read, record, target, sources)
        plan, skipped = fit_plan(
            record,
            options.methods,
            level=options.level,
            seed=options.seed,
            target_accuracies=options.target_accuracies,
            calibrator=options.calibrator,
            diagnosis=options.diagnosis,
        )
        trials = _trials(record, options) if options.diagnosis else None
    finally:
        ahead.stop()
    plan = _with_exact_source(plan, read)
    return Fitted(plan, sources[0].name, read, record, trials, skipped, warnings), ahead.parts


def _trials(record: Predictions, options: EstimateOptions) -> Backtest | None:
    """What the headline is weighed by, or None."""
    if options.backtest is None or isinstance(options.backtest, Backtest):
        return options.backtest
    candidates = quick_methods(options.methods)
    if len(candidates) < _LEAST_CANDIDATES or len(record) < LEAST_REFERENCE:
        return None
    asked = BacktestOptions(
        methods=candidates,
        repeats=_REPEATS,
        level=options.level,
        calibrator=options.calibrator,
        seed=options.seed,
        cache=options.backtest,
    )
    return run_backtest(record, asked)


def _with_exact_source(plan: EstimationPlan, read: Sequence[Reference]) -> EstimationPlan:
    """The source accuracy from all reference rows, also where methods were fitted on a sample of them."""
    rows, correct = sum(r.rows for r in read), sum(r.correct for r in read)
    methods = {
        name: method.with_counts(correct, rows) if isinstance(method, SourceAccuracy) else method
        for name, method in plan.methods.items()
    }
    return replace(plan, methods=methods)


def _for_target(
    fitted: Fitted,
    target: Source,
    beginning: Predictions,
    truth: Predictions | None,
    options: EstimateOptions,
) -> Fitted:
    """The plan as this target can feed it, and what was left out; ``beginning`` is the target's first batch."""
    rows = batch_rows(fitted.record.num_classes)
    plan = replace(
        fitted.plan, by=options.by, every=options.chunks, labels=truth, rows=rows, first_row=beginning.first_row
    )
    check_rule(beginning, fitted.record.is_argmax)
    plan = replace(plan, argmax=fitted.record.is_argmax)
    plan, unfed = plan.restricted_to(beginning)
    unmade = broken("estimator").items() if options.methods is None else ()
    plan, slow = _without_slow(plan, target.rows, options.methods)
    skipped = [*fitted.skipped, *unfed, *(Skipped(name, why) for name, why in unmade), *slow]
    if not plan.methods:
        raise none_applies(skipped, "data that at least one method can use", target)
    said = [] if beginning.rounded is None else [rounding(beginning.rounded, "the target's")]
    return replace(fitted, plan=plan, skipped=skipped, warnings=[*fitted.warnings, *said])


def _without_slow(
    plan: EstimationPlan, rows: int | None, methods: Sequence[str] | None
) -> tuple[EstimationPlan, list[Skipped]]:
    """Leave out what would take minutes, unless it was asked for by name."""
    skipped = [
        Skipped(name, f"takes long on more than {most} target rows; ask for it with --method {name}")
        for name, most in _SLOW.items()
        if name in plan.methods and methods is None and (rows is None or rows > most)
    ]
    left_out = {s.method for s in skipped}
    return replace(plan, methods={n: m for n, m in plan.methods.items() if n not in left_out}), skipped
