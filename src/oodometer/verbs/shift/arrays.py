"""Arrays: the images of an NPZ file shifted into another, everything else in it carried along."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...datasets.reading import ArrayExamples, Columns
from ...engines import run_tasks
from ...errors import InputError, UsageError
from ...shifts import ImageShift
from ...store import together, write_atomic, write_result
from .job import MANIFEST, Job, filling, manifest

_VALUES = 2**24  # pixel values that are shifted and written at once


def shift_arrays(job: Job, name: str | None) -> tuple[int, tuple[()], list[tuple[Path, Path]]]:
    """Shift an NPZ file; rows of a copy, nothing left out, and the place and manifest of each copy."""
    if not job.source.is_file() or job.source.suffix.lower() != ".npz":
        other = f"a file that ends in {job.source.suffix or 'nothing'}"
        raise InputError(
            "a folder of images or an NPZ file",
            got=other if job.source.exists() else "no such file",
            remedy="put images into a folder" if job.source.exists() else "check the path",
            file=str(job.source),
        )
    if not job.several and job.out.suffix.lower() != ".npz":
        raise UsageError(f"cannot write {job.out}: the shifted copy of an NPZ file is one; end the name in .npz")
    examples = _examples(job.source, name)
    _check_images(job, examples)
    fingerprint = job.fingerprint(examples.stamp)
    rows = len(examples.arrays[examples.input])
    if job.several:
        with filling(job.out, fingerprint, job.about) as (part, run):
            before = _there(job, part)
            if job.engine is not None:
                _in_tasks(replace(job, run=run), name, part, examples.stamp, rows)
            for number in range(len(job.shifts)):
                _write_copy(job, examples, part, number)
                if job.engine is None:
                    run.tell(number + 1, len(job.shifts), int(number not in before))
        homes = [job.folder(job.out, shift, severity) for shift, severity in job.shifts]
        return rows, (), [(home / job.source.name, home / MANIFEST) for home in homes]
    ((shift, severity),) = job.shifts
    beside = job.out.with_suffix(f".{MANIFEST}")
    with together():
        write_result(job.out, _copy(job, shift, severity, examples, 0))
        write_result(beside, _told(job, shift, severity, fingerprint, examples))
    return rows, (), [(job.out, beside)]


@dataclass(frozen=True)
class _Task:
    """Shifts one copy of the arrays, on whatever machine, which reads them itself."""

    job: Job
    name: str | None
    part: Path
    stamp: Any

    def __call__(self, number: int) -> None:
        _write_copy(self.job, _opened(str(self.job.source), self.name, repr(self.stamp)), self.part, number)


def _in_tasks(job: Job, name: str | None, part: Path, stamp: Any, rows: int) -> None:
    """Write the copies that are not there yet, one a task."""
    assert job.engine is not None
    there, every = _there(job, part), len(job.shifts)
    done = iter(range(len(there) + 1, every + 1))

    def tell(_: int) -> None:
        copies = next(done)
        job.tell(copies * rows, every * rows)
        job.finished(copies, every, worked=1)

    rest = [number for number in range(every) if number not in there]
    run_tasks(job.engine, _Task(job.sent, name, part, stamp), rest, on_done=tell)


def _there(job: Job, part: Path) -> set[int]:
    """The copies that an earlier run has finished."""
    return {i for i, (s, severity) in enumerate(job.shifts) if (job.folder(part, s, severity) / MANIFEST).is_file()}


@lru_cache(maxsize=1)
def _opened(source: str, name: str | None, stamp: str) -> ArrayExamples:
    """The arrays, read once by a worker that shifts several copies; ``stamp`` tells a file from a later one."""
    return _examples(Path(source), name)


def _examples(source: Path, name: str | None) -> ArrayExamples:
    return ArrayExamples(source, ["image", "table", "text"], Columns((name,) if name else ()))


def _write_copy(job: Job, examples: ArrayExamples, part: Path, number: int) -> None:
    """Write a copy and, last, its manifest, where it is not there yet."""
    shift, severity = job.shifts[number]
    home = job.folder(part, shift, severity)
    if (home / MANIFEST).is_file():
        return
    home.mkdir(exist_ok=True)
    write_atomic(home / job.source.name, _copy(job, shift, severity, examples, number))
    write_atomic(home / MANIFEST, _told(job, shift, severity, job.fingerprint(examples.stamp), examples))


def _told(job: Job, shift: ImageShift, severity: int, fingerprint: str, examples: ArrayExamples) -> str:
    rows = len(examples.arrays[examples.input])
    return manifest(job, shift, severity, fingerprint, rows, (), array=examples.input, carried=list(examples.arrays))


def _check_images(job: Job, examples: ArrayExamples) -> None:
    held = examples.arrays[examples.input]
    grey_or_colour = held.ndim == 3 or (held.ndim == 4 and held.shape[-1] in (1, 3))
    if held.dtype != np.uint8 or not grey_or_colour or 0 in held.shape:
        raise InputError(
            "an array of uint8 images, shape (sample, height, width, 3) or (sample, height, width)",
            got=f"{held.dtype} of shape {held.shape}",
            column=examples.input,
            remedy="name the array of images with --input",
            file=str(job.source),
        )


def _copy(job: Job, shift: ImageShift, severity: int, examples: ArrayExamples, number: int) -> Any:
    """What writes the NPZ file: the shifted images, part by part, then the other arrays as they are."""
    images = examples.arrays[examples.input]
    step = max(1, _VALUES // int(np.prod(images.shape[1:])))

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as packed:
            with packed.open(f"{examples.input}.npy", "w", force_zip64=True) as member:
                header = {"descr": "|u1", "fortran_order": False, "shape": images.shape}
                np.lib.format.write_array_header_1_0(member, header)
                for start in range(0, len(images), step):
                    part = images[start : start + step]
                    shifted = shift.apply(part, severity, seed=job.seed, first_row=start)
                    member.write(shifted.tobytes())
                    done = number * len(images) + start + len(part)
                    job.tell(done, len(job.shifts) * len(images))
            for name, array in examples.arrays.items():
                if name != examples.input:
                    with packed.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)

    return write
