"""The plan: everything fitted on the reference, ready to be sent to wherever the target's batches are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array
from ..calibrators import Choice
from ..diagnoses import Diagnostician, ShiftStatistics
from ..errors import InputError, NotApplicable, UsageError
from ..estimators import Estimator, RiskCoverage, Sums
from ..kernels import equal_bin, tally
from ..predictions import Predictions
from ..results import Skipped
from ..scores import Score
from .base import Pass, State
from .chunking import Chunks, Earliest
from .decisions import check_rule
from .folding import Execution
from .guarding import Failed, guarded
from .metrics import MetricPlan
from .reference import can_be_judged
from .slicing import WHOLE, Key, column_of, rows_by_value

MOST_CHUNKS = 1000
CONFIDENCE_BINS = 60  # enough for both figures: 20 bins of the histogram, 15 of the reliability diagram
_VALUES_A_BATCH = 10 << 16  # probabilities in flight: few megabytes, and enough that threads seldom meet


def batch_rows(classes: int) -> int:
    """Rows in a batch, so that its probabilities fit the processor's cache.

    >>> batch_rows(10), batch_rows(1000)
    (65536, 1024)
    """
    return max(1024, min(131_072, _VALUES_A_BATCH // max(classes, 1)))


@dataclass(frozen=True)
class EstimationPlan(Pass):
    """Fitted methods and how to cut the target; small, picklable, and the same for every batch.

    Parameters
    ----------
    choice : the calibrator that was chosen (or none).
    methods : name -> fitted estimator.
    curve : fitted label-free risk-coverage, or None.
    confidence : the natural confidence score, or None.
    by : field or column to slice by, or None.
    every : how to cut it into chunks, or None.
    labels : truth of target rows (`label` or `correct`, one row each), or None.
    shift_statistics, diagnostician : what looks at the shift, or None.
    argmax : whether the reference's predictions are the class of highest probability, as the target's must be then, or
        decisions; None where nobody asks.
    metrics : what is asked for besides the accuracy, or None.
    fields : those that are read of the target, None for all.
    rows : rows in a batch; first_row : the target's own first row, from which labels are counted; rows_in_all : of the
        target, where they are known beforehand, so that each batch keeps only its share of a sample of rows.
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
    argmax: bool | None = None
    metrics: MetricPlan | None = None
    fields: tuple[str, ...] | None = None

    def lighter(self) -> EstimationPlan:
        """Values alone, without intervals of the metrics: what a trial needs."""
        light = {name: guarded(name, method, method.lighter, Estimator) for name, method in self.methods.items()}
        methods = {name: self.methods[name] if isinstance(one, Failed) else one for name, one in light.items()}
        return replace(
            self,
            methods=methods,
            curve=None,
            confidence=None,
            shift_statistics=None,
            diagnostician=None,
            by=None,
            every=None,
            metrics=None,
        )

    def restricted_to(self, batch: Predictions) -> tuple[EstimationPlan, list[Skipped]]:
        """The plan without the methods that a target like this batch cannot feed, and why each was left out."""
        skipped, kept = [], {}
        for name, method in self.methods.items():
            why = guarded(name, method, partial(method.why_not, batch))
            if why is None:
                kept[name] = method
            else:
                skipped.append(Skipped(name, why.why if isinstance(why, Failed) else f"{why} (in the target)"))
        confident = self.confidence is not None and self.confidence.why_not(batch) is None
        plan = replace(
            self,
            methods=kept,
            curve=self.curve if confident else None,
            confidence=self.confidence if confident else None,
            metrics=None if self.metrics is None else self.metrics.restricted_to(batch),
        )
        return plan, skipped

    @property
    def makers(self) -> Mapping[str, Estimator]:
        """The methods, which merge their own states."""
        return self.methods

    def check_slices(self, keys: Collection[Key]) -> None:
        """A bounded number of slices or chunks; `UsageError` says what to do about too many."""
        super().check_slices(keys)
        if len(keys) > MOST_CHUNKS:
            raise UsageError(f"--every makes more than {MOST_CHUNKS} chunks of these rows; take longer ones")

    def read(self, parts: Sequence[Any], execution: Execution, file: str | None = None) -> State:
        """The state of a target's parts; `InputError` where they hold no row."""
        state = self.fold(parts, execution)
        if WHOLE not in state:
            raise InputError("at least one row", got="none", remedy="check what wrote it", file=file)
        return state

    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice or chunk."""
        noted = {n: rows for n, rows in batch.noted.items() if self.labels is None or n == "no answer"}
        if self.labels is not None:
            batch = self.with_labels(batch)
        if self.argmax is not None:
            check_rule(batch, self.argmax)
        if self.rows_in_all is not None:
            batch = replace(batch, rows_in_all=self.rows_in_all)
        calibrated = self.choice.apply(batch)
        whole = {name: _seen(name, method, calibrated) for name, method in self.methods.items()}
        whole["truth"] = _truth(batch)
        if can_be_judged(batch):
            whole["labelled"] = self._labelled(batch, calibrated)
        if noted:
            whole["noted"] = Counter(noted)
        if self.curve is not None:
            whole["risk_coverage"] = self.curve.summarize(batch)  # thresholds are for the model's own scale
        if self.confidence is not None:
            whole["confidence"] = Sums(counts=confidence_counts(self.confidence, calibrated))
        if self.shift_statistics is not None:
            whole["shift_statistics"] = self.shift_statistics.summarize(calibrated)
        if self.diagnostician is not None:
            whole["diagnosis"] = self.diagnostician.summarize(calibrated)
        if self.metrics is not None:
            whole |= self.metrics.summarize(batch, calibrated, whole)
        out: State = {WHOLE: whole}
        light = None if self.metrics is None else self.metrics.lighter()
        for key, index in self._slices(calibrated):
            piece = calibrated.take(index)
            states = {
                name: _seen(name, method, piece, lighter=True)
                for name, method in self.methods.items()
                if not method.heavy
            }
            states["truth"] = _truth(piece)
            if "labelled" in whole:
                states["labelled"] = self._labelled(batch.take(index), piece)
            if self.every is not None and self.every.timed and piece.time is not None:
                states["first"] = Earliest(piece.time.min())
            if self.shift_statistics is not None:
                states["shift_statistics"] = self.shift_statistics.summarize(piece)
            if light is not None:
                states |= light.summarize(batch.take(index), piece, states)
            out[key] = states
        return out

    def with_labels(self, batch: Predictions) -> Predictions:
        """The batch with the truth of its rows, taken from `labels`."""
        assert self.labels is not None
        start = batch.first_row - self.first_row
        end = start + len(batch)
        if end > len(self.labels):
            raise InputError(
                f"as many labels as target rows (at least {end})",
                got=f"{len(self.labels)}",
                remedy="give one row of labels for each target row, null where unknown",
                file=self.labels.source,
                column="label",
            )
        truth = self.labels.slice(start, end)
        return replace(batch, label=truth.label, correct=truth.correct, _cache={})

    def _labelled(self, batch: Predictions, calibrated: Predictions) -> Sums:
        """Rows by cell of confidence and by predicted class, labelled ones first, and labels by class."""
        known, classes = batch.verdicts >= 0, batch.num_classes
        cell = np.zeros(len(batch), dtype=np.int64)
        if self.confidence is not None and self.confidence.why_not(calibrated) is None:
            cell = bins_of_confidence(self.confidence, calibrated)[1]
        said = batch.predicted if classes and batch.has_prediction else cell * 0
        label = np.zeros(0, dtype=np.int64) if batch.label is None else batch.label[known & (batch.label >= 0)]

        def counts(codes: Array, cells: int) -> Array:
            return np.stack([np.bincount(codes[rows], minlength=cells) for rows in (known, ~known)])

        return Sums(
            confidence=counts(cell, CONFIDENCE_BINS),
            said=counts(said, max(classes, 1)),
            labels=np.bincount(label, minlength=max(classes, 1)) if classes else np.zeros(1, dtype=np.int64),
        )

    def check_labels(self, rows: int) -> None:
        """No label may be left over: a file of labels that is longer than the target belongs to another one."""
        if self.labels is not None and len(self.labels) != rows:
            raise InputError(
                f"as many labels as target rows ({rows})",
                got=str(len(self.labels)),
                remedy="give one row of labels for each target row, null where unknown",
                file=self.labels.source,
                column="label",
            )

    def _slices(self, batch: Predictions) -> Iterator[tuple[Key, Array]]:
        """Row numbers of each slice and each chunk in the batch."""
        if self.by is not None:
            values = column_of(batch, self.by)
            kind = "by"
        elif self.every is not None:
            values = self.every.numbers(batch, self.first_row)
            kind = "every"
        else:
            return
        names, rows = rows_by_value(values)
        keys: list[Key] = [(kind, name) for name in names]
        self.check_slices(keys)
        yield from zip(keys, rows, strict=True)


def _seen(name: str, method: Estimator, batch: Predictions, lighter: bool = False) -> Any:
    """The state of a method, or a `Failed` that says why there is none."""
    return guarded(name, method, lambda: (method.lighter() if lighter else method).summarize(batch), Sums)


def bins_of_confidence(score: Score, record: Predictions) -> tuple[Array, Array]:
    """Confidence of each sample, and its cell among 60 equal ones over [0, 1]."""
    values = score(record)
    return values, equal_bin(values, CONFIDENCE_BINS)


def confidence_counts(score: Score, record: Predictions) -> Array:
    """Rows in each of 60 equal cells of confidence over [0, 1]."""
    try:
        index = bins_of_confidence(score, record)[1]
    except NotApplicable:
        return np.zeros(CONFIDENCE_BINS, dtype=np.int64)
    counts: Array = tally(index, CONFIDENCE_BINS)[0, :, 0]
    return counts


def rounding(digits: int, whose: str) -> str:
    """The warning about rounded probabilities."""
    return (
        f"{whose} probabilities are rounded to {digits} decimal digits; rows whose sum that moved by more than 0.001 "
        "were divided by it"
    )


def _truth(batch: Predictions) -> Sums:
    if not can_be_judged(batch):
        return Sums(rows=len(batch), known=0, correct=0, new=0)
    verdicts = batch.verdicts
    new = 0 if batch.label is None else int(np.sum(batch.label < -1))  # of classes that the model does not know
    return Sums(rows=len(batch), known=int(np.sum(verdicts >= 0)), correct=int(np.sum(verdicts == 1)), new=new)
