"""Shift image: a folder of images or an NPZ file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...arguments import CHECKS, checked, one_of, texts_or_one
from ...engines import Engine, task_engine
from ...errors import UsageError
from ...results.shifting import Shifting
from ...shifts import IMAGE_SHIFTS, ImageShift, find_image_shift
from ...version import __version__
from .arrays import shift_arrays
from .folder import shift_folder
from .job import Job, outcome

ALL = "all"


def _whole_or_several(name: str, value: Any) -> Any:
    return value  # each shift says which severities it has


@checked(
    data=CHECKS["out"],
    kind=texts_or_one,
    severity=_whole_or_several,
    on_error=one_of("refuse", "skip"),
    input=CHECKS["metric"],
    argv=CHECKS["metric"],
)
def shift_image(
    data: str | os.PathLike[str],
    *,
    kind: str | Sequence[str],
    severity: int | Sequence[int],
    out: str | os.PathLike[str],
    seed: int = 0,
    on_error: str = "refuse",
    input: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    argv: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Shifting:
    """Write shifted copies of a folder of images, or of an NPZ file that holds images.

    Parameters
    ----------
    data :
        A folder of images, read and written a few at a time; or an NPZ file with an array of uint8 images, whose other
        arrays are carried along.
    kind, severity :
        What shift, one of ``oodometer.shifts.IMAGE_SHIFTS`` or "all", and how strong, 1 to 5; several give one copy for
        each pair.
    out :
        Where to: a folder that is empty or not there, or for one copy of an NPZ file a new .npz file. Several copies go
        into subfolders ``<kind>-<severity>``.
    seed :
        Of the draws; those of an image depend on the seed, the kind and the image's place alone.
    on_error :
        "refuse" or "skip" images that do not decode.
    input :
        Name of the array of images in an NPZ file; by default ``image``, ``img``, ``images``, ``x`` or ``X``.
    engine, workers :
        Stretches of a folder, or copies of an NPZ file, as tasks: "processes", "ray", "spark"; how many at a time. By
        default all in this process; the pixels are the same. Machines of a cluster must see ``data`` and ``out``.
    argv, progress :
        A command line to note in the manifest; called with (images done, images).

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
    source, place = Path(data), Path(out)
    job = Job(
        source=source,
        out=place,
        shifts=_asked(kind, severity),
        seed=seed,
        skip=on_error == "skip",
        argv=argv,
        progress=progress,
        engine=task_engine(engine, workers),
    )
    _check_out(job)
    if source.is_dir():
        if input is not None:
            raise UsageError("input names an array of an NPZ file, and this is a folder of images; leave it out")
        return outcome(job, *shift_folder(job), __version__)
    return outcome(job, *shift_arrays(job, input), __version__)


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
