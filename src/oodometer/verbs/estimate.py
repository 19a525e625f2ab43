"""The verb `estimate`: a labelled reference and an unlabelled target in, an honest accuracy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..calibrators import Choice, choose_calibrator
from ..engines import Engine, create_engine
from ..errors import InputError, NotApplicable, UsageError
from ..estimators import Estimator, RiskCoverage
from ..intervals import check_level, clopper_pearson
from ..predictions import FIELDS, Predictions
from ..registry import create, find, names
from ..results import Estimate, Interval, Skipped
from ..scores import Score, natural_confidence
from ..store import Source, as_source
from .estimation import Estimation, Headline, Part
from .headline import make_headline
from .plan import (
    WHOLE,
    Key,
    Plan,
    State,
    batch_rows,
    check_slices,
    confidence_counts,
    merge_states,
    parse_duration,
)
from .reference import FEW_ROWS, Reference, read_reference

__all__ = ["default_methods", "estimate"]

# Every method that the data can feed is run, in this order; those of plugins come last.
_ORDER = (
    "source",
    "ac",
    "doc",
    "atc",
    "atc-entropy",
    "threshold:margin",
    "threshold:energy",
    "threshold-classwise",
    "threshold-distance",
    "im",
    "cbpe",
    "gde",
    "gde-soft",
    "gde-difference",
    "agreement",
    "smoothness",
    "votes",
)
_PART_ROWS = 1 << 17  # small enough that two workers finish together, large enough to hide their overhead
_SLOW = {"threshold-distance": 200_000}  # target rows above which a method must be asked for by name


def default_methods() -> list[str]:
    """Names of the methods that `estimate` runs when none is asked for."""
    own = {name.partition(":")[0] for name in _ORDER}
    return [*_ORDER, *(name for name in names("estimator") if name not in own)]


def estimate(
    reference: Any,
    target: Any,
    *,
    methods: Sequence[str] | None = None,
    level: float = 0.95,
    by: str | None = None,
    every: str | None = None,
    labels: Any = None,
    wanted: Sequence[float] = (0.95,),
    calibrator: str = "auto",
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
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
        Truth of target rows (a file or a dict with `label` or `correct`, one row each, null where unknown); only
        printed beside the estimates.
    wanted :
        Accuracies for which the operating threshold is looked up on the label-free risk-coverage curve.
    calibrator :
        "auto" (temperature, where cross-validation on the reference says that it helps), "none", or a name.
    classes, mapping :
        Names of the classes in the order of the probabilities; renamed columns, {their column: our column}.
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
    extra = [by] if by is not None and by not in FIELDS else []
    sources = _reference_sources(reference, classes, mapping)
    first = sources[0]
    goal = as_source(target, classes=first.classes, mapping=mapping, extra_columns=extra)
    read = [read_reference(s) for s in sources]
    record = read[0].record if len(read) == 1 else Predictions.concat([r.record for r in read])
    warnings = _reference_warnings(read, record, goal, sources)

    plan, skipped = _fit(record, methods, level, seed, wanted, calibrator)
    plan = _with_cuts(plan, by, every, _read_labels(labels, first.classes), record.num_classes)
    plan, more = plan.restricted_to(_first_batch(goal, plan.rows))
    skipped += more
    plan, more = _without_slow(plan, goal.rows, methods)
    skipped += more
    if not plan.methods:
        reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
        raise InputError("data that at least one method can use", got=f"none applies ({reasons})", file=goal.name,
                         remedy="`oodometer methods` says what each one needs")  # fmt: skip
    state = _fold(plan, goal, engine, workers, progress)
    return _finish(plan, state, read, record, goal, first, skipped, warnings, level, seed)


# ------------------------------------------------------------------------------------------ reading


def _reference_sources(
    reference: Any, classes: Sequence[int | str] | None, mapping: Mapping[str, str] | None
) -> list[Source]:
    several = isinstance(reference, (list, tuple))
    given = list(reference) if several else [reference]
    if not given:
        raise UsageError("give at least one reference")
    first = as_source(given[0], classes=classes, mapping=mapping)
    return [first, *(as_source(r, classes=first.classes, mapping=mapping) for r in given[1:])]


def _read_labels(labels: Any, classes: Sequence[int | str] | None) -> Predictions | None:
    """The truth of target rows, read whole; None where none was given."""
    if labels is None:
        return None
    return as_source(labels, classes=classes).read(["label", "correct"])


def _first_batch(source: Source, rows: int) -> Predictions:
    for batch in source.batches(rows=rows):
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
    if goal.path is not None and any(s.path == goal.path for s in sources):
        warnings.append("reference and target are the same file")
    if record.label is not None and len(record) and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


# ------------------------------------------------------------------------------------------ fitting


def _choose(record: Predictions, calibrator: str) -> Choice:
    if calibrator == "none":
        return Choice(None, "it was switched off", {})
    if calibrator == "auto":
        return choose_calibrator(record)
    return Choice(create("calibrator", calibrator).fit(record), "it was asked for", {})


def _fit(
    record: Predictions,
    methods: Sequence[str] | None,
    level: float,
    seed: int,
    wanted: Sequence[float],
    calibrator: str,
) -> tuple[Plan, list[Skipped]]:
    choice = _choose(record, calibrator)
    calibrated = choice.apply(record)
    fitted: dict[str, Estimator] = {}
    skipped: list[Skipped] = []
    for name in methods or default_methods():
        try:
            fitted[name] = create("estimator", name, level=level, seed=seed).fit(calibrated)
        except NotApplicable as error:
            skipped.append(Skipped(name, str(error)))
    confidence: Score | None = None
    curve: RiskCoverage | None = None
    try:
        confidence = natural_confidence(record)
        curve = RiskCoverage(level=level, wanted=tuple(wanted), seed=seed).fit(calibrated)
    except NotApplicable:
        pass  # no confidence, no curve: the report leaves the section out
    plan = Plan(choice, fitted, curve, confidence, rows=batch_rows(record.num_classes))
    return plan, skipped


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
    engine: str | Engine,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> State:
    parts = goal.parts(_PART_ROWS)
    chosen = (
        create_engine(engine, workers, processes=goal.path is not None) if isinstance(engine, str) else engine
    )
    done = 0

    def on_done(part: Any) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(parts))

    def merge(a: State, b: State) -> State:
        merged = merge_states(a, b)
        if plan.by is not None:
            check_slices([k for k in merged if k[0] == "by"], plan.by)
        return merged

    state = chosen.fold(parts, plan, merge, on_done)
    if WHOLE not in state:
        raise InputError("at least one row", got="none", remedy="check what wrote it", file=goal.name)
    return state


# ------------------------------------------------------------------------------------------ finishing


def _finish(
    plan: Plan,
    state: State,
    read: Sequence[Reference],
    record: Predictions,
    goal: Source,
    first: Source,
    skipped: list[Skipped],
    warnings: list[str],
    level: float,
    seed: int,
) -> Estimation:
    whole = state[WHOLE]
    estimates = _estimates(plan, whole)
    headline = make_headline(estimates, level)
    assert headline is not None  # there is at least one estimate
    rows, correct = sum(r.rows for r in read), sum(r.correct for r in read)
    low, high = clopper_pearson(correct, rows, level)
    truth = _truth(whole, level)
    slices, chunks = _parts(plan, state, level)
    if headline.trust == "none":
        warnings = [*warnings, headline.why]
    if truth is not None:
        warnings = [
            *warnings,
            "the target holds labels; they were used for the truth only, not for any estimate",
        ]
    choice = plan.choice
    return Estimation(
        reference={"name": first.name, "rows": rows, "accuracy": correct / rows, "lower": low, "upper": high,
                   "level": level, "kind": "exact", "classes": record.num_classes},
        target={"name": goal.name, "rows": int(whole["truth"]["rows"]), "labelled": int(whole["truth"]["known"]),
                "accuracy": None if truth is None else truth.to_dict()},
        headline=headline,
        estimates=tuple(estimates),
        skipped=tuple(skipped),
        warnings=tuple(warnings),
        level=level,
        seed=seed,
        calibration={"name": None if choice.calibrator is None else choice.calibrator.name, "why": choice.why,
                     "scores": choice.scores, "temperature": getattr(choice.calibrator, "temperature", None)},
        risk_coverage=None if plan.curve is None else plan.curve.finish(whole["risk_coverage"]),
        reliability=_reliability(plan, record, level),
        confidence=_confidence(plan, record, whole),
        slices=slices,
        chunks=chunks,
    )  # fmt: skip


def _estimates(plan: Plan, states: Mapping[str, Any], lighter: bool = False) -> list[Estimate]:
    return [(m.lighter() if lighter else m).finish(states[name]) for name, m in plan.methods.items()]


def _truth(states: Mapping[str, Any], level: float) -> Interval | None:
    known, correct = int(states["truth"]["known"]), int(states["truth"]["correct"])
    if not known:
        return None
    return Interval(correct / known, *clopper_pearson(correct, known, level), level, "exact")


def _confidence(plan: Plan, record: Predictions, states: Mapping[str, Any]) -> dict[str, Any] | None:
    if plan.confidence is None:
        return None
    here = confidence_counts(plan.confidence, plan.choice.apply(record))
    there = states["confidence"]["counts"]
    edges = np.linspace(0, 1, len(here) + 1)
    return {
        "edges": edges,
        "reference": here / here.sum(),
        "target": there / there.sum(),
        "score": plan.confidence.name,
    }


def _reliability(plan: Plan, record: Predictions, level: float) -> dict[str, Any] | None:
    """Observed accuracy in 15 bins of (calibrated) confidence on the reference, with exact intervals."""
    if plan.confidence is None:
        return None
    calibrated = plan.choice.apply(record)
    confidence = plan.confidence(calibrated)
    index = np.minimum((confidence * 15).astype(np.intp), 14)
    rows = np.bincount(index, minlength=15)
    hits = np.bincount(index, weights=calibrated.verdicts, minlength=15)
    sums = np.bincount(index, weights=confidence, minlength=15)
    full = np.flatnonzero(rows)
    ends = np.array([clopper_pearson(float(hits[b]), float(rows[b]), level) for b in full])
    return {
        "confidence": sums[full] / rows[full],
        "accuracy": hits[full] / rows[full],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "rows": rows[full],
    }


def _parts(plan: Plan, state: State, level: float) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Slices, largest first, or chunks in order of time."""
    slices = sorted((k for k in state if k[0] == "by"), key=lambda k: -state[k]["truth"]["rows"])
    chunks = _merge_short_chunk([(k, state[k]) for k in sorted(k for k in state if k[0] == "every")])
    made_slices = tuple(_part(plan, {"by": plan.by, "value": k[1]}, state[k], level) for k in slices)
    made_chunks = []
    for first, last, states in chunks:
        place = {"start": str(plan.chunk_start(first[1])), "end": str(plan.chunk_start(last[1] + 1))}
        made_chunks.append(_part(plan, place, states, level))
    return made_slices, tuple(made_chunks)


def _merge_short_chunk(chunks: list[tuple[Key, Any]]) -> list[tuple[Key, Key, Any]]:
    """A last chunk with less than half the usual rows joins the one before: one leftover row is no chunk."""
    out = [(key, key, states) for key, states in chunks]
    if len(out) > 1:
        usual = float(np.median([s["truth"]["rows"] for _, _, s in out[:-1]]))
        if out[-1][2]["truth"]["rows"] < usual / 2:
            (first, _, a), (_, last, b) = out[-2], out[-1]
            out[-2:] = [(first, last, {name: a[name] + b[name] for name in a})]
    return out


def _part(plan: Plan, place: Mapping[str, Any], states: Mapping[str, Any], level: float) -> Part:
    estimates = _estimates(plan, states, lighter=True)
    headline = make_headline(estimates, level)
    assert isinstance(headline, Headline)
    return Part(place, int(states["truth"]["rows"]), headline, tuple(estimates), _truth(states, level))
