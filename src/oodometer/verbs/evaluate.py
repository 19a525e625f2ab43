"""The verb `evaluate`: how good were these predictions, now that the truth is known? One pass, small states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..arrays import Array
from ..engines import Engine, create_engine
from ..errors import InputError, NotApplicable, UsageError
from ..intervals import check_level
from ..metrics import Accuracy, Metric
from ..predictions import FIELDS, Predictions
from ..registry import create, names
from ..results import Interval, Skipped
from ..store import Source, as_source
from .evaluation import Evaluation, Evaluations, Slice
from .plan import MOST_SLICES, batch_rows, check_slices, column_of

__all__ = ["Evaluation", "Evaluations", "evaluate"]

_FEW_ROWS = 30
_MOST_CLASSES = 50  # in a confusion matrix that was not asked for by name
# Metrics of a slice, unless others are asked for: the quick ones.
_SLICED = ("accuracy", "brier", "nll", "ece", "auc_coverage", "aurc", "e_aurc", "augrc", "macro_f1")

Key = tuple[str, Any]  # ("whole", None) or ("by", value)
State = dict[Key, dict[str, Any]]
_WHOLE: Key = ("whole", None)


@overload
def evaluate(
    source: Any,
    /,
    *,
    level: float = ...,
    by: str | None = ...,
    metrics: Sequence[str] | None = ...,
    seed: int = ...,
    classes: Sequence[int | str] | None = ...,
    mapping: Mapping[str, str] | None = ...,
    engine: str | Engine = ...,
    workers: int | None = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> Evaluation: ...


@overload
def evaluate(
    source: Any,
    second: Any,
    /,
    *sources: Any,
    level: float = ...,
    by: str | None = ...,
    metrics: Sequence[str] | None = ...,
    seed: int = ...,
    classes: Sequence[int | str] | None = ...,
    mapping: Mapping[str, str] | None = ...,
    engine: str | Engine = ...,
    workers: int | None = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> Evaluations: ...


def evaluate(
    *sources: Any,
    level: float = 0.95,
    by: str | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation | Evaluations:
    """Judge labelled predictions by every metric that the data can feed; several sources are judged one by one.

    Parameters
    ----------
    sources :
        Labelled predictions: files, frames, dicts of arrays or `Predictions`. `confidence` and `correct` are enough.
    level :
        Nominal coverage of every interval.
    by :
        Column to slice by; each slice gets the metrics asked for, by default the quick ones.
    metrics :
        Names of metrics, curves and tables; by default all that apply.
    seed :
        Seed of the bootstrap in some intervals.
    classes :
        Names of the classes in the order of the probabilities.
    mapping :
        Renamed columns, {their column: our column}.
    engine, workers :
        Where the passes run.
    progress :
        Called with (parts done, parts in all), file by file.

    Rows of unknown truth are left out and counted in a warning. Raises `InputError` for input that cannot become a
    number, and where no row is labelled; `UsageError` for a call that makes no sense. A metric that does not apply is
    skipped with its reason.

    >>> found = evaluate({"confidence": [0.9, 0.8, 0.7], "correct": [True, False, True]})
    >>> found.rows, round(found["accuracy"].value, 3), round(found["aurc"].value, 3)
    (3, 0.667, 0.278)
    >>> found.skipped[0].method, found.skipped[0].why
    ('nll', 'needs probabilities and label; the record has confidence, correct')
    """
    check_level(level)
    if not sources:
        raise UsageError("give at least one set of predictions")
    chosen = [create("metric", name) for name in metrics or names("metric")]
    extra = [by] if by is not None and by not in FIELDS else []
    done = []
    for given in sources:
        source = as_source(
            given, classes=classes, mapping=dict(mapping) if mapping else None, extra_columns=extra
        )
        done.append(_evaluate_one(source, chosen, metrics, level, by, seed, engine, workers, progress))
    return done[0] if len(done) == 1 else Evaluations(tuple(done))


@dataclass(frozen=True)
class _Plan:
    """Which metrics to feed; small, picklable, and the same for every batch."""

    metrics: tuple[Metric[Any, Any], ...]
    sliced: tuple[Metric[Any, Any], ...]
    by: str | None
    fields: tuple[str, ...]
    rows: int

    def __call__(self, part: Any) -> State:
        """The state of one part, read batch by batch."""
        total: State = {}
        for batch in part.batches(fields=self.fields, rows=self.rows):
            total = _merge(total, self.summarize(batch), self)
        return total

    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice."""
        known = batch.known()
        out: State = {_WHOLE: {"read": len(batch), "rows": len(known)}}
        if not len(known):
            return out
        out[_WHOLE] |= _states(self.metrics, known)
        if self.by is not None:
            for value, index in _cuts(known, self.by):
                out[("by", value)] = {"read": len(index), "rows": len(index)}
                out[("by", value)] |= _states(self.sliced, known.take(index))
        return out


def _states(metrics: Sequence[Metric[Any, Any]], batch: Predictions) -> dict[str, Any]:
    """One state of each kind, shared by the metrics that read it."""
    makers = {metric.state_key: metric for metric in metrics}
    return {key: metric.summarize(batch) for key, metric in makers.items()}


def _merge(a: State, b: State, plan: _Plan) -> State:
    makers = {metric.state_key: metric.merge for metric in plan.metrics}
    out = dict(a)
    for key, states in b.items():
        mine = dict(out.get(key, {}))
        for name, state in states.items():
            if name not in mine:
                mine[name] = state
            else:
                mine[name] = makers[name](mine[name], state) if name in makers else mine[name] + state
        out[key] = mine
    if plan.by is not None:
        check_slices([k for k in out if k[0] == "by"], plan.by)
    return out


def _cuts(batch: Predictions, by: str) -> Iterator[tuple[Any, Array]]:
    """Each value of a column and the rows that have it."""
    if by == "label" and batch.label is not None and batch.classes is not None:
        named = np.array([*batch.classes, None], dtype=object)
        values = named[batch.label]
    else:
        values = column_of(batch, by)
    groups: dict[Any, list[int]] = {}
    for i, value in enumerate(values.tolist()):
        groups.setdefault("(missing)" if value is None or value != value else value, []).append(i)
    if len(groups) > MOST_SLICES:
        check_slices([("by", value) for value in groups], by)
    for value, index in groups.items():
        yield value, np.array(index, dtype=np.intp)


def _evaluate_one(
    source: Source,
    chosen: Sequence[Metric[Any, Any]],
    asked: Sequence[str] | None,
    level: float,
    by: str | None,
    seed: int,
    engine: str | Engine,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> Evaluation:
    fields = _fields(source, chosen, by)
    first = next(iter(source.batches(fields=fields, rows=1024)), None)
    if first is None or Accuracy.missing(first) is not None:
        raise _no_truth(source)
    used, skipped = [], []
    for metric in chosen:
        why = metric.missing(first)
        if why is None and metric.name == "confusion" and asked is None and first.num_classes > _MOST_CLASSES:
            why = f"{first.num_classes} classes make a large table; ask for it by name"
        if why is None:
            used.append(metric)
        else:
            skipped.append(Skipped(metric.name, why))
    sliced = [m for m in used if m.gives == "number" and (asked is not None or m.name in _SLICED)]
    plan = _Plan(tuple(used), tuple(sliced) if by else (), by, fields, batch_rows(first.num_classes))
    state = _fold(plan, source, engine, workers, progress)
    whole = state.get(_WHOLE, {"read": 0, "rows": 0})
    if not whole["rows"]:
        raise _no_truth(source)
    found: dict[str, dict[str, Any]] = {"number": {}, "curve": {}, "table": {}}
    for metric in used:
        try:
            found[metric.gives][metric.name] = metric.finish(whole[metric.state_key], level, seed)
        except NotApplicable as error:
            skipped.append(Skipped(metric.name, str(error)))
    if not any(found.values()):
        reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
        raise InputError("data that at least one metric can use", got=f"none applies ({reasons})", file=source.name,
                         remedy="ask for other metrics")  # fmt: skip
    slices = sorted((key for key in state if key[0] == "by"), key=lambda k: (-state[k]["rows"], str(k[1])))
    return Evaluation(
        name=source.name,
        rows=whole["rows"],
        unlabelled=whole["read"] - whole["rows"],
        metrics=found["number"],
        curves=found["curve"],
        tables=found["table"],
        skipped=tuple(skipped),
        warnings=tuple(_warnings(whole, found["number"])),
        level=level,
        seed=seed,
        slices=tuple(
            Slice(str(by), key[1], state[key]["rows"], _numbers(plan.sliced, state[key], level, seed))
            for key in slices
        ),
    )


def _fields(source: Source, chosen: Sequence[Metric[Any, Any]], by: str | None) -> tuple[str, ...]:
    """Fields to read: what the metrics need and the truth, not embeddings and the like."""
    needs = [Accuracy.needs, *(metric.needs for metric in chosen)]
    wanted = {name for alternatives in needs for group in alternatives for name in group}
    wanted |= {"logits", "prediction"} | ({by} if by in FIELDS else set())
    return tuple(name for name in FIELDS if name in wanted)


def _no_truth(source: Source) -> InputError:
    return InputError(
        "at least one row of known truth: `correct`, or `label` with `prediction` or `probabilities`",
        got="none",
        remedy="add the column, or estimate without labels: `oodometer estimate`",
        file=source.name,
    )


def _fold(
    plan: _Plan,
    source: Source,
    engine: str | Engine,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> State:
    parts = source.parts()
    runner = create_engine(engine, workers) if isinstance(engine, str) else engine
    count = 0

    def on_done(part: Any) -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, len(parts))

    return runner.fold(parts, plan, lambda a, b: _merge(a, b, plan), on_done)


def _numbers(
    metrics: Sequence[Metric[Any, Any]], states: Mapping[str, Any], level: float, seed: int
) -> dict[str, Interval]:
    out: dict[str, Interval] = {}
    for metric in metrics:
        try:
            out[metric.name] = metric.finish(states[metric.state_key], level, seed)
        except NotApplicable:
            continue  # the reason stands where the whole is skipped, or is this slice's alone
    return out


def _warnings(whole: Mapping[str, Any], numbers: Mapping[str, Interval]) -> list[str]:
    warnings = []
    rows, unlabelled = whole["rows"], whole["read"] - whole["rows"]
    if unlabelled:
        warnings.append(f"{unlabelled} of {whole['read']} rows have no known truth and were left out")
    if rows < _FEW_ROWS:
        warnings.append(f"only {rows} labelled rows; intervals are wide")
    accuracy = numbers.get("accuracy")
    if accuracy is not None and accuracy.value in (0, 1):
        kind = "correct" if accuracy.value else "wrong"
        warnings.append(f"every row is {kind}: how well confidence tells right from wrong cannot be seen")
    if any("rounding" in getattr(number, "extras", {}) for number in numbers.values()):
        warnings.append(
            "so many rows that ranks were read from a fine histogram; `rounding` bounds what that may have cost"
        )
    return warnings
