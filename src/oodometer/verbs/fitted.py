"""Fitted: everything learnt from a reference, in memory and in one file, and that file where a reference is wanted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..arrays import Ragged
from ..calibrators import Choice
from ..diagnoses import Diagnostician, ShiftStatistics
from ..errors import UsageError
from ..estimators import Estimator, RiskCoverage
from ..estimators.expected_classes import metric_name
from ..fields import FIELDS, Field
from ..headline.natural_shifts import NaturalShifts
from ..headline.own_history import PastPeriod, Reading
from ..inference.row_sample import content_sample
from ..options import declared, placed
from ..passes.plan import EstimationPlan, quick_methods
from ..passes.reference import Reference, ReferenceSource, Verdicts, most
from ..persistence import ENDING, Archive, Damaged, Encoder, NotKept, decoded, write_archive
from ..plain import Json, Plain
from ..predictions import Predictions
from ..registry import is_foreign
from ..results import Skipped
from ..results.backtest import Backtest
from ..store import RecordSource
from ..store.base import Axes
from ..store.encoding import FeatureEncoding
from .clusters import Side
from .options import EstimateOptions, Learnt

FITTED = tuple(placed(Learnt, "fit", "read"))
"""Options that shape what is learnt from a reference: a fitted file holds them, and another value is refused."""
LEAST_CANDIDATES = 3  # methods below which there is nothing to weigh

_OPENED = ("classes", "mapping", "positive", "threshold")  # whoever opens the target sees to these
_DEFAULTS: Json = {name: field.default for name, field, _ in declared(Learnt)}
Asked = TypeVar("Asked", bound=EstimateOptions)
_NONE = type(None)
# of what stands in a file beside the record; `counts` are those of `reference`
_KINDS: dict[str, tuple[type, ...]] = {
    "plan": (EstimationPlan,),
    "name": (str,),
    "counts": (list,),
    "trials": (Backtest, _NONE),
    "skipped": (list,),
    "unmade": (list,),
    "warnings": (list,),
    "doubt": (str,),
    "clusters": (tuple,),
    "figures": (dict, _NONE),
    "axes": (Axes,),
    "mapping": (dict, _NONE),
    "threshold": (float, int, _NONE),
    "options": (dict,),
    "encoding": (FeatureEncoding, _NONE),
    "prior": (NaturalShifts, _NONE),
    "slices": (dict, _NONE),
    "past": (list,),
}
_PIECES = {
    "choice": Choice,
    "curve": RiskCoverage,
    "shift_statistics": ShiftStatistics,
    "diagnostician": Diagnostician,
}
_CELLS = {"class": "i", "truth": "i", "number": "f", "time": "M"}  # of a field -> kind of its array
_MOST_ROWS = 200_000
_MOST_VALUES = 4_000_000  # numbers of the reference that go into the file: 16 MB of float32


@dataclass(frozen=True)
class Fitted:
    """What was learnt before the target is read, and how a target is read so that it fits.

    ``doubt``: why its labels may be other classes than they are called, which takes the trust from every number.
    """

    plan: EstimationPlan
    name: str
    reference: Reference
    trials: Backtest | None
    skipped: list[Skipped]
    warnings: list[str]
    learnt_rows: int
    doubt: str = ""
    unmade: Sequence[Skipped] = ()
    clusters: Side = field(default_factory=Side)
    figures: Plain | None = None
    axes: Axes | None = None
    mapping: Mapping[str, str] | None = None
    threshold: float | None = None
    options: Plain = field(default_factory=dict)
    encoding: FeatureEncoding | None = None
    prior: NaturalShifts | None = None
    past: Sequence[PastPeriod] = ()
    file: str | None = None

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.file or "this Oodometer"

    def options_with(self, options: Asked) -> Asked:
        """The options with those of the fit; `UsageError` for another value, but for fewer methods."""
        changes = self._usual_ones(options)
        if options.payoff is not None:
            remedy = "give another one to `oodometer fit`"
            raise UsageError(f"{self.where} holds what was fitted with its pay-off; {remedy}")
        if options.backtest not in ("auto", None) and not isinstance(options.backtest, Backtest):
            raise UsageError(
                f"{self.where} holds its backtest; a folder for backtests is of use to `oodometer fit`"
            )
        if options.prior is None and self.prior is not None:
            changes["prior"] = self.prior
        return _changed(options, changes)

    def _usual_ones(self, options: EstimateOptions) -> Json:
        """The values of the fit for options that were left as they usually are; `UsageError` for others that differ."""
        changes: Json = {}
        for name in FITTED:
            if name in _OPENED or name not in self.options:
                continue
            before, now = self.options[name], _listed(getattr(options, name))
            if now == before:
                continue
            if now == _listed(_DEFAULTS[name]):
                changes[name] = before
            elif name == "methods":
                self._check_methods(now)
            elif name == "metrics":
                self._check_metrics(now)
            elif not self._may_differ(name, before, now):
                was, got = (
                    ", ".join(map(str, value)) if isinstance(value, list) else str(value)
                    for value in (before, now)
                )
                remedy = f"leave {name} out, or fit the reference again with it"
                raise UsageError(f"{self.where} was fitted with {name} {was}, got {got}; {remedy}")
        return changes

    def _may_differ(self, name: str, before: Any, now: Any) -> bool:
        """Whether an option may have another value than in the fit: nothing was learnt by it."""
        if name == "cluster":
            return before is None and now not in self.clusters.columns
        return name in ("diagnosis", "timezone")

    def _check_methods(self, methods: Sequence[str]) -> None:
        """Raise `UsageError` for a method that was not fitted."""
        available = {*self.plan.methods, *(skip.method for skip in self.skipped)}
        for name in methods:
            if name not in available:
                remedy = f"fit the reference again with --method {name}"
                fitted = ", ".join(self.plan.methods)
                raise UsageError(f"{self.where} holds no method {name!r}, only {fitted}; {remedy}")

    def _check_metrics(self, metrics: Sequence[str]) -> None:
        """Raise `UsageError` for a metric that was not fitted."""
        plan = self.plan.metrics
        fitted = [] if plan is None else [metric.name for metric in plan.metrics]
        for name in metrics:
            if metric_name(name) not in (*fitted, "accuracy"):
                had = ", ".join(fitted) or "no metric but the accuracy"
                remedy = f"fit the reference again with --metric {name}"
                raise UsageError(f"{self.where} was fitted with {had}; {remedy}")

    def cut_to(self, options: EstimateOptions) -> Fitted:
        """What was learnt, cut to the methods that are asked for."""
        plan = self.plan
        trials = self.trials
        skipped = list(self.skipped)
        warnings = list(self.warnings)
        methods = options.methods
        if methods is not None and methods != self.options.get("methods"):
            plan = replace(
                plan, methods={name: plan.methods[name] for name in methods if name in plan.methods}
            )
            skipped = [skip for skip in skipped if skip.method in methods]
            names = quick_methods(methods)
            # as if only these methods had been tried; of too few there is nothing to weigh
            if trials is not None:
                trials = _of_methods(trials, names) if len(names) >= LEAST_CANDIDATES else None
            if plan.metrics is not None:
                plan = replace(plan, metrics=plan.metrics.of_methods(methods))
                if plan.metrics is None:
                    why = "none of the methods asked for can estimate the metrics of the fit"
                    warnings.append(f"{why}: they are left out")
        if plan.metrics is not None and options.metrics:
            plan = replace(plan, metrics=plan.metrics.only(options.metrics))
        if not options.diagnosis:
            plan, trials = replace(plan, shift_statistics=None, diagnostician=None), None
        if options.backtest is None or isinstance(options.backtest, Backtest):
            trials = options.backtest
        return replace(self, plan=plan, trials=trials, skipped=skipped, warnings=warnings)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file, with a seeded sample of a large reference, without texts and plugins that cannot be kept."""
        check_ending(path)
        encoder, plan, skipped = Encoder(), self.plan, list(self.skipped)
        for name, method in self.plan.methods.items():
            if is_foreign(method):
                try:
                    Encoder().encode(method, name)
                except NotKept as error:
                    skipped.append(Skipped(name, f"cannot be kept in a file: {error}"))
                    remaining = {
                        other: method for other, method in plan.methods.items() if other != name
                    }
                    metrics = (
                        None if plan.metrics is None else plan.metrics.of_methods([*remaining])
                    )
                    plan = replace(plan, methods=remaining, metrics=metrics)
        reference = self.reference
        record = replace(reference.record, input=None, output=None, _cache={})
        size = most(record, _MOST_ROWS, _MOST_VALUES)
        if len(record) > size:
            record = record.take(content_sample(record, size, int(self.options.get("seed", 0))))
        pieces = {name: getattr(self, name) for name in _KINDS if name not in ("counts", "slices")}
        pieces |= {
            "plan": plan,
            "skipped": skipped,
            "unmade": list(self.unmade),
            "clusters": astuple(self.clusters),
        }
        counts = [reference.rows, reference.correct, reference.unlabelled, self.learnt_rows]
        trials = None if self.trials is None else replace(self.trials, reused=0)
        pieces |= {"counts": counts, "options": dict(self.options), "trials": trials}
        pieces |= {"slices": _plain_slices(reference), "past": list(self.past)}
        about: Json = {
            "reference": self.name,
            "rows": reference.rows,
            "kept_rows": len(record),
            "classes": None if record.classes is None else list(record.classes),
            "methods": list(plan.methods),
        }
        sections = {"fitted": encoder.encode(pieces), "record": encoder.encode(record)}
        return write_archive(path, about, sections, encoder.arrays)

    @staticmethod
    def read_file(path: str | PathLike[str]) -> Fitted:
        """The contents of a file that `save` wrote; `InputError` for anything else."""
        archive = Archive.open(path)
        try:
            pieces = decoded(archive.section("fitted"), archive.arrays)
            record = decoded(archive.section("record"), archive.arrays)
            _check_pieces(pieces)
            _check_record(record)
            _check_past_and_plan(pieces["past"], pieces["plan"])
            rows, correct, unlabelled, learnt = map(int, pieces["counts"])
            possible = 0 <= correct <= rows and rows >= 1 and unlabelled >= 0
            if not possible or not 1 <= len(record) <= learnt <= rows:
                raise Damaged("its counts")
            clusters = Side(*pieces["clusters"])
            smallest = min(clusters.effect, clusters.outputs, clusters.sizes)
            if not smallest >= 1 or not 0 <= clusters.count <= rows:
                raise Damaged("its clusters")
            by, verdicts = _slices_of(pieces["slices"])
            return Fitted(
                plan=pieces["plan"],
                name=pieces["name"],
                reference=Reference(
                    record, rows, correct, unlabelled, len(record) < rows, by, verdicts
                ),
                trials=pieces["trials"],
                skipped=pieces["skipped"],
                warnings=pieces["warnings"],
                doubt=pieces["doubt"],
                learnt_rows=learnt,
                unmade=pieces["unmade"],
                clusters=clusters,
                figures=pieces["figures"],
                axes=pieces["axes"],
                mapping=pieces["mapping"],
                threshold=pieces["threshold"],
                options=pieces["options"],
                encoding=pieces["encoding"],
                prior=pieces["prior"],
                past=pieces["past"],
                file=str(path),
            )
        except (Damaged, LookupError, TypeError, ValueError, AttributeError) as error:
            raise archive.damaged(error) from None


def _listed(value: Any) -> Any:
    """A value as a file holds it, tuples as lists."""
    return list(value) if isinstance(value, tuple) else value


def _changed(options: Asked, changes: Plain) -> Asked:
    """The options with other values."""
    try:
        return replace(options, **changes)
    except UsageError as error:  # nobody typed it: `faults_of_fitted` names the file
        raise ValueError(str(error)) from error


def _plain_slices(reference: Reference) -> dict[str, list[Any]] | None:
    """What a file holds of the values of a column: right and wrong rows of each; None where none was asked for."""
    if reference.by is None or not reference.verdicts:
        return None
    values = list(dict.fromkeys(value for value, _ in reference.verdicts))
    counts = {
        name: [reference.verdicts.get((v, right), 0) for v in values] for name, right in _VERDICTS
    }
    return {"by": [reference.by], "values": values, **counts}


def _slices_of(plain: Any) -> tuple[str | None, Verdicts]:
    """The column and the counts that `_plain_slices` wrote; `Damaged` for what makes no sense."""
    if plain is None:
        return None, {}
    (by,), values = plain["by"], plain["values"]
    counts = [(name, right, list(map(int, plain[name]))) for name, right in _VERDICTS]
    if not isinstance(by, str) or any(
        len(numbers) != len(values) or min(numbers, default=0) < 0 for _, _, numbers in counts
    ):
        raise Damaged("its slices")
    verdicts = {
        (v, right): n
        for _, right, numbers in counts
        for v, n in zip(values, numbers, strict=True)
        if n
    }
    return by, verdicts


_VERDICTS = (("right", True), ("wrong", False))


def check_ending(path: str | PathLike[str]) -> None:
    """A fitted file is told by its ending; `UsageError` for another one."""
    if Path(path).suffix.lower() != ENDING:
        raise UsageError(
            f"expected a name that ends with {ENDING} for a fitted file, got {Path(path).name!r}"
        )


def _check_pieces(pieces: Any) -> None:
    """Raise `Damaged` for other pieces than a file has, or of other kinds."""
    if not isinstance(pieces, dict) or set(pieces) != {*_KINDS}:
        raise Damaged("other pieces than a fitted file has")
    for name, kind in _KINDS.items():
        if not isinstance(pieces[name], kind):
            raise Damaged(f"{name} is a {type(pieces[name]).__name__}")


def _check_past_and_plan(past: Sequence[Any], plan: EstimationPlan) -> None:
    """Raise `Damaged` for past periods that are none, and parts of a plan of other kinds."""
    if not all(
        isinstance(period, PastPeriod) and isinstance(period.reading, Reading) for period in past
    ):
        raise Damaged("its past periods")
    for name, of in _PIECES.items():
        piece = getattr(plan, name)
        if not isinstance(piece, of) and (piece is not None or name == "choice"):
            raise Damaged(f"{name} is a {type(piece).__name__}")
    for name, method in plan.methods.items():
        if not isinstance(method, Estimator):
            raise Damaged(f"{name} is a {type(method).__name__}")


def _of_methods(trials: Backtest, names: Collection[str]) -> Backtest:
    """Trials with the estimates of these methods alone."""
    cut = [
        replace(trial, estimates={name: e for name, e in trial.estimates.items() if name in names})
        for trial in trials.trials
    ]
    return replace(trials, trials=tuple(cut))


def _check_record(record: Any) -> None:
    """Arrays of the right kind and as many rows as there should be, class numbers among the classes; else `Damaged`."""
    if not isinstance(record, Predictions):
        raise Damaged("its record is none")
    sizes: dict[str, int] = {"sample": record.rows}
    codes = {"truth": 2.0, "class": np.inf}  # how many numbers a kind of cell has
    if record.classes is not None:
        sizes["class"] = codes["class"] = len(record.classes)
    for name, about in FIELDS.items():
        value = getattr(record, name)
        if isinstance(value, Ragged):
            _check_ragged(name, value, record.rows)
        elif value is not None:
            _check_array(name, value, about, sizes)
            is_code = about.cell in codes and value.size
            if is_code and (value.min() < -1 or value.max() >= codes[about.cell]):
                raise Damaged(f"{name} holds numbers of no class")


def _check_array(name: str, value: Any, about: Field, sizes: dict[str, int]) -> None:
    """Raise `Damaged` for another kind of array than the field has, or of another size; ``sizes``: of axes so far."""
    if not isinstance(value, np.ndarray) or value.ndim != len(about.axes):
        raise Damaged(f"{name} is no array of its axes")
    if about.cell in _CELLS and value.dtype.kind != _CELLS[about.cell]:
        raise Damaged(f"{name} holds {value.dtype}")
    for axis, size in zip(about.axes, value.shape, strict=True):
        if sizes.setdefault(axis, size) != size:
            raise Damaged(f"{name} has {size} along {axis}")


def _check_ragged(name: str, value: Ragged, rows: int) -> None:
    """Raise `Damaged` for lists of a number of rows that are none."""
    offsets: Any = value.offsets
    values: Any = value.values
    are_arrays = (
        isinstance(offsets, np.ndarray) and isinstance(values, np.ndarray) and values.ndim == 1
    )
    if not are_arrays or offsets.dtype.kind != "i" or offsets.shape != (rows + 1,):
        raise Damaged(f"{name} is no ragged array of {rows} rows")
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(values):
        raise Damaged(f"{name} has other rows than it says")


class FittedSource(ReferenceSource):
    """What was learnt of a reference in the place of it: a fitted file's path, or a fitted object."""

    def __init__(self, data: Any) -> None:
        is_path = isinstance(data, (str, PathLike))
        self.fitted: Fitted = Fitted.read_file(data) if is_path else data.__fitted_reference__()
        super().__init__(self.fitted.reference)
        self.path = self.fitted.file
        self.name = self.fitted.name
        self.encoding = self.fitted.encoding

    @property
    def axes(self) -> Axes:
        """Those of the reference as it was read."""
        assert self.fitted.axes is not None
        return self.fitted.axes

    def aligned(self, axes: Axes | None) -> RecordSource:
        """The same, where the order is its own; else its rows in the other order."""
        return (
            self if axes is None or axes == self.axes else RecordSource(self.record).aligned(axes)
        )
