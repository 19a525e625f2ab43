"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ...arguments import checked, named_in
from ...audits.joining import joined_truth, mostly_new, target_key
from ...audits.labels import open_labels
from ...classes import said_of_classes
from ...engines import Engine
from ...errors import InputError
from ...kernels import later, limited_to
from ...passes.folding import Execution, enter_phase
from ...passes.plan import EstimationPlan, State, batch_rows, check_rule, needed_fields, rounding
from ...passes.reference import FIELDS_NEEDED, label_warnings
from ...passes.run_folder import run_folder as in_run_folder
from ...passes.slicing import WHOLE
from ...predictions import Predictions
from ...results import Skipped
from ...results.backtest import Backtest
from ...results.estimation import Estimation
from ...runs import places_of_run
from ...store import Part, Source
from ...store.base import rows_of
from ..clusters import Design, cluster_column, side_of
from ..features import check_features, with_features
from ..fitted import Fitted, FittedSource, faults_of_fitted
from ..opening import Opener, renamings, with_classes_of_all
from . import learning
from .finishing import finish, none_applies
from .learning import learn
from .metric_answers import check_metric_names
from .options import EstimateOptions, watched_metrics
from .recalling import asked_as_fitted, figures_of, recalled
from .reference_figures import reference_figures

_MANY_ROWS = 1 << 18  # of a target, from which on a batch keeps its share of samples alone
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method must be asked for by name


@checked(features=check_features, metrics=check_metric_names)
def estimate(
    reference: Any,
    target: Any,
    *,
    methods: Sequence[str] | None = None,
    level: float = 0.95,
    by: str | None = None,
    every: str | None = None,
    cluster: str | None = None,
    where: str | Sequence[str] | None = None,
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
    metrics: Sequence[str] = (),
    payoff: Any = None,
    margin: float = 0.01,
    fail_below: float | Mapping[str, float] | None = None,
    fail_drop: float | Mapping[str, float] | None = None,
    fail_when: str = "value",
    engine: str | Engine = "local",
    workers: int | None = None,
    seed: int = 0,
    run_folder: str | Path | None = None,
    store: Any = None,
    job: str | None = None,
    alarms: str = "all",
    progress: Callable[[int, int], None] | None = None,
) -> Estimation:
    """Estimate the accuracy of a model on unlabelled data, by every method that the data can feed.

    Parameters
    ----------
    reference :
        Labelled predictions on known ground: a file, a frame, a dict of arrays, a `Predictions`, or a list of them. Or
        what was learnt from them before, an `Oodometer` or its file: the options of that fit hold then.
    target :
        Predictions of the same model on the data in question; labels in it are not used for any estimate.
    methods :
        Names as in ``oodometer methods``; by default all that apply.
    level :
        Nominal coverage of every interval.
    by, every :
        Column to slice the target by; or chunks along the column `time`: ``"month"`` (day, week, quarter, year: those
        of the calendar, UTC), a length such as ``"7d"``; or of so many rows, ``"1000rows"``. Not both.
    cluster :
        Column of both files whose equal cells mark rows that depend on each other: intervals are widened by the design
        effect of either sample. By default `id`, where ids repeat among at most 200,000 rows.
    where :
        Conditions on rows of the target, such as ``"day >= 2026-11-01"`` or ``["site in (a, b)", "confidence < 0.9"]``:
        only rows for which all hold are read. Columns are fields, your own, and those that folders name; signs are
        = != < <= > >= and in. No condition holds of an empty cell. Labels are joined by a column then.
    labels :
        Truth of target rows (a file or a dict with `label` or `correct`, null where unknown). They feed no estimate;
        where they decide (`Estimation.by_labels`), falls and alarms are of the truth. Joined by `id` where both hold
        it, by a column `row` (target rows counted from 0), else one row for each target row, in its order; places are
        refused where a column that both hold says that they are others.
    key :
        Another column to join the labels by, in both files; ``"TARGET=LABELS"`` where they call it differently.
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
        reused), a folder to keep it in, a result of `oodometer.backtest`, or None or "none" for no backtest.
    diagnosis :
        Whether to look at the kind of shift; without it there is no backtest either, only the methods themselves.
    assume :
        What is believed of the shift, which the headline then rests on: "natural" (it resembles shifts of public
        data), "none", "label" (P(x | y) stood still) or "covariate" (P(y | x) did). All four are in the result.
    prior :
        A file of `python -m benchmarks.natural.prior` in place of the packaged prior of natural shifts.
    metrics :
        What to estimate besides the accuracy: f1, precision, recall, specificity, roc_auc, average_precision,
        balanced_accuracy, mcc, cohen_kappa, macro_f1 ..., or ``"recall:CLASS"``. Of two classes they are those of the
        positive one (that of ``positive``, else the second by name), of more their mean over classes.
    payoff :
        What a sample brings, by true and predicted class, for the metric ``expected_value``: a file or a mapping
        {true: {predicted: number}}.
    margin :
        "Did the accuracy fall by at least this much?" is answered for the target, each slice and each chunk (`Fall`).
    fail_below, fail_drop :
        Raise an alarm (`Estimation.alarms`) where an estimate lies below this number, or below the reference's by more
        than this drop: a number of the accuracy, or a mapping from metrics to numbers. Metrics that are named here are
        estimated as if ``metrics`` held them. Chunks or slices are judged one by one, else the target as a whole.
    fail_when :
        What an alarm is judged by: "value" (the estimate lies below, by more than chance), "likely" (so it does with 80
        % or more) or "upper" (the whole interval does).
    engine, workers :
        Where the passes over the target run: "local", "processes", "ray" or "spark", with an address after a colon,
        or an `Engine`; how many work at a time.
    seed :
        Seed of the bootstrap in some intervals.
    run_folder :
        Folder that keeps the state of each finished part of the target. A run that was killed goes on from there, and
        of a target that has grown (a folder of files) only new files are read; the result is that
        of a run from the start. Parts are read anew where their file, the reference, the options that shape what is
        learnt, or the version of this package has changed.
    store, job :
        Store of past runs that the answer is added to: the path of a file (SQLite), or
        ``"postgresql://user@host/database"``; `oodometer.history` reads it. Runs of one ``job`` belong together; by
        default it is the name of the reference. The store is looked at before the work.
    alarms :
        Which alarms count: "all", or with a store "new", those that stood in no earlier run of the job.
    progress :
        Called with (parts done, parts in all).

    Raises `InputError` for input that cannot become a number, `UsageError` for a call that makes no sense, and
    `oodometer.errors.NotStoredError`, which holds the answer, where the store did not take it; a method that does not
    apply is skipped with its reason.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> found = estimate(reference, {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}, methods=["source", "atc"])
    >>> round(found["source"].value, 3), found["atc"].value, found["atc"].kind
    (0.667, 0.5, 'conditional')
    """
    given = dict(locals())
    worked_out = {
        "mapping": renamings(mapping, positive),
        "metrics": watched_metrics(metrics, fail_below, fail_drop),
        "execution": Execution(engine, workers, progress),
    }
    options = EstimateOptions(**named_in(EstimateOptions, given) | worked_out)
    recorder = options.recorder
    if recorder is not None:
        recorder.store.check()
    about = {} if run_folder is None else {"verb": "estimate", **places_of_run(reference=reference, target=target)}
    with limited_to(workers), in_run_folder(run_folder, about) as folder, faults_of_fitted(reference):
        placed = replace(options, execution=replace(options.execution, folder=folder))
        found = estimated(reference, target, placed)
    return found if recorder is None else recorder.record(found, reference)


def estimated(reference: Any, target: Any, options: EstimateOptions) -> Estimation:
    """The estimate, with options that are checked already; files or opened sources."""
    again = Opener(options.mapping, options.threshold, options.positive)
    run = partial(_estimated, reference, target)
    return with_classes_of_all(lambda c: run(replace(options, classes=c)), [reference, target], again, options.classes)


def _estimated(reference: Any, target: Any, options: EstimateOptions) -> Estimation:
    hearer = options.execution.progress
    enter_phase(hearer, "reading")
    opener = Opener(options.mapping, options.threshold, options.positive)
    sources = opener.references(reference, options.classes)
    target = opener.target(target, options.extra_columns, options.where)
    labels = None if options.labels is None else open_labels(options.labels, opener.target)
    opener.check()
    kept = sources[0].contents if isinstance(sources[0], FittedSource) else None
    if kept is not None:
        options = asked_as_fitted(kept, options)
    cluster_column(target, options.cluster, 0, None if kept is None else kept.options.get("cluster"))  # before the work
    features = options.features if kept is None else None  # those of a fitted file are known
    sources, target = with_features(sources, target, features, [target_key(options.key, target)])
    _ = options.natural_shifts  # a file that is no prior is refused before the work
    truth, said = (None, ()) if labels is None else joined_truth(labels, target, options.key)
    if options.methods is None:
        later(partial(import_module, "scipy.optimize"))  # some will want it: it loads while files are read
    if kept is None:
        fitted, parts = learn(sources, options, target)
    else:
        fitted, parts = recalled(kept, options), target.parts(learning.PART_ROWS, options.execution.each)
    fitted.warnings.extend([*opener.notes, *said])
    beginning = _first_batch(parts, fitted.plan.rows, target)
    fitted = _for_target(fitted, target, beginning, truth, options, rows_of(parts) or target.rows)
    drawn = partial(reference_figures, fitted.plan, fitted.record, options.level)
    figures = later(drawn) if kept is None else partial(figures_of, kept, fitted.plan)
    enter_phase(hearer, "estimating")
    state = fitted.plan.read(parts, options.execution, target.name)
    fitted.plan.check_labels(int(state[WHOLE]["truth"]["rows"]))
    fitted.warnings.extend(_target_warnings(fitted.plan, state, target))
    enter_phase(hearer, "weighing")
    rows, there = fitted.counts[0], int(state[WHOLE]["truth"]["rows"])
    away = side_of([target], options.cluster, there, options.level, fitted.plan.shift_statistics, labelled=False)
    design = Design(fitted.clusters, away, fitted.counts[1] / rows, rows)
    if options.cluster not in (None, *fitted.clusters.columns) and not fitted.clusters.count:
        fitted.warnings.append(f"{fitted.name} has no column {options.cluster}: its rows are taken as independent")
    return finish(fitted, state, figures, target, options, design)


# ------------------------------------------------------------------------------------------ reading


def _first_batch(parts: Sequence[Part], rows: int, source: Source) -> Predictions:
    for part in parts:
        for batch in part.batches(rows=rows):
            return batch
    raise InputError("at least one row", got="none", remedy="check what wrote it", file=source.name)


def _target_warnings(plan: EstimationPlan, state: State, target: Source) -> list[str]:
    """What is to be said of the target's labels, where it has any; its rows are read again only where few are right."""
    whole = state[WHOLE]
    known, correct, noted = int(whole["truth"]["known"]), int(whole["truth"]["correct"]), whole.get("noted", {})
    if whole["truth"]["new"] > known / 2:
        raise mostly_new(noted, target.classes, target.path)
    batches = target.batches(fields=FIELDS_NEEDED)
    labelled = batches if plan.labels is None else map(plan.with_labels, batches)
    said = said_of_classes(noted, "the target")
    return said + (label_warnings("the labelled target", labelled, correct / known) if known else [])


# ------------------------------------------------------------------------------------------ fitting


def _for_target(
    fitted: Fitted,
    target: Source,
    beginning: Predictions,
    truth: Predictions | None,
    options: EstimateOptions,
    in_all: int | None,
) -> Fitted:
    """The plan as this target can feed it, and what was left out; ``beginning`` is the target's first batch, and
    ``in_all`` its rows, where they are known beforehand.
    """
    rows = batch_rows(fitted.record.num_classes)
    many = in_all if in_all is not None and in_all >= _MANY_ROWS else None
    plan = replace(fitted.plan, by=options.by, every=options.chunks, labels=truth, rows=rows, rows_in_all=many)
    plan = replace(plan, first_row=beginning.first_row)
    check_rule(beginning, bool(plan.argmax))
    plan, unfed = plan.restricted_to(beginning)
    plan, slow = _without_slow(plan, target.rows, options.methods)
    skipped = [*fitted.skipped, *unfed, *fitted.unmade, *slow]
    if not plan.methods:
        raise none_applies(skipped, "data that at least one method can use", target)
    plan = replace(plan, fields=needed_fields(plan, beginning))
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
