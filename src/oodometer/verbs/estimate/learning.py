"""Learning: everything that `estimate` takes from a reference, before or while the target is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, final

from ...backtests.run import BacktestOptions, run_backtest
from ...backtests.trials import LEAST_REFERENCE
from ...classes import said_of_classes
from ...diagnoses import Diagnostician
from ...estimators import SourceAccuracy
from ...kernels import cores, pool
from ...passes.folding import Execution, enter_phase, hearing_phases
from ...passes.plan import SPARED, EstimationPlan, batch_rows, decisions_said, fit_plan, quick_methods, rounding
from ...passes.reference import FEW_ROWS, Reference, check_classes, gather_reference, label_warnings, width
from ...predictions import Predictions
from ...registry import broken
from ...results import Skipped
from ...results.backtest import Backtest
from ...store import Part, Source
from ..clusters import side_of
from ..fitted import Fitted
from .metric_answers import asked_metrics
from .options import EstimateJob

PART_ROWS = 1 << 17  # small enough that two workers finish together, large enough to hide their overhead
LEAST_CANDIDATES = 3  # methods below which there is nothing to weigh
_REPEATS = 8  # trials of each family and severity behind a headline


def learn(
    sources: Sequence[Source], options: EstimateJob, target: Source | None = None
) -> tuple[Fitted, Sequence[Part]]:
    """Everything learnt from the reference, and the target's parts, the first of which were read meanwhile."""
    reading = options.execution
    if target is not None:  # then plain functions hear of the target's parts alone
        reading = reading.heard_by(hearing_phases(reading.progress))
    gathered = [gather_reference(s, execution=reading, in_parts=target is None, seed=options.seed) for s in sources]
    there = [] if target is None else target.parts(PART_ROWS, options.execution.each)
    span = there[0].span() if there else None
    values = (PART_ROWS if span is None else span[1] - span[0]) * width(gathered[0].parts[0][1])
    kept = options.execution.folder is not None  # then it is not known yet which parts will be read
    ahead = ReadingAhead([] if kept else there, batch_rows(len(sources[0].classes or ())), values)
    try:
        read = [gathered.pop(0).joined() for _ in range(len(gathered))]  # pieces are let go one by one
        record = read[0].record if len(read) == 1 else Predictions.concat([r.record for r in read])
        check_classes(record, sources[0].name)
        warnings = _reference_warnings(read, record, target, sources)
        enter_phase(options.execution.progress, "fitting")
        asked = asked_metrics(record, sources[0], options)
        plan, skipped = fit_plan(
            record,
            options.methods,
            level=options.level,
            seed=options.seed,
            target_accuracies=options.target_accuracies,
            calibrator=options.calibrator,
            diagnostician=Diagnostician(seed=options.seed, columns=sources[0].users) if options.diagnosis else None,
            metrics=asked,
        )
        trials = trials_of(record, options) if options.diagnosis else None
    finally:
        ahead.stop()
    parts = there if kept else ahead.parts
    plan = replace(_with_exact_source(plan, read), argmax=record.is_argmax)
    unmade = [Skipped(*one) for one in broken("estimator").items()] if options.methods is None else []
    own = options.cluster if all(source.holds(str(options.cluster)) for source in sources) else None
    clusters = side_of(sources, own, sum(r.rows for r in read), options.level, plan.shift_statistics, labelled=True)
    made = Fitted(plan, sources[0].name, read, record, trials, skipped, warnings, len(record), unmade, clusters)
    return made, parts


def trials_of(record: Predictions, options: EstimateJob) -> Backtest | None:
    """What the headline is weighed by, or None."""
    if options.backtest is None or isinstance(options.backtest, Backtest):
        return options.backtest
    candidates = quick_methods(options.methods)
    if len(candidates) < LEAST_CANDIDATES or len(record) < LEAST_REFERENCE:
        return None
    asked = BacktestOptions(
        methods=candidates,
        repeats=_REPEATS,
        level=options.level,
        calibrator=options.calibrator,
        seed=options.seed,
        cache=options.backtest,
    )
    # a second at most, which no engine is worth that must be started or sent the rows
    return run_backtest(record, asked, Execution(progress=enter_phase(options.execution.progress, "backtest")))


def _with_exact_source(plan: EstimationPlan, read: Sequence[Reference]) -> EstimationPlan:
    """The source accuracy from all reference rows, also where methods were fitted on a sample of them."""
    rows, correct = sum(r.rows for r in read), sum(r.correct for r in read)
    methods = {
        name: method.with_counts(correct, rows) if isinstance(method, SourceAccuracy) else method
        for name, method in plan.methods.items()
    }
    return replace(plan, methods=methods)


def _reference_warnings(
    read: Sequence[Reference], record: Predictions, target: Source | None, sources: Sequence[Source]
) -> list[str]:
    warnings: list[str] = []
    unlabelled = sum(r.unlabelled for r in read)
    if unlabelled:
        warnings.append(f"{unlabelled} reference rows have no known truth and were left out")
    warnings += said_of_classes(record.noted, "the reference")
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
    if target is not None and target.path is not None and any(_same(s.path, target.path) for s in sources):
        warnings.append("reference and target are the same file")
    if record.label is not None and len(record) and (record.label == record.label[0]).all():
        warnings.append("all reference labels are of one class")
    return warnings


def _same(reference: str | None, target: str) -> bool:
    """Whether two paths are one place; of patterns, lists and object stores, whether they are written alike."""
    if reference is None or reference == target:
        return reference == target
    return os.path.exists(reference) and os.path.exists(target) and os.path.samefile(reference, target)


_MOST_VALUES = 4_000_000  # numbers decoded beforehand, 16 MB of float32


@final
class ReadingAhead:
    """The parts of a source, the first of which are being read by an idle core until `stop`.

    ``parts`` are as the source gave them to whoever asks for other fields or rows, and to another process. With one
    core, or one part, nothing is read beforehand.
    """

    def __init__(self, parts: Sequence[Part], rows: int, values: int) -> None:
        """``rows`` of a batch, as they will be asked for; ``values`` in a part, about."""
        self.parts: list[Part] = list(parts)
        self._thread: ThreadPoolExecutor | None = None
        self._coming: list[Future[Any]] = []
        count = min(_MOST_VALUES // max(values, 1), len(self.parts))
        if cores() == 1 or len(self.parts) < 2 or not count:
            return
        self._thread = pool(1)
        for i in range(count):
            coming = self._thread.submit(_read, self.parts[i], rows)
            self._coming.append(coming)
            self.parts[i] = _Ahead(self.parts[i], rows, coming)

    def stop(self) -> None:
        """Begin with no further part; the one in work is finished by whoever asks for it first."""
        for coming in self._coming:
            coming.cancel()
        if self._thread is not None:
            self._thread.shutdown(wait=False)


class _Ahead(Part):
    """A part whose batches are in memory already, or soon; once it has been read to its end they are let go."""

    def __init__(self, part: Part, rows: int, coming: Future[list[Predictions]]) -> None:
        self._part, self._rows = part, rows
        self._coming: Future[list[Predictions]] | None = coming

    def batches(self, fields: Iterable[str] | None = None, rows: int = 65_536) -> Iterator[Predictions]:
        """The batches from memory, with all fields; read anew where others are asked for, or they were let go."""
        coming = self._coming
        if coming is None or coming.cancelled() or rows != self._rows:
            return self._part.batches(fields, rows)
        asked = None if fields is None else set(fields)
        there = coming.result()
        left = set() if asked is None or not there else set(there[0].fields) - asked
        if not left <= SPARED:  # one of them may stand in for a field that is absent: the source knows
            return self._part.batches(asked, rows)
        return self._handed_out(there, left)

    def _handed_out(self, batches: list[Predictions], left: set[str]) -> Iterator[Predictions]:
        absent: dict[str, Any] = dict.fromkeys(left)
        for batch in batches:
            yield replace(batch, **absent) if left else batch
        self._coming = None

    def __reduce__(self) -> Any:
        return (_itself, (self._part,))


def _itself(part: Part) -> Part:
    return part


def _read(part: Part, rows: int) -> list[Predictions]:
    return list(part.batches(rows=rows))
