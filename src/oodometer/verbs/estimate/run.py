"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ...arguments import checked
from ...audits.joining import by_position, joined_truth
from ...audits.labels import open_labels
from ...backtests.run import run_backtest
from ...backtests.trials import LEAST_REFERENCE
from ...engines import Engine
from ...errors import InputError, UsageError
from ...estimators import SourceAccuracy
from ...intervals import check_level
from ...kernels import later, limited_to
from ...passes.below_chance import FIELDS_NEEDED, label_warnings
from ...passes.fitting import fit_plan, quick_methods
from ...passes.folding import fold
from ...passes.plan import WHOLE, Plan, State, batch_rows, parse_duration, rounding
from ...predictions import FIELDS, Predictions
from ...registry import broken, find
from ...results import Skipped
from ...results.backtest import Backtest
from ...results.estimation import Estimation
from ...store import Part, Source
from ..opening import Opener
from ..reference import FEW_ROWS, Reference, gather_reference, width
from .finishing import finish
from .reading_ahead import ReadingAhead
from .reference_figures import reference_figures

__all__ = ["estimate"]

_PART_ROWS = 1 << 17  # small enough that two workers finish together, large enough to hide their overhead
_REPEATS = 8  # trials of each family and severity behind a headline
_LEAST_CANDIDATES = 3  # methods below which there is nothing to weigh
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method must be asked for by name


@checked()
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
    wanted: Sequence[float] = (0.95,),
    calibrator: str = "auto",
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    backtest: str | Path | Backtest | None = "auto",
    diagnosis: bool = True,
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
        Column to slice the target by; or chunk length such as ``"7d"`` along the column `time`. Not both.
    labels :
        Truth of target rows (a file or a dict with `label` or `correct`, null where unknown); only printed beside the
        estimates. Joined by `id` where both hold it, by a column `row` (target rows counted from 0), else one row
        for each target row, in its order.
    key :
        Another column to join the labels by, in both files.
    wanted :
        Accuracies for which the operating threshold is looked up on the label-free risk-coverage curve.
    calibrator :
        "auto" (temperature, where cross-validation on the reference says that it helps), "none", or a name.
    classes, mapping :
        Names of the classes in the order of the probabilities; columns to rename in any of the files, {theirs: ours}.
    backtest :
        What the headline is weighed by: "auto" (a quick backtest on the reference, kept in the user's cache folder and
        reused), a folder to keep it in, a result of `oodometer.backtest`, or None for no backtest.
    diagnosis :
        Whether to look at the kind of shift; without it there is no backtest either, only the methods themselves.
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
    check_level(level)
    if by is not None and every is not None:
        raise UsageError("give --by or --every, not both")
    for name in methods or ():
        find("estimator", name)
    for accuracy in wanted:
        if not 0 < accuracy <= 1:
            raise UsageError(
                f"expected an accuracy between 0 and 1 such as 0.95, got {accuracy}; divide percents by 100"
            )
    with limited_to(workers):
        return _estimate(
            reference, target, methods, level, by, every, labels, key, wanted, calibrator, classes, mapping, backtest,
            diagnosis, engine, workers, seed, progress,
        )  # fmt: skip


def _estimate(
    reference: Any,
    target: Any,
    methods: Sequence[str] | None,
    level: float,
    by: str | None,
    every: str | None,
    labels: Any,
    key: str | None,
    wanted: Sequence[float],
    calibrator: str,
    classes: Sequence[int | str] | None,
    mapping: Mapping[str, str] | None,
    backtest: str | Path | Backtest | None,
    diagnosis: bool,
    engine: str | Engine,
    workers: int | None,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> Estimation:
    extra = [by] if by is not None and by not in FIELDS else []
    opener = Opener(mapping)
    sources = opener.references(reference, classes)
    first = sources[0]
    goal = opener.target(target, extra)
    told = None if labels is None else open_labels(labels, opener.target)
    opener.check()
    truth = None if told is None else joined_truth(told, goal, key)
    if methods is None:
        later(partial(import_module, "scipy.optimize"))  # some will want it: it loads while files are read
    gathered = [gather_reference(s) for s in sources]
    values = _PART_ROWS * width(gathered[0].pieces[0][1])
    ahead = ReadingAhead(goal.parts(_PART_ROWS), batch_rows(len(first.classes or ())), values)
    try:
        read = [gathered.pop(0).joined() for _ in range(len(gathered))]  # pieces are let go one by one
        record = read[0].record if len(read) == 1 else Predictions.concat([r.record for r in read])
        warnings = _reference_warnings(read, record, goal, sources)
        warnings += [] if told is None or (said := by_position(told, goal, key)) is None else [said]
        plan, skipped = fit_plan(
            record, methods, level=level, seed=seed, wanted=wanted, calibrator=calibrator, diagnosis=diagnosis
        )
        trials = _trials(record, methods, backtest, level, calibrator, seed) if diagnosis else None
    finally:
        ahead.stop()
    plan = _with_exact_source(plan, read)
    plan = _with_cuts(plan, by, every, truth, record.num_classes)
    beginning = _first_batch(ahead.parts, plan.rows, goal)
    if beginning.rounded is not None:
        warnings.append(rounding(beginning.rounded, "the target's"))
    plan, more = replace(plan, first_row=beginning.first_row).restricted_to(beginning)
    skipped += more
    if methods is None:
        skipped += [Skipped(name, why) for name, why in broken("estimator").items()]
    plan, more = _without_slow(plan, goal.rows, methods)
    skipped += more
    if not plan.methods:
        reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
        raise InputError("data that at least one method can use", got=f"none applies ({reasons})", file=goal.name,
                         remedy="`oodometer methods` says what each one needs")  # fmt: skip
    figures = later(partial(reference_figures, plan, record, level))
    state = _fold(plan, goal, ahead.parts, engine, workers, progress)
    plan.check_labels(int(state[WHOLE]["truth"]["rows"]))
    warnings += _target_warnings(plan, state, goal)
    return finish(plan, state, read, record, figures, goal, first, skipped, warnings, level, seed, trials)


# ------------------------------------------------------------------------------------------ reading


def _first_batch(parts: Sequence[Part], rows: int, source: Source) -> Predictions:
    for part in parts:
        for batch in part.batches(rows=rows):
            return batch
    raise InputError("at least one row", got="none", remedy="check what wrote it", file=source.name)


def _reference_warnings(
    read: Sequence[Reference], record: Predictions, goal: Source, sources: Sequence[Source]
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
        warnings.append(
            f"the reference has no {kind}: what separates right from wrong cannot be learnt from it"
        )
    warnings += label_warnings("the reference", [record], record.accuracy)
    if goal.path is not None and any(s.path and Path(s.path).samefile(goal.path) for s in sources):
        warnings.append("reference and target are the same file")
    if record.label is not None and len(record) and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


def _target_warnings(plan: Plan, state: State, goal: Source) -> list[str]:
    """What is to be said of the target's labels, where it has any; its rows are read again only where few are right."""
    known, correct = int(state[WHOLE]["truth"]["known"]), int(state[WHOLE]["truth"]["correct"])
    batches = goal.batches(fields=FIELDS_NEEDED)
    labelled = batches if plan.labels is None else map(plan.with_labels, batches)
    return label_warnings("the labelled target", labelled, correct / known) if known else []


# ------------------------------------------------------------------------------------------ fitting


def _trials(
    record: Predictions,
    methods: Sequence[str] | None,
    backtest: str | Path | Backtest | None,
    level: float,
    calibrator: str,
    seed: int,
) -> Backtest | None:
    """What the headline is weighed by, or None."""
    if backtest is None or isinstance(backtest, Backtest):
        return backtest
    candidates = quick_methods(methods)
    if len(candidates) < _LEAST_CANDIDATES or len(record) < LEAST_REFERENCE:
        return None
    return run_backtest(
        record,
        methods=candidates,
        repeats=_REPEATS,
        level=level,
        calibrator=calibrator,
        seed=seed,
        cache=backtest,
    )


def _with_exact_source(plan: Plan, read: Sequence[Reference]) -> Plan:
    """The source accuracy from all reference rows, also where methods were fitted on a sample of them."""
    rows, correct = sum(r.rows for r in read), sum(r.correct for r in read)
    methods = {
        name: method.with_counts(correct, rows) if isinstance(method, SourceAccuracy) else method
        for name, method in plan.methods.items()
    }
    return replace(plan, methods=methods)


def _with_cuts(
    plan: Plan, by: str | None, every: str | None, labels: Predictions | None, classes: int
) -> Plan:
    return replace(
        plan,
        by=by,
        every=None if every is None else parse_duration(every),
        labels=labels,
        rows=batch_rows(classes),
    )


def _without_slow(plan: Plan, rows: int | None, methods: Sequence[str] | None) -> tuple[Plan, list[Skipped]]:
    """Leave out what would take minutes, unless it was asked for by name."""
    skipped = [
        Skipped(name, f"takes long on more than {most} target rows; ask for it with --method {name}")
        for name, most in _SLOW.items()
        if name in plan.methods and methods is None and (rows is None or rows > most)
    ]
    left_out = {s.method for s in skipped}
    return replace(plan, methods={n: m for n, m in plan.methods.items() if n not in left_out}), skipped


# ------------------------------------------------------------------------------------------ the pass over the target


def _fold(
    plan: Plan,
    goal: Source,
    parts: Sequence[Part],
    engine: str | Engine,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> State:
    def merge(a: State, b: State) -> State:
        merged = plan.merge(a, b)
        plan.check_cuts(merged)
        return merged

    state = fold(plan, parts, merge, engine=engine, workers=workers, progress=progress)
    if WHOLE not in state:
        raise InputError("at least one row", got="none", remedy="check what wrote it", file=goal.name)
    return state
