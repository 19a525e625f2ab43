"""Fitted: everything learnt from a reference, in memory and in one file, and that file where a reference is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Ragged
from ..calibrators import Choice
from ..diagnoses import Diagnostician, ShiftStatistics
from ..errors import InputError, OodometerError, UsageError
from ..estimators import Estimator, RiskCoverage
from ..fields import FIELDS
from ..headline.natural_shifts import NaturalShifts
from ..inference.row_sample import seeded_sample
from ..passes.plan import EstimationPlan
from ..passes.reference import Reference, ReferenceSource, width
from ..persistence import ENDING, Archive, Damaged, Encoder, NotKept, decoded, write_archive
from ..predictions import Predictions
from ..registry import is_foreign
from ..results import Skipped
from ..results.backtest import Backtest
from ..store import RecordSource
from ..store.base import Axes
from ..store.encoding import FeatureEncoding
from .clusters import Side

_NONE = type(None)
_KINDS: dict[str, tuple[type, ...]] = {  # of what stands in a file beside the record; `counts` are those of `reference`
    "plan": (EstimationPlan,),
    "name": (str,),
    "counts": (list,),
    "trials": (Backtest, _NONE),
    "skipped": (list,),
    "unmade": (list,),
    "warnings": (list,),
    "clusters": (tuple,),
    "figures": (dict, _NONE),
    "axes": (Axes,),
    "mapping": (dict, _NONE),
    "threshold": (float, int, _NONE),
    "options": (dict,),
    "encoding": (FeatureEncoding, _NONE),
    "prior": (NaturalShifts, _NONE),
}
_PIECES = {"choice": Choice, "curve": RiskCoverage, "shift_statistics": ShiftStatistics, "diagnostician": Diagnostician}
_CELLS = {"class": "i", "truth": "i", "number": "f", "time": "M"}  # of a field -> kind of its array
_MOST_ROWS = 200_000
_MOST_VALUES = 4_000_000  # numbers of the reference that go into the file: 16 MB of float32


@dataclass(frozen=True)
class Fitted:
    """What was learnt before the target is read, and how a target is read so that it fits.

    Parameters
    ----------
    plan, trials : the fitted methods, and what the headline is weighed by. skipped, warnings : what to say.
    name, reference : of the reference, whose record may be a sample of the ``learnt_rows`` that methods were fitted on.
    unmade : plugins that could not be loaded. clusters : those of the reference.
    figures : what the page draws of the reference, or None.
    axes : names of classes, models, judges and features, which targets follow; None before they are needed.
    mapping, threshold : as the reference was read.
    options : of the fit, name -> value.
    encoding : how the user's own columns became features, or None.
    prior : the prior of natural shifts that was given, None for the packaged one.
    file : where it was read from, or None.
    """

    plan: EstimationPlan
    name: str
    reference: Reference
    trials: Backtest | None
    skipped: list[Skipped]
    warnings: list[str]
    learnt_rows: int
    unmade: Sequence[Skipped] = ()
    clusters: Side = field(default_factory=Side)
    figures: Mapping[str, Any] | None = None
    axes: Axes | None = None
    mapping: Mapping[str, str] | None = None
    threshold: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    encoding: FeatureEncoding | None = None
    prior: NaturalShifts | None = None
    file: str | None = None

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.file or "this Oodometer"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file; of a large reference's rows it holds a seeded sample, without texts.

        A plugin's method whose state cannot be kept is left out and told of. Raises `UsageError` for another ending
        than .oodo, `WorkError` where the file cannot be written.
        """
        check_ending(path)
        encoder, plan, skipped = Encoder(), self.plan, list(self.skipped)
        for name, method in self.plan.methods.items():
            if is_foreign(method):
                try:
                    Encoder().encode(method, name)
                except NotKept as error:
                    skipped.append(Skipped(name, f"cannot be kept in a file: {error}"))
                    left = {other: one for other, one in plan.methods.items() if other != name}
                    metrics = None if plan.metrics is None else plan.metrics.of_methods([*left])
                    plan = replace(plan, methods=left, metrics=metrics)
        kept = self.reference
        record = replace(kept.record, input=None, output=None, _cache={})
        most = max(min(_MOST_ROWS, _MOST_VALUES // width(record)), 1)
        if len(record) > most:
            record = record.take(seeded_sample(len(record), most, int(self.options.get("seed", 0))))
        told = {name: getattr(self, name) for name in _KINDS if name != "counts"}
        told |= {"plan": plan, "skipped": skipped, "unmade": list(self.unmade), "clusters": astuple(self.clusters)}
        told |= {"counts": [kept.rows, kept.correct, kept.unlabelled, self.learnt_rows], "options": dict(self.options)}
        told |= {"trials": None if self.trials is None else replace(self.trials, reused=0)}
        about = {
            "reference": self.name,
            "rows": kept.rows,
            "kept_rows": len(record),
            "classes": None if record.classes is None else list(record.classes),
            "methods": list(plan.methods),
        }
        sections = {"fitted": encoder.encode(told), "record": encoder.encode(record)}
        return write_archive(path, about, sections, encoder.arrays)

    @staticmethod
    def read_file(path: str | PathLike[str]) -> Fitted:
        """The contents of a file that `save` wrote; `InputError` for anything else."""
        archive = Archive.open(path)
        try:
            told = decoded(archive.section("fitted"), archive.arrays)
            record = decoded(archive.section("record"), archive.arrays)
            if not isinstance(told, dict) or set(told) != {*_KINDS}:
                raise Damaged("other pieces than a fitted file has")
            for name, kind in _KINDS.items():
                if not isinstance(told[name], kind):
                    raise Damaged(f"{name} is a {type(told[name]).__name__}")
            _check_record(record)
            plan = told["plan"]
            for name, of in _PIECES.items():
                piece = getattr(plan, name)
                if not isinstance(piece, of) and (piece is not None or name == "choice"):
                    raise Damaged(f"{name} is a {type(piece).__name__}")
            for name, method in plan.methods.items():
                if not isinstance(method, Estimator):
                    raise Damaged(f"{name} is a {type(method).__name__}")
            rows, correct, unlabelled, learnt = map(int, told.pop("counts"))
            if not 0 <= correct <= rows or rows < 1 or unlabelled < 0 or not 1 <= len(record) <= learnt <= rows:
                raise Damaged("its counts")
            clusters = Side(*told.pop("clusters"))
            if not min(clusters.effect, clusters.outputs, clusters.sizes) >= 1 or not 0 <= clusters.count <= rows:
                raise Damaged("its clusters")
            read = Reference(record, rows, correct, unlabelled, len(record) < rows)
            return Fitted(**told, reference=read, learnt_rows=learnt, clusters=clusters, file=str(path))
        except (Damaged, LookupError, TypeError, ValueError, AttributeError) as error:
            raise archive.damaged(error) from None


def check_ending(path: str | PathLike[str]) -> None:
    """A fitted file is told by its ending; `UsageError` for another one."""
    if Path(path).suffix.lower() != ENDING:
        raise UsageError(f"expected a name that ends with {ENDING} for a fitted file, got {Path(path).name!r}")


def _check_record(record: Any) -> None:
    """Arrays of the right kind and as many rows as there should be, class numbers among the classes; else `Damaged`."""
    if not isinstance(record, Predictions):
        raise Damaged("its record is none")
    sizes: dict[str, int] = {"sample": record.rows}
    if record.classes is not None:
        sizes["class"] = len(record.classes)
    for name, about in FIELDS.items():
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, Ragged):
            offsets: Any = value.offsets
            values: Any = value.values
            whole = isinstance(offsets, np.ndarray) and isinstance(values, np.ndarray) and values.ndim == 1
            if not whole or offsets.dtype.kind != "i" or offsets.shape != (record.rows + 1,):
                raise Damaged(f"{name} is no ragged array of {record.rows} rows")
            if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(values):
                raise Damaged(f"{name} has other rows than it says")
            continue
        if not isinstance(value, np.ndarray) or value.ndim != len(about.axes):
            raise Damaged(f"{name} is no array of its axes")
        if about.cell in _CELLS and value.dtype.kind != _CELLS[about.cell]:
            raise Damaged(f"{name} holds {value.dtype}")
        for axis, size in zip(about.axes, value.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise Damaged(f"{name} has {size} along {axis}")
        if about.cell in ("class", "truth") and value.size:
            most = 2 if about.cell == "truth" else None if record.classes is None else sizes["class"]
            if value.min() < -1 or (most is not None and value.max() >= most):
                raise Damaged(f"{name} holds numbers of no class")


def is_fitted(data: Any) -> bool:
    """Whether something is a fitted file (told by its ending), or a fitted object in memory.

    >>> is_fitted("model.oodo"), is_fitted("reference.csv")
    (True, False)
    """
    if isinstance(data, (str, PathLike)):
        return Path(data).suffix.lower() == ENDING
    return isinstance(data, FittedSource) or hasattr(data, "__fitted_reference__")


@contextmanager
def faults_of_fitted(reference: Any) -> Iterator[None]:
    """Inside, an error that nobody foresaw is one of a fitted file, where one is the reference.

    Its checksum says that it is whole, not that we wrote it: pieces of other kinds show where they are used.
    """
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:
        given = reference if isinstance(reference, (list, tuple)) else [reference]
        file = next((str(one) for one in given if isinstance(one, (str, PathLike)) and is_fitted(one)), None)
        if file is None:
            raise
        raise InputError(
            "a fitted file as `oodometer fit` writes it",
            got=f"one that cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())[:160]})",
            remedy="fit it again; if that changes nothing, run with --debug and report it",
            file=file,
        ) from error


class FittedSource(ReferenceSource):
    """What was learnt of a reference in the place of it: a fitted file's path, or a fitted object.

    Its rows are those that the file keeps, its counts those of all. Raises `InputError` for a file that is none.
    """

    def __init__(self, data: Any) -> None:
        is_path = isinstance(data, (str, PathLike))
        self.fitted: Fitted = Fitted.read_file(data) if is_path else data.__fitted_reference__()
        super().__init__(self.fitted.reference)
        self.path, self.name, self.encoding = self.fitted.file, self.fitted.name, self.fitted.encoding

    @property
    def axes(self) -> Axes:
        """Those of the reference as it was read."""
        assert self.fitted.axes is not None
        return self.fitted.axes

    def aligned(self, axes: Axes | None) -> RecordSource:
        """The same, where the order is its own; else its rows in the other order."""
        return self if axes is None or axes == self.axes else RecordSource(self.record).aligned(axes)
