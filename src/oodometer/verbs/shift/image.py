"""Shift image: a folder of images or an NPZ file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...engines import task_engine
from ...errors import UsageError
from ...options import verb
from ...results.shifting import Shifting
from ...shifts import IMAGE_SHIFTS, ImageShift, find_image_shift
from ...version import __version__
from ..model_options import ShiftImageOptions
from .arrays import shift_arrays
from .folder import shift_folder
from .job import Job, outcome

ALL = "all"


@verb(ShiftImageOptions)
def shift_image(options: ShiftImageOptions) -> Shifting:
    """Write shifted copies of a folder of images, or of an NPZ file that holds images.

    Images of a folder keep their relative names. PNG, BMP, TIFF, PPM and WebP stay what they are, without loss; JPEG
    and GIF, which would lose some of the shift, become PNG. Each copy has a manifest in JSON. The result appears whole
    or not at all; a folder that was interrupted goes on where it ended. Raises `InputError` for what cannot be read,
    `UsageError` for a kind or a severity that there is not and for a place that is taken.

    >>> import tempfile, numpy as np
    >>> home = Path(tempfile.mkdtemp())
    >>> np.savez(home / "a.npz", image=np.full((4, 8, 8, 3), 100, np.uint8), label=np.arange(4))
    >>> found = shift_image(home / "a.npz", kind="brightness", severity=2, out=home / "b.npz")
    >>> with np.load(home / "b.npz") as shifted:
    ...     shifted["image"].max(), shifted["label"].tolist()
    (np.uint8(125), [0, 1, 2, 3])
    """
    source = Path(options.data)
    job = Job(
        source=source,
        out=Path(options.out),
        shifts=_asked(options.kind, options.severity),
        seed=options.seed,
        skip=options.on_error == "skip",
        argv=options.argv,
        progress=options.progress,
        engine=task_engine(options.engine, options.workers),
    )
    _check_out(job)
    if source.is_dir():
        if options.input is not None:
            raise UsageError("input names an array of an NPZ file, and this is a folder of images; leave it out")
        return outcome(job, *shift_folder(job), __version__)
    return outcome(job, *shift_arrays(job, options.input), __version__)


def _asked(kind: str | Sequence[str], severity: Any) -> tuple[tuple[ImageShift, int], ...]:
    """Every pair of a kind and a severity, each once; `UsageError` where there is none such."""
    names = [kind] if isinstance(kind, str) else list(kind)
    names = list(dict.fromkeys(one for name in names for one in (IMAGE_SHIFTS if name == ALL else (name,))))
    levels = list(severity) if isinstance(severity, (list, tuple, range)) else [severity]
    if not names or not levels:
        raise UsageError("expected a kind of shift and a severity; name both, such as --kind fog --severity 3")
    shifts = [find_image_shift(name) for name in names]
    return tuple(dict.fromkeys((shift, shift.check_severity(one)) for shift in shifts for one in levels))


def _check_out(job: Job) -> None:
    """Say before the work that the place is taken, or cannot be written."""
    source, out = job.source.resolve(), job.out.resolve()
    if out == source or source in out.parents or out in source.parents:
        raise UsageError(f"cannot write {job.out}: it and {job.source} lie in one another; choose another place")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {job.out}: there is no folder {job.out.parent}; make it first")
    taken = any(out.iterdir()) if out.is_dir() else out.exists()
    if taken:
        raise UsageError(f"cannot write {job.out}: it is there already and not empty; choose another place")
