"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from ...audits.joining import joined_truth, mostly_new, target_key
from ...audits.labels import open_labels
from ...classes import said_of_classes
from ...errors import InputError
from ...kernels import later
from ...options import verb
from ...passes.folding import enter_phase
from ...passes.plan import batch_rows, check_rule, needed_fields, rounding
from ...passes.reference import FIELDS_NEEDED, label_warnings
from ...passes.slicing import WHOLE
from ...predictions import Predictions
from ...results import Skipped
from ...results.estimation import Estimation
from ...store import Part, Source
from ...store.base import rows_of
from ..clusters import Design, cluster_column, side_of
from ..features import with_features
from ..fitted import Fitted, FittedSource
from ..opening import executing, opener_for, with_classes_of_all
from ..options import EstimateOptions
from .finishing import finish, none_applies
from .learning import EstimateJob, asked_as_fitted, learn, recalled, reference_figures

PART_ROWS = 1 << 17  # small enough that two workers finish together, large enough to hide their overhead
_MANY_ROWS = 1 << 18  # of a target, from which on a batch keeps its share of samples alone
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method must be asked for by name


@verb(EstimateOptions)
def estimate(options: EstimateOptions) -> Estimation:
    """Estimate the accuracy of a model on unlabelled data, by every method that the data can feed.

    Raises `InputError` for input that cannot become a number, `UsageError` for a call that makes no sense, and
    `oodometer.errors.NotStoredError`, which holds the answer, where the store did not take it; a method that does not
    apply is skipped with its reason.

    >>> reference = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}
    >>> found = estimate(reference, {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 40}, methods=["source", "atc"])
    >>> round(found["source"].value, 3), found["atc"].value, found["atc"].kind
    (0.667, 0.5, 'conditional')
    """
    job = EstimateJob.of(options)
    recorder = job.recorder
    if recorder is not None:
        recorder.store.check()
    with executing("estimate", job, reference=job.reference, target=job.target) as execution:
        found = estimated(replace(job, execution=execution))
    return found if recorder is None else recorder.record(found, job.reference)


def estimated(options: EstimateJob) -> Estimation:
    """The estimate, with options that are checked already; of files or opened sources."""
    given = [options.reference, options.target]
    return with_classes_of_all(
        lambda classes: _estimated(replace(options, classes=classes)), given, opener_for(options), options.classes
    )


def _estimated(options: EstimateJob) -> Estimation:
    progress = options.execution.progress
    enter_phase(progress, "reading")
    opener = opener_for(options)
    sources = opener.references(options.reference, options.classes)
    target: Any = opener.target(options.target, options.extra_columns, options.where)
    labels = None if options.labels is None else open_labels(options.labels, opener.target)
    opener.check()
    kept = sources[0].fitted if isinstance(sources[0], FittedSource) else None
    if kept is not None:
        options = asked_as_fitted(kept, options)
    cluster_column(target, options.cluster, 0, None if kept is None else kept.options.get("cluster"))  # before the work
    features = options.features if kept is None else None  # those of a fitted file are known
    sources, target = with_features(sources, target, features, [target_key(options.key, target)])
    _ = options.natural_shifts  # a file that is no prior is refused before the work
    truth, said = (None, ()) if labels is None else joined_truth(labels, target, options.key)
    if options.methods is None:
        later(partial(import_module, "scipy.optimize"))  # some will want it: it loads while files are read
    fitted = learn(sources, options, target) if kept is None else recalled(kept, options)
    fitted.warnings.extend([*opener.notes, *said])
    parts = target.parts(PART_ROWS, options.execution.each)
    fitted = _for_target(fitted, target, parts, truth, options)
    drawn = partial(reference_figures, fitted, options.level)
    figures = later(drawn) if kept is None else lambda: kept.figures if fitted.plan.confidence is not None else None
    enter_phase(progress, "estimating")
    state = fitted.plan.read(parts, options.execution, target.name)
    whole = state[WHOLE]
    rows, known, correct = (int(whole["truth"][name]) for name in ("rows", "known", "correct"))
    fitted.plan.check_labels(rows)
    noted = whole.get("noted", {})
    if whole["truth"]["new"] > known / 2:
        raise mostly_new(noted, target.classes, target.path)
    fitted.warnings.extend(said_of_classes(noted, "the target"))
    if known:  # its rows are read again only where few are right
        batches = target.batches(fields=FIELDS_NEEDED)
        labelled = batches if truth is None else map(fitted.plan.with_labels, batches)
        fitted.warnings.extend(label_warnings("the labelled target", labelled, correct / known))
    enter_phase(progress, "weighing")
    away = side_of([target], options.cluster, rows, options.level, fitted.plan.shift_statistics, labelled=False)
    reference = fitted.reference
    design = Design(fitted.clusters, away, reference.correct / reference.rows, reference.rows)
    if options.cluster not in (None, *fitted.clusters.columns) and not fitted.clusters.count:
        fitted.warnings.append(f"{fitted.name} has no column {options.cluster}: its rows are taken as independent")
    return finish(fitted, state, figures, target, options, design)


def _for_target(
    fitted: Fitted, target: Source, parts: Sequence[Part], truth: Predictions | None, options: EstimateJob
) -> Fitted:
    """The plan as this target can feed it, and what was left out."""
    rows = batch_rows(fitted.reference.record.num_classes)
    beginning = next((batch for part in parts for batch in part.batches(rows=fitted.plan.rows)), None)
    if beginning is None:
        raise InputError("at least one row", got="none", remedy="check what wrote it", file=target.name)
    in_all = rows_of(parts) or target.rows
    many = in_all if in_all is not None and in_all >= _MANY_ROWS else None
    plan = replace(fitted.plan, by=options.by, every=options.chunks, labels=truth, rows=rows, rows_in_all=many)
    plan = replace(plan, first_row=beginning.first_row)
    check_rule(beginning, bool(plan.argmax))
    plan, unfed = plan.restricted_to(beginning)
    # what would take minutes, unless it was asked for by name
    slow = [
        Skipped(name, f"takes long on more than {most} target rows; ask for it with --method {name}")
        for name, most in _SLOW.items()
        if name in plan.methods and options.methods is None and (target.rows is None or target.rows > most)
    ]
    left_out = {s.method for s in slow}
    plan = replace(plan, methods={n: m for n, m in plan.methods.items() if n not in left_out})
    skipped = [*fitted.skipped, *unfed, *fitted.unmade, *slow]
    if not plan.methods:
        raise none_applies(skipped, "data that at least one method can use", target)
    plan = replace(plan, fields=needed_fields(plan, beginning))
    said = [] if beginning.rounded is None else [rounding(beginning.rounded, "the target's")]
    return replace(fitted, plan=plan, skipped=skipped, warnings=[*fitted.warnings, *said])
