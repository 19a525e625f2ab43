"""Contents: what a fitted file holds, everything learnt from a reference and how targets are to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ... import plugins
from ...arrays import Ragged
from ...calibrators import Choice
from ...diagnoses import Diagnostician, ShiftStatistics
from ...errors import UsageError
from ...estimators import Estimator, RiskCoverage
from ...fields import FIELDS
from ...headline.natural_shifts import NaturalShifts
from ...inference.row_sample import seeded_sample
from ...passes.plan import EstimationPlan
from ...passes.reference import Reference, width
from ...persistence import ENDING, Archive, Damaged, Encoder, NotKept, decoded, write_archive
from ...predictions import Predictions
from ...results import Skipped
from ...results.backtest import Backtest
from ...store.base import Axes
from ...store.encoding import FeatureEncoding
from ..clusters import Side

_CELLS = {"class": "i", "truth": "i", "number": "f", "time": "M"}  # of a field -> kind of its array
_MOST_ROWS = 200_000
_MOST_VALUES = 4_000_000  # numbers of the reference that go into the file: 16 MB of float32


@dataclass(frozen=True)
class Fitted:
    """What was learnt before the target is read: the plan, the reference as it was read, trials, and what to say.

    ``learnt_rows`` are the rows that methods were fitted on; ``record`` may be a sample of them. ``unmade`` are plugins
    that could not be loaded; ``clusters`` those of the reference.
    """

    plan: EstimationPlan
    name: str
    read: Sequence[Reference]
    record: Predictions
    trials: Backtest | None
    skipped: list[Skipped]
    warnings: list[str]
    learnt_rows: int
    unmade: Sequence[Skipped] = ()
    clusters: Side = field(default_factory=Side)

    @property
    def counts(self) -> tuple[int, int]:
        """Rows of the reference and how many are right, also where methods were fitted on a sample of them."""
        return sum(r.rows for r in self.read), sum(r.correct for r in self.read)


@dataclass(frozen=True)
class Contents:
    """A fitted reference: what was learnt, and how a target is read so that it fits.

    Parameters
    ----------
    fitted : what was learnt.
    figures : what the page draws of the reference, or None.
    axes : names of classes, models, judges and features, which targets follow.
    mapping, threshold : as the reference was read.
    options : of the fit, name -> value.
    encoding : how the user's own columns became features, or None.
    prior : the prior of natural shifts that was given, None for the packaged one.
    file : where it was read from, or None.
    """

    fitted: Fitted
    figures: Any
    axes: Axes
    mapping: Mapping[str, str] | None = None
    threshold: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    encoding: FeatureEncoding | None = None
    prior: NaturalShifts | None = None
    file: str | None = None

    @property
    def reference(self) -> Reference:
        """The reference as one record, with the exact counts of all its rows."""
        read = self.fitted.read
        rows, correct = self.fitted.counts
        record = self.fitted.record
        return Reference(record, rows, correct, sum(r.unlabelled for r in read), len(record) < rows)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file; of a large reference's rows it holds a seeded sample.

        A plugin's method whose state cannot be kept is left out and told of. Raises `UsageError` for another ending
        than .oodo, `WorkError` where the file cannot be written.
        """
        check_ending(path)
        encoder = Encoder()
        fitted = _keepable(self.fitted)
        kept = self.reference
        record = _sample(kept.record, int(self.options.get("seed", 0)))
        told = {
            "plan": fitted.plan,
            "name": fitted.name,
            "counts": [kept.rows, kept.correct, kept.unlabelled, fitted.learnt_rows],
            "trials": None if fitted.trials is None else replace(fitted.trials, reused=0),
            "skipped": list(fitted.skipped),
            "unmade": list(fitted.unmade),
            "warnings": list(fitted.warnings),
            "clusters": astuple(fitted.clusters),
            "figures": self.figures,
            "axes": self.axes,
            "mapping": None if self.mapping is None else dict(self.mapping),
            "threshold": self.threshold,
            "options": dict(self.options),
            "encoding": self.encoding,
            "prior": self.prior,
        }
        about = {
            "reference": fitted.name,
            "rows": kept.rows,
            "kept_rows": len(record),
            "classes": None if record.classes is None else list(record.classes),
            "methods": list(fitted.plan.methods),
        }
        sections = {"fitted": encoder.encode(told), "record": encoder.encode(record)}
        return write_archive(path, about, sections, encoder.arrays)

    @staticmethod
    def read_file(path: str | PathLike[str]) -> Contents:
        """The contents of a file that `save` wrote; `InputError` for anything else."""
        archive = Archive.open(path)
        try:
            told = decoded(archive.section("fitted"), archive.arrays)
            record = decoded(archive.section("record"), archive.arrays)
            return _contents(told, record, str(path))
        except (Damaged, LookupError, TypeError, ValueError, AttributeError) as error:
            raise archive.damaged(error) from None


def check_ending(path: str | PathLike[str]) -> None:
    """A fitted file is told by its ending; `UsageError` for another one."""
    if Path(path).suffix.lower() != ENDING:
        raise UsageError(f"expected a name that ends with {ENDING} for a fitted file, got {Path(path).name!r}")


def _keepable(fitted: Fitted) -> Fitted:
    """Without the plugins' methods whose state no file can hold."""
    lost: list[Skipped] = []
    plan = fitted.plan
    for name, method in plan.methods.items():
        if plugins.is_foreign(method):
            try:
                Encoder().encode(method, name)
            except NotKept as error:
                lost.append(Skipped(name, f"cannot be kept in a file: {error}"))
    left = [name for name in plan.methods if name not in {one.method for one in lost}]
    metrics = plan.metrics.of_methods(left) if lost and plan.metrics is not None else plan.metrics
    plan = replace(plan, methods={name: plan.methods[name] for name in left}, metrics=metrics)
    return replace(fitted, plan=plan, skipped=[*fitted.skipped, *lost])


def _sample(record: Predictions, seed: int) -> Predictions:
    """At most so many rows as a file is to hold, without texts."""
    most = max(min(_MOST_ROWS, _MOST_VALUES // width(record)), 1)
    record = replace(record, input=None, output=None, _cache={})
    return record if len(record) <= most else record.take(seeded_sample(len(record), most, seed))


def _contents(told: Any, record: Any, file: str) -> Contents:
    """What was decoded, each piece being of the kind that it should be; `Damaged` otherwise."""
    if not isinstance(told, dict) or set(told) != {*_KINDS}:
        raise Damaged("other pieces than a fitted file has")
    for name, kind in _KINDS.items():
        if not isinstance(told[name], kind):
            raise Damaged(f"{name} is a {type(told[name]).__name__}")
    if not isinstance(record, Predictions):
        raise Damaged("its record is none")
    _check_record(record)
    plan = told["plan"]
    _check_plan(plan)
    rows, correct, unlabelled, learnt = map(int, told["counts"])
    if not 0 <= correct <= rows or rows < 1 or unlabelled < 0 or not 1 <= len(record) <= learnt <= rows:
        raise Damaged("its counts")
    read = Reference(record, rows, correct, unlabelled, len(record) < rows)
    trials, skipped, warnings, unmade = (told[name] for name in ("trials", "skipped", "warnings", "unmade"))
    clusters = Side(*told["clusters"])
    if not min(clusters.effect, clusters.outputs, clusters.sizes) >= 1 or not 0 <= clusters.count <= rows:
        raise Damaged("its clusters")
    fitted = Fitted(plan, told["name"], [read], record, trials, skipped, warnings, learnt, unmade, clusters)
    how = {name: told[name] for name in ("figures", "axes", "mapping", "threshold", "options", "encoding", "prior")}
    return Contents(fitted, **how, file=file)


_NONE = type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    "plan": (EstimationPlan,),
    "name": (str,),
    "counts": (list,),
    "trials": (Backtest, _NONE),
    "skipped": (list,),
    "unmade": (list,),
    "warnings": (list,),
    "clusters": (tuple,),
    "figures": (object,),
    "axes": (Axes,),
    "mapping": (dict, _NONE),
    "threshold": (float, int, _NONE),
    "options": (dict,),
    "encoding": (FeatureEncoding, _NONE),
    "prior": (NaturalShifts, _NONE),
}


def _check_plan(plan: EstimationPlan) -> None:
    pieces: dict[str, tuple[Any, type]] = {
        "choice": (plan.choice, Choice),
        "curve": (plan.curve, RiskCoverage),
        "shift_statistics": (plan.shift_statistics, ShiftStatistics),
        "diagnostician": (plan.diagnostician, Diagnostician),
        **{name: (method, Estimator) for name, method in plan.methods.items()},
    }
    for name, (piece, kind) in pieces.items():
        if not isinstance(piece, kind) and not (
            piece is None and name in ("curve", "shift_statistics", "diagnostician")
        ):
            raise Damaged(f"{name} is a {type(piece).__name__}")


def _check_record(record: Predictions) -> None:
    """Arrays of the right kind and as many rows as there should be, class numbers among the classes; else `Damaged`."""
    sizes: dict[str, int] = {"sample": record.rows}
    if record.classes is not None:
        sizes["class"] = len(record.classes)
    for name, about in FIELDS.items():
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, Ragged):
            _check_ragged(name, value, record.rows)
            continue
        if not isinstance(value, np.ndarray) or value.ndim != len(about.axes):
            raise Damaged(f"{name} is no array of its axes")
        if about.cell in _CELLS and value.dtype.kind != _CELLS[about.cell]:
            raise Damaged(f"{name} holds {value.dtype}")
        for axis, size in zip(about.axes, value.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise Damaged(f"{name} has {size} along {axis}")
        _check_range(name, about.cell, value, sizes.get("class") if record.classes is not None else None)


def _check_ragged(name: str, value: Ragged, rows: int) -> None:
    offsets: Any = value.offsets
    values: Any = value.values
    whole = isinstance(offsets, np.ndarray) and isinstance(values, np.ndarray)
    if not whole or offsets.dtype.kind != "i" or offsets.shape != (rows + 1,) or values.ndim != 1:
        raise Damaged(f"{name} is no ragged array of {rows} rows")
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(values):
        raise Damaged(f"{name} has other rows than it says")


def _check_range(name: str, cell: str, value: Any, classes: int | None) -> None:
    if cell in ("class", "truth") and value.size:
        most = 2 if cell == "truth" else classes
        if value.min() < -1 or (most is not None and value.max() >= most):
            raise Damaged(f"{name} holds numbers of no class")
