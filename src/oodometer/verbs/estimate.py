"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from ..audits.joining import KEY, joined_truth, mostly_new, target_key
from ..audits.labels import by_confidence, open_labels
from ..classes import said_of_classes
from ..headline.label_posterior import LabelEvidence
from ..kernels import later
from ..options import verb
from ..passes.folding import Execution, enter_phase
from ..passes.reference import FIELDS_NEEDED, READ_AGAIN_BELOW, label_warnings
from ..passes.slicing import WHOLE
from ..plain import Plain
from ..predictions import Predictions
from ..results.estimation import Estimation
from ..store import Source
from .clusters import Design, Side, cluster_column, side_of
from .estimate_job import EstimateJob
from .fitted import Fitted, FittedSource
from .interpreting import Interpreter
from .judged_texts import unlike_judged_texts
from .learning import are_one_file, learn, reference_figures
from .opening import executing, opener_for, with_classes_of_all, with_features
from .shared_rows import said_of_shared_rows
from .target_plan import fit_to_target


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
    options: EstimateJob, execution: Execution, evidence: LabelEvidence | None = None
) -> Estimation:
    """The estimate, with options that are checked already; of files or opened sources. ``evidence``: what labels of
    the whole target say, where an audit has read them.
    """
    run = partial(_estimated, options, execution=execution, evidence=evidence)
    return with_classes_of_all(run, [options.reference, options.target], options)


def _estimated(
    options: EstimateJob,
    classes: Sequence[int | str] | None,
    execution: Execution,
    evidence: LabelEvidence | None = None,
) -> Estimation:
    """The estimate, of files whose ``classes`` are known."""
    enter_phase(execution.progress, "reading")
    opened = _opened(options, classes)
    options, target = opened.options, opened.target
    if options.methods is None:  # some will want it: it loads while files are read
        later(partial(import_module, "scipy.optimize"))
    fitted = _learnt(opened, execution)
    fitted, parts = fit_to_target(fitted, target, execution, opened.truth, options)
    figures = _figures(fitted, opened)
    enter_phase(execution.progress, "estimating")
    state = fitted.plan.read(parts, execution, target.name)
    target_state = state[WHOLE]
    fitted.warnings.extend(_target_warnings(fitted, opened, target_state))
    enter_phase(execution.progress, "weighing")
    design, unclustered = _design(fitted, opened, int(target_state["truth"]["rows"]))
    fitted.warnings.extend(unclustered)
    interpreter = Interpreter(
        fitted,
        options,
        design,
        options.natural_shifts,
        opened.picked_by_confidence,
        unlike_judged_texts(opened.references, target),
    )
    fitted.warnings.extend(interpreter.recall(opened.past, target, execution))
    return interpreter.finish(state, figures, target, evidence)


@dataclass(frozen=True)
class _Opened:
    """All that an estimate reads, opened: nothing has been read but what says which columns are which.

    references : files of the reference, or the one fitted file. truth : labels of the target by its rows, where they
    stand in a file of their own; picked_by_confidence : why that file's rows are no random sample, or None. past :
    labelled sources of the past. notes : what is to be said of how files were read. options : those of the fit where
    the reference is a fitted file.
    """

    references: Sequence[Source]
    target: Source
    truth: Predictions | None
    picked_by_confidence: str | None
    past: Sequence[Source]
    notes: Sequence[str]
    options: EstimateJob

    @property
    def fitted(self) -> Fitted | None:
        """What was learnt before, where the reference is a fitted file."""
        first = self.references[0]
        return first.fitted if isinstance(first, FittedSource) else None


def _opened(options: EstimateJob, classes: Sequence[int | str] | None) -> _Opened:
    """Reference, target, labels and past, opened and checked; `InputError` or `UsageError` before any work."""
    opener = opener_for(options)
    references = opener.references(options.reference, classes, extra_columns=options.extra_columns)
    target: Any = opener.target(options.target, options.extra_columns, options.where)
    labels = None if options.labels is None else open_labels(options.labels, opener.labels)
    past = [opener.history(data) for data in options.past_data]
    opener.check()
    first = references[0]
    fitted = first.fitted if isinstance(first, FittedSource) else None
    if fitted is not None:
        options = fitted.options_with(options)
    if options.cluster is not None:
        fitted_column = None if fitted is None else fitted.options.get("cluster")
        cluster_column(target, options.cluster, 0, fitted_column)
    if options.features is not None or first.encoding is not None:
        # those of a fitted file are known
        feature_names = options.features if fitted is None else None
        key = target_key(options.key, target)
        references, target = with_features(references, target, feature_names, [key])
    _ = options.natural_shifts  # a file that is no prior is refused before the work
    notes = [*opener.notes]
    truth, picked = None, None
    if labels is not None:
        truth, lines = joined_truth(labels, target, options.key)
        notes.extend(lines)
        picked = by_confidence(labels)
    return _Opened(references, target, truth, picked, past, notes, options)


def _learnt(opened: _Opened, execution: Execution) -> Fitted:
    """What the reference tells, learnt now or from its fitted file."""
    references, target, options = opened.references, opened.target, opened.options
    if opened.fitted is not None:
        fitted = opened.fitted.cut_to(options)
        fitted.warnings.extend(opened.notes)
        return fitted
    fitted = learn(references, options, execution, target)
    fitted.warnings.extend(opened.notes)
    if not are_one_file(references, target):
        fitted.warnings.extend(said_of_shared_rows(references, target))
    return fitted


def _figures(fitted: Fitted, opened: _Opened) -> Callable[[], Plain | None]:
    """Gives the reference's reliability diagram, which is drawn while the target is read, or stands in the file."""
    before = opened.fitted
    if before is None:
        return later(partial(reference_figures, fitted, opened.options.level))
    figures = before.figures if fitted.plan.confidence is not None else None
    return lambda: figures


def _target_warnings(fitted: Fitted, opened: _Opened, state: Plain) -> list[str]:
    """What is to be said of the target's classes and labels; `InputError` where labels are not of these rows, or most
    of them are of classes that the model does not know.
    """
    plan, target, truth = fitted.plan, opened.target, state["truth"]
    rows, labelled, correct = (int(truth[name]) for name in ("rows", "known", "correct"))
    if opened.truth is not None:
        plan.check_labels(rows)
    noted = state.get("noted", {})
    if truth["new"] > labelled / 2:
        raise mostly_new(noted, target.classes, target.path)
    warnings = [*said_of_classes(noted, "the target")] if noted else []
    if labelled:  # its rows are read again only where few are right
        batches: Any = target.batches(fields=FIELDS_NEEDED)
        if opened.truth is not None:
            batches = map(plan.with_labels, batches)
        warnings += label_warnings(
            "the labelled target", batches, correct / labelled, READ_AGAIN_BELOW
        )
    return warnings


def _design(fitted: Fitted, opened: _Opened, rows: int) -> tuple[Design, Sequence[str]]:
    """Clusters of both sides, and what is to be said of a missing column."""
    options = opened.options
    target = opened.target
    reference_side = fitted.clusters
    reference = fitted.reference
    away = Side()
    if options.cluster is not None or target.holds(KEY):
        statistics = fitted.plan.shift_statistics
        away = side_of([target], options.cluster, rows, options.level, statistics, labelled=False)
    notes = []
    if options.cluster not in (None, *reference_side.columns) and not reference_side.count:
        notes.append(
            f"{fitted.name} has no column {options.cluster}: its rows are taken as independent"
        )
    return Design(reference_side, away, reference.correct / reference.rows, reference.rows), notes


def with_history(
    fitted: Fitted, past: Sequence[Source], options: EstimateJob, execution: Execution
) -> Fitted:
    """What was learnt, with the periods of labelled sources of the past."""
    interpreter = Interpreter(fitted, options, Design(), options.natural_shifts)
    lines = interpreter.remember(past, execution)
    return replace(fitted, past=interpreter.past, warnings=[*fitted.warnings, *lines])
