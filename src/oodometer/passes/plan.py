"""The plan: everything fitted on the reference, ready to be sent to wherever the target's batches are."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..calibrators import Choice, choose_calibrator
from ..diagnoses import Diagnostician, ShiftStatistics
from ..diagnoses.column_drift import ColumnDrift
from ..errors import InputError, NotApplicable, UsageError
from ..estimators import Estimator, RiskCoverage, Sums
from ..estimators.base import NOT_ARGMAX
from ..fields import FIELDS
from ..kernels import equal_bin, side_by_side, tally
from ..plain import Json, Plain, Strings
from ..predictions import Predictions
from ..registry import (
    FAILURES,
    Failed,
    answer,
    classes_of,
    create,
    find,
    guarded,
    is_foreign,
    merged,
    names,
    why_failed,
)
from ..results import Estimate, Interval, Skipped, percent, plain
from ..scores import Score, natural_confidence
from .folding import Execution
from .metrics import MetricPlan, MetricsAsked, fit_metrics
from .slicing import WHOLE, Chunks, Key, TimeChunks, check_slices, column_of, rows_by_value

# What stands beside the answer of the model; everything else may be what confidence, predicted class or truth are
# made of, and is always read.
SPARED = frozenset(
    ("members", "member_probabilities", "views", "votes", "features", "time", "group")
)


def needed_fields(plan: EstimationPlan, beginning: Predictions) -> Strings | None:
    """Names of the fields that a plan reads of a target that begins so; None for all, where a plugin may read any."""
    methods = [*plan.methods.values()]
    methods += [] if plan.metrics is None else plan.metrics.methods.values()
    if any(map(is_foreign, methods)):
        return None
    named = set[str]()
    for method in methods:
        named |= {name for need in _needs(method) for name in need.split("|")}
        named |= {*method.traits.also_reads}
    if plan.diagnostician is not None:
        named |= {*plan.diagnostician.also_reads}
    if beginning.prediction is None and beginning.probabilities is None:
        named.add("members")
    if plan.every is not None and plan.every.timed:
        named.add("time")
    if plan.by is not None:
        named.add(plan.by)
    spared = SPARED - named
    return tuple(n for n, field in FIELDS.items() if not field.on_request and n not in spared)


def _needs(method: Any) -> Iterator[str]:
    yield from method.needs
    for value in vars(method).values():
        if isinstance(value, Score):
            yield from _needs(value)


def rows_decided(record: Predictions) -> int:
    """Rows whose prediction is not the class of highest probability."""
    return 0 if record.is_argmax else int(np.sum(record.own_probability < record.top.first - 1e-6))


def decided_warning(share: float, whose: str) -> str:
    """What is to be said where predictions are decisions in a share of the rows."""
    text = f"in {percent(share)} of {whose} rows `prediction` is not the class of highest probability: "
    return text + "accuracy is computed from `prediction`"


def check_rule(batch: Predictions, is_argmax: bool) -> None:
    """Raise `InputError` where a target follows another rule than its reference: decisions there, the argmax here."""
    if batch.probabilities is None:
        return
    if not is_argmax and batch.prediction is None:
        expected = (
            "`prediction` as in the reference, whose predictions are "
            "decisions, not the class of highest probability"
        )
        remedy = "add the column to the target, or leave it out of the reference to judge the argmax of both"
        raise InputError(expected, got="probabilities alone", file=batch.source, remedy=remedy)
    if is_argmax and not batch.is_argmax:
        row = int(np.argmax(batch.own_probability < batch.top.first - 1e-6))
        remedy = "give the decisions of the reference, too, or leave `prediction` out to judge the argmax of both"
        raise InputError(
            "the class of highest probability, as in the reference",
            got=f"a decision for one of {batch.own_probability[row]:.4g}",
            remedy=remedy,
            file=batch.source,
            row=batch.first_row + row + 1,
            column="prediction",
        )


def decisions_said(record: Predictions, whose: str) -> list[str]:
    """What is to be said of predictions that are decisions: how many, and the threshold that explains them."""
    if record.is_argmax or record.probabilities is None or record.prediction is None:
        return []
    text = decided_warning(rows_decided(record) / record.rows, f"the {whose}'s")
    if record.num_classes == 2:
        p, yes = record.probabilities[:, 1], record.prediction == 1
        low = float(p[~yes].max()) if not yes.all() else 0.0
        high = float(p[yes].min()) if yes.any() else 1.0
        name = (record.classes or (0, 1))[1]
        if low < high:
            text += f"; a threshold of {low:.3g} to {high:.3g} on the probability of class {name} explains it"
        else:
            text += f"; no threshold on the probability of class {name} explains it"
    return [text]


def checked_estimate(method: Any, estimate: Any) -> Estimate:
    """An estimate that may be shown: numbers in [0, 1], in order, texts that are texts; `ValueError` otherwise."""
    if not isinstance(estimate, Estimate):
        raise TypeError(f"expected an Estimate, got {type(estimate).__name__}")
    _check_order(estimate, (0.0, 1.0))
    if is_foreign(method):
        texts: list[Any] = [estimate.assumes, estimate.citation, estimate.method]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(
                "`method`, `assumes` or `citation` of its estimate is not what it should be"
            )
        json.dumps(estimate.to_dict(), allow_nan=False)
    return estimate


def checked_metric(method: Any, result: Any) -> Any:
    """What a metric of someone else gives, once it is known to be a number in bounds, a curve or a table."""
    if is_foreign(method):
        if method.gives == "number":
            if not isinstance(result, Interval):
                raise TypeError(f"expected an Interval, got {type(result).__name__}")
            _check_order(result, method.bounds)
        json.dumps(plain(result), allow_nan=False)
    return result


def _check_order(interval: Estimate | Interval, bounds: tuple[float, float]) -> None:
    low, value, high = (float(end) for end in (interval.lower, interval.value, interval.upper))
    if not all(map(math.isfinite, (low, value, high))):
        raise ValueError(f"gave {interval.value} in [{interval.lower}, {interval.upper}]")
    if not bounds[0] <= low <= value <= high <= bounds[1]:
        raise ValueError(
            f"gave {value} in [{low}, {high}], outside [{bounds[0]:g}, {bounds[1]:g}] or out of order"
        )


State = dict[Key, Json]


class Pass(ABC):
    """What is read of every batch: a frozen dataclass, small and picklable."""

    rows: int
    by: str | None
    fields: Sequence[str] | None

    @property
    @abstractmethod
    def makers(self) -> Plain:
        """The methods that merge their own states."""

    @abstractmethod
    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice or chunk."""

    def __call__(self, part: Any) -> State:
        """The state of one part, read batch by batch."""
        total: State = {}
        for batch in part.batches(fields=self.fields, rows=self.rows):
            total = self.merge(total, self.summarize(batch))
        return total

    def merge(self, a: State, b: State) -> State:
        """Two states as one, slice by slice and name by name: methods merge their own, all else is added. `UsageError`
        where that makes too many slices or chunks.
        """
        out = dict(a)
        for key, states in b.items():
            mine = dict(out.get(key, {}))
            for name, state in states.items():
                method = self.makers.get(name)
                if name not in mine:
                    mine[name] = state
                elif method is None:
                    mine[name] = mine[name] + state
                else:
                    mine[name] = merged(method.name, method, method.merge, mine[name], state)
            out[key] = mine
        self.check_slices([key for key in out if key[0] not in (WHOLE[0], "cluster")])
        return out

    def check_slices(self, keys: Collection[Key]) -> None:
        """A bounded number of slices or chunks."""
        if self.by is not None:
            check_slices(keys, self.by)


MOST_CHUNKS = 1000
CONFIDENCE_BINS = (
    60  # enough for both figures: 20 bins of the histogram, 15 of the reliability diagram
)
# probabilities in flight: few megabytes, and enough that threads seldom meet
_VALUES_A_BATCH = 10 << 16


def batch_rows(classes: int) -> int:
    """Rows in a batch, so that its probabilities fit the processor's cache."""
    return max(1024, min(131_072, _VALUES_A_BATCH // max(classes, 1)))


@dataclass(frozen=True)
class EstimationPlan(Pass):
    """Fitted methods and how to cut the target; small, picklable, and the same for every batch. ``labels``: truth of
    its rows; ``argmax``: whether the reference's predictions are it (None: nobody asks); ``first_row``: from which
    labels are counted.
    """

    choice: Choice
    methods: Mapping[str, Estimator]
    curve: RiskCoverage | None = None
    confidence: Score | None = None
    by: str | None = None
    every: Chunks | None = None
    labels: Predictions | None = None
    rows: int = field(default=65_536)
    first_row: int = 0
    rows_in_all: int | None = None
    shift_statistics: ShiftStatistics | None = None
    diagnostician: Diagnostician | None = None
    drift: ColumnDrift | None = None  # of the user's columns, in every slice or chunk
    argmax: bool | None = None
    metrics: MetricPlan | None = None
    fields: Strings | None = None

    def lighter(self) -> EstimationPlan:
        """Values alone, without intervals of the metrics: what a trial needs."""
        light = {
            name: guarded(name, method, method.lighter, Estimator)
            for name, method in self.methods.items()
        }
        methods = {
            name: self.methods[name] if isinstance(value, Failed) else value
            for name, value in light.items()
        }
        return replace(
            self,
            methods=methods,
            curve=None,
            confidence=None,
            shift_statistics=None,
            diagnostician=None,
            drift=None,
            by=None,
            every=None,
            metrics=None,
        )

    def restricted_to(self, batch: Predictions) -> tuple[EstimationPlan, list[Skipped]]:
        """The plan without the methods that a target like this batch cannot feed, and why each was left out."""
        skipped, methods = [], {}
        for name, method in self.methods.items():
            why = guarded(name, method, partial(method.why_not, batch))
            if why is None:
                methods[name] = method
            else:
                skipped.append(
                    Skipped(name, why.why if isinstance(why, Failed) else f"{why} (in the target)")
                )
        plan = replace(self, methods=methods)
        if self.confidence is None or self.confidence.why_not(batch) is not None:
            plan = replace(plan, curve=None, confidence=None)
        return plan if self.metrics is None else replace(
            plan, metrics=self.metrics.restricted_to(batch)
        ), skipped

    @property
    def makers(self) -> Mapping[str, Estimator]:
        """The methods, which merge their own states."""
        return self.methods

    def check_slices(self, keys: Collection[Key]) -> None:
        """A bounded number of slices or chunks; `UsageError` says what to do about too many."""
        super().check_slices(keys)
        if len(keys) > MOST_CHUNKS:
            raise UsageError(
                f"--every makes more than {MOST_CHUNKS} chunks of these rows; take longer ones"
            )

    def read(self, parts: Sequence[Any], execution: Execution, file: str | None = None) -> State:
        """The state of a target's parts; `InputError` where they hold no row."""
        state = execution.fold(self, parts, self.merge)
        if WHOLE not in state:
            raise InputError(
                "at least one row", got="none", remedy="check what wrote it", file=file
            )
        return state

    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice or chunk."""
        noted = {
            n: rows for n, rows in batch.noted.items() if self.labels is None or n == "no answer"
        }
        if self.labels is not None:
            batch = self.with_labels(batch)
        if self.argmax is not None:
            check_rule(batch, self.argmax)
        if self.rows_in_all is not None:
            batch = replace(batch, rows_in_all=self.rows_in_all)
        calibrated = self.choice.apply(batch)
        totals = self._summarize_all(batch, calibrated, noted)
        out: State = {WHOLE: totals}
        light = None if self.metrics is None else self.metrics.lighter()
        for key, index in self._pieces(calibrated):
            out[key] = self._summarize_piece(batch, calibrated, index, light)
        if isinstance(self.every, TimeChunks) and self.by is None:
            totals["latest"] = self.every.latest(present(batch.time))
        return out

    def _summarize_all(
        self, batch: Predictions, calibrated: Predictions, noted: Mapping[str, int]
    ) -> Json:
        """The states of all rows of a batch, by name."""
        states = {
            name: self._summarized(name, batch if self.takes_raw(method) else calibrated)
            for name, method in self.methods.items()
        }
        states["truth"] = count_truth(batch)
        if batch.can_be_judged:
            states["labelled"] = self._labelled(batch, calibrated)
        if noted:
            states["noted"] = Counter(noted)
        if self.curve is not None:  # thresholds are for the model's own scale
            states["risk_coverage"] = self.curve.summarize(batch)
        if self.confidence is not None:
            states["confidence"] = Sums(counts=counts_of_confidence(self.confidence, calibrated))
        if self.shift_statistics is not None:
            states["shift_statistics"] = self.shift_statistics.summarize(calibrated)
        if self.diagnostician is not None:
            statistics = states.get("shift_statistics")
            states["diagnosis"] = self.diagnostician.summarize(calibrated, statistics)
        if self.metrics is not None:
            states |= self.metrics.summarize(batch, calibrated, states)
        return states

    def takes_raw(self, method: Estimator) -> bool:
        """Whether a method reads probabilities as the model gave them."""
        return method.traits.raw and not self.choice.is_named

    def _summarized(self, name: str, rows: Predictions, lighter: bool = False) -> Any:
        """The state of rows by one method."""
        method = self.methods[name]
        work = lambda: (method.lighter() if lighter else method).summarize(rows)  # noqa: E731
        return guarded(name, method, work, Sums)

    def _pieces(self, calibrated: Predictions) -> Iterable[tuple[Key, Array]]:
        """The slices or chunks of a batch, and which of its rows are in each."""
        names: Sequence[Any] = ()
        rows: Iterable[Array] = ()
        if self.by is not None:
            names, rows = rows_by_value(column_of(calibrated, self.by))
        elif self.every is not None:
            names, rows = rows_by_value(self.every.numbers(calibrated, self.first_row))
        keys: list[Key] = [("every" if self.by is None else "by", name) for name in names]
        self.check_slices(keys)
        return zip(keys, rows, strict=True)

    def _summarize_piece(
        self, batch: Predictions, calibrated: Predictions, index: Array, metrics: MetricPlan | None
    ) -> Json:
        """The states of the rows of a slice or chunk, by name: of methods that are not heavy."""
        piece = calibrated.take(index)
        raw = batch.take(index) if any(map(self.takes_raw, self.methods.values())) else piece
        states = {
            name: self._summarized(name, raw if self.takes_raw(method) else piece, lighter=True)
            for name, method in self.methods.items()
            if not method.traits.heavy
        }
        states["truth"] = count_truth(piece)
        if batch.can_be_judged:
            states["labelled"] = self._labelled(batch.take(index), piece)
        if self.shift_statistics is not None:
            states["shift_statistics"] = self.shift_statistics.summarize(piece)
        if self.drift is not None:
            states["columns"] = self.drift.summarize(piece)
        if metrics is not None:
            states |= metrics.summarize(batch.take(index), piece, states)
        return states

    def with_labels(self, batch: Predictions) -> Predictions:
        """The batch with the truth of its rows, taken from `labels`."""
        assert self.labels is not None
        start = batch.first_row - self.first_row
        end = start + batch.rows
        if end > len(self.labels):
            self.check_labels(end, "at least ")
        truth = self.labels.slice(start, end)
        return replace(batch, label=truth.label, correct=truth.correct, _cache={})

    def check_labels(self, rows: int, prefix: str = "") -> None:
        """No label may be left over: a file of labels that is longer than the target belongs to another one."""
        if self.labels is not None and len(self.labels) != rows:
            expected, got = f"as many labels as target rows ({prefix}{rows})", str(len(self.labels))
            remedy = "give one for each, null where unknown, or a column `row` that counts target rows from 0"
            raise InputError(
                expected, got=got, remedy=remedy, file=self.labels.source, column="label"
            )

    def _labelled(self, batch: Predictions, calibrated: Predictions) -> Sums:
        """Rows by cell of confidence and by predicted class, labelled ones first, and labels by class."""
        labelled, classes = batch.verdicts >= 0, batch.num_classes
        cell = np.zeros(batch.rows, dtype=np.int64)
        if self.confidence is not None and self.confidence.why_not(calibrated) is None:
            cell = bins_of_confidence(self.confidence, calibrated)[1]
        predicted = batch.predicted if classes and batch.has_prediction else cell * 0
        label = (
            np.zeros(0, dtype=np.int64)
            if batch.label is None
            else batch.label[labelled & (batch.label >= 0)]
        )

        def counts(codes: Array, cells: int) -> Array:
            return np.stack(
                [np.bincount(codes[rows], minlength=cells) for rows in (labelled, ~labelled)]
            )

        return Sums(
            confidence=counts(cell, CONFIDENCE_BINS),
            said=counts(predicted, max(classes, 1)),
            labels=np.bincount(label, minlength=max(classes, 1))
            if classes
            else np.zeros(1, dtype=np.int64),
        )


def count_truth(rows: Predictions) -> Sums:
    """How many rows are of known truth, and right; ``new``: of classes that the model does not know."""
    if not rows.can_be_judged:
        return Sums(rows=rows.rows, known=0, correct=0, new=0)
    verdicts = rows.verdicts
    return Sums(
        rows=rows.rows,
        known=int(np.sum(verdicts >= 0)),
        correct=int(np.sum(verdicts == 1)),
        new=0 if rows.label is None else int(np.sum(rows.label < -1)),
    )


def counts_of_confidence(score: Score, record: Predictions) -> Array:
    """Rows by cell of confidence; all 0 where the score does not apply."""
    try:
        cells = bins_of_confidence(score, record)[1]
    except NotApplicable:
        return np.zeros(CONFIDENCE_BINS, dtype=np.int64)
    return np.asarray(tally(cells, CONFIDENCE_BINS)[0, :, 0])


def bins_of_confidence(score: Score, record: Predictions) -> tuple[Array, Array]:
    """Confidence of each sample, and its cell among 60 equal ones over [0, 1]."""
    values = score(record)
    return values, equal_bin(values, CONFIDENCE_BINS)


def rounding(digits: int, whose: str) -> str:
    """The warning about rounded probabilities."""
    moved = "rows whose sum that moved by more than 0.001 were divided by it"
    return f"{whose} probabilities are rounded to {digits} decimal digits; {moved}"


# fits that take longest on many rows
_LONG = frozenset({"atc-entropy", "threshold-classwise", "cbpe"})
_THREADED_ROWS = 50_000  # below this, threads cost more than they bring


def default_methods() -> list[str]:
    """Names of the methods that `estimate` runs when none is asked for, in the order that they state."""
    names("estimator")  # with the plugins
    runs_as = {cls.name: cls.traits.runs_as for cls in classes_of("estimator")}
    return [
        method
        for name, several in runs_as.items()
        for method in ((name,) if several is None else several)
    ]


def quick_methods(methods: Sequence[str] | None) -> list[str]:
    """Those of the methods (by default all) that are quick enough for a hundred simulated targets."""
    out = []
    for cls in classes_of("estimator"):
        if cls.traits.cost == "quick":
            out += [cls.name] if cls.traits.runs_as is None else list(cls.traits.runs_as[:1])
    return [name for name in out if methods is None or name in methods]


def choose(record: Predictions, calibrator: str, seed: int = 0) -> Choice:
    """The calibrator: "auto" by cross-validation, "none", or one by name."""
    if calibrator == "none":
        return Choice(None, "it was switched off", {})
    if calibrator == "auto":
        return choose_calibrator(record, seed=seed)
    instance = create("calibrator", calibrator)
    return Choice(answer(instance, lambda: instance.fit(record, seed)), "it was asked for", {})


def _fit_curve(
    record: Predictions, target_accuracies: Sequence[float] | None, level: float, seed: int
) -> RiskCoverage | None:
    """The curve of risk by coverage; None without a confidence: the report leaves the section out."""
    if target_accuracies is None:
        return None
    curve = RiskCoverage(level=level, target_accuracies=tuple(target_accuracies), seed=seed)
    with suppress(NotApplicable):
        return curve.fit(record)
    return None


def _fit_method(
    name: str, record: Predictions, calibrated: Predictions, choice: Choice, level: float, seed: int
) -> Estimator | Skipped:
    """An estimator fitted on the calibrated record, or why it does not apply to it."""
    estimator: Any = find("estimator", name)
    try:
        estimator = create("estimator", name, level=level, seed=seed)
        if not record.is_argmax and estimator.traits.argmax_only:
            return Skipped(name, NOT_ARGMAX)
        raw = estimator.traits.raw and not choice.is_named
        method = estimator.fit(record if raw else calibrated)
        if not isinstance(method, Estimator):
            raise TypeError(f"fit gave no estimator but {type(method).__name__}")
    except FAILURES as error:
        return Skipped(name, why_failed(name, estimator, error))
    return method


def _fit_all(
    record: Predictions,
    calibrated: Predictions,
    choice: Choice,
    methods: Sequence[str],
    target_accuracies: Sequence[float] | None,
    level: float,
    seed: int,
) -> tuple[RiskCoverage | None, dict[str, Estimator | Skipped]]:
    """The curve and the methods, fitted side by side where there are many rows."""
    jobs: list[Callable[[], Any]] = [
        partial(_fit_curve, record, target_accuracies, level, seed),
        *(partial(_fit_method, name, record, calibrated, choice, level, seed) for name in methods),
    ]
    # the long ones first, so that no core waits for one that began last
    order = sorted(range(len(jobs)), key=lambda i: i > 0 and methods[i - 1] not in _LONG)
    threads = record.rows >= _THREADED_ROWS
    done = dict(zip(order, side_by_side([jobs[i] for i in order], threads=threads), strict=True))
    return done[0], {name: done[i] for i, name in enumerate(methods, 1)}


def fit_plan(
    record: Predictions,
    methods: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
    target_accuracies: Sequence[float] | None = None,
    calibrator: str = "auto",
    diagnostician: Diagnostician | None = None,
    metrics: MetricsAsked | None = None,
) -> tuple[EstimationPlan, list[Skipped]]:
    """A plan fitted on a labelled record, and the methods that do not apply to it."""
    choice = choose(record, calibrator, seed)
    calibrated = choice.apply(record)
    # worked out once, before several threads ask for them
    _ = (
        record.verdicts,
        calibrated.verdicts,
        calibrated.probabilities is not None and calibrated.top,
    )
    names_wanted = list(methods or default_methods())
    names_asked = list(
        dict.fromkeys([*names_wanted, *(metrics.methods if metrics is not None else ())])
    )

    fitted_curve, results = _fit_all(
        record, calibrated, choice, names_asked, target_accuracies, level, seed
    )
    fitted = {name: result for name, result in results.items() if isinstance(result, Estimator)}
    skipped = [
        result
        for name, result in results.items()
        if isinstance(result, Skipped) and name in names_wanted
    ]
    metric_plan = None
    if metrics is not None:
        metric_plan = fit_metrics(metrics, fitted, calibrated, record, level=level, seed=seed)
        fitted |= {n: m for n, m in metric_plan.methods.items() if n in fitted}
    fitted = {n: m for n, m in fitted.items() if n in names_wanted}
    confidence: Score | None = natural_confidence(record) if fitted_curve is not None else None
    plan = EstimationPlan(
        choice, fitted, fitted_curve, confidence, rows=batch_rows(record.num_classes)
    )
    if diagnostician is not None:
        statistics = ShiftStatistics().fit(calibrated)
        plan = replace(
            plan, shift_statistics=statistics, diagnostician=diagnostician.fit(calibrated)
        )
    return replace(plan, metrics=metric_plan), skipped
