"""Shift image: a folder of images or an NPZ file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...arrays import Array
from ...datasets.images import decode_image, image_files
from ...datasets.reading import ArrayExamples, Columns
from ...engines import run_tasks, task_engine
from ...errors import InputError, UsageError
from ...options import verb
from ...results.shifting import Shifting
from ...shifts import IMAGE_SHIFTS, ImageShift, find_image_shift
from ...shifts.image.filters import pillow_image
from ...store import together, write_atomic, write_result
from ...store.artifact_cache import content_of
from ...version import __version__
from ..model_options import ShiftImageOptions
from .job import MANIFEST, Job, filling, manifest, outcome

STRETCH = 64  # images of a task
_BYTES = 2**25  # of pixels that are held at once
_LOSSLESS = {".png": "PNG", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF", ".ppm": "PPM", ".webp": "WEBP"}
Skipped = tuple[tuple[str, str], ...]


def shift_folder(job: Job) -> tuple[int, Skipped, list[tuple[Path, Path]]]:
    """Shift a folder; rows of a copy, what was left out, and the place and manifest of each copy."""
    files = image_files(job.source)
    names = written_names([one.relative_to(job.source) for one in files])
    stamp = [[str(one), content_of(one)] for one in files]
    fingerprint = job.fingerprint(stamp)
    skipped: Skipped = ()
    with filling(job.out, fingerprint, job.about) as (part, run):
        job = replace(job, run=run)
        made = _folder_in_tasks(job, files, names, part) if job.engine is not None else {}
        for number, (shift, severity) in enumerate(job.shifts):
            place = job.folder(part, shift, severity)
            done = number * len(files)
            if (place / MANIFEST).is_file():
                before = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
                skipped = tuple((one["name"], one["why"]) for one in before["skipped"])
            else:
                skipped = made[number] if number in made else _shift_all(job, number, files, names, place)
                if len(skipped) == len(files):
                    got = f"{len(files)} files, of which none decodes"
                    raise InputError("images", got=got, remedy="check what wrote them", file=str(job.source))
                told = manifest(
                    job,
                    shift,
                    severity,
                    fingerprint,
                    len(files) - len(skipped),
                    skipped,
                    files="the names of the source; JPEG and GIF as PNG, all without loss",
                )
                write_atomic(place / MANIFEST, told)
            job.tell(done + len(files), len(job.shifts) * len(files))
            job.finished(done + len(files), len(job.shifts) * len(files))
    places = [job.folder(job.out, shift, severity) for shift, severity in job.shifts]
    return len(files) - len(skipped), skipped, [(one, one / MANIFEST) for one in places]


def written_names(names: Sequence[Path]) -> list[Path]:
    """Name of each image as written: its own where that format keeps every pixel, else with the ending .png.

    >>> [one.as_posix() for one in written_names([Path("cat/1.jpg"), Path("cat/2.png"), Path("3.gif"), Path("3.PNG")])]
    ['cat/1.png', 'cat/2.png', '3.gif.png', '3.PNG']
    """
    kept = {str(one).lower() for one in names if one.suffix.lower() in _LOSSLESS}
    out = []
    for one in names:
        name = one
        if one.suffix.lower() not in _LOSSLESS:
            name = one.with_suffix(".png")
            if str(name).lower() in kept:  # another image of that name
                name = one.with_name(f"{one.name}.png")
            kept.add(str(name).lower())
        out.append(name)
    return out


@dataclass(frozen=True)
class _Stretch:
    """Part of a copy: which one, where it goes, and its images by row, file and name as written."""

    number: int
    place: Path
    first: int
    files: tuple[Path, ...]
    names: tuple[Path, ...]


@dataclass(frozen=True)
class _FolderTask:
    """Shifts a stretch, on whatever machine; gives the copy it is of and what did not decode."""

    job: Job

    def __call__(self, stretch: _Stretch) -> tuple[int, Skipped]:
        return stretch.number, _shift_stretch(self.job, stretch, lambda row, many: None)


def _folder_in_tasks(job: Job, files: Sequence[Path], names: Sequence[Path], part: Path) -> dict[int, Skipped]:
    """Shift the copies that are not there yet, a stretch of images a task; what each leaves out, by its number."""
    assert job.engine is not None
    stretches = []
    for number, (shift, severity) in enumerate(job.shifts):
        place = job.folder(part, shift, severity)
        if not (place / MANIFEST).is_file():
            for first in range(0, len(files), STRETCH):
                some = slice(first, first + STRETCH)
                stretches.append(_Stretch(number, place, first, tuple(files[some]), tuple(names[some])))
    done = len(job.shifts) * len(files) - sum(len(one.files) for one in stretches)

    def tell(stretch: _Stretch) -> None:
        nonlocal done
        done += len(stretch.files)
        job.tell(done, len(job.shifts) * len(files))
        job.finished(done, len(job.shifts) * len(files), len(stretch.files))

    skipped: dict[int, Skipped] = {}
    for number, some_skipped in run_tasks(job.engine, _FolderTask(job.sent), stretches, on_done=tell):
        skipped[number] = skipped.get(number, ()) + some_skipped
    return skipped


def _shift_all(job: Job, number: int, files: Sequence[Path], names: Sequence[Path], place: Path) -> Skipped:
    """Shift all images of a copy in this process."""
    before, total = number * len(files), len(job.shifts) * len(files)
    whole = _Stretch(number, place, 0, tuple(files), tuple(names))

    def tell(row: int, many: int) -> None:
        job.tell(before + row + 1, total)
        job.finished(before + row + 1, total, many)

    return _shift_stretch(job, whole, tell)


def _shift_stretch(job: Job, stretch: _Stretch, tell: Callable[[int, int], None]) -> Skipped:
    """Shift every image of a stretch that is not there yet; what does not decode is left out, or refused."""
    shift, severity = job.shifts[stretch.number]
    skipped: list[tuple[str, str]] = []
    for rows, images in _decoded(job, stretch, skipped):
        for row, image in zip(rows, _shifted(shift, images, severity, job.seed, rows), strict=True):
            _write(image, stretch.place / stretch.names[row - stretch.first])
        tell(rows[-1], len(rows))
    return tuple(skipped)


def _decoded(job: Job, stretch: _Stretch, skipped: list[tuple[str, str]]) -> Iterator[tuple[list[int], list[Array]]]:
    """Images that are not written yet with their rows, as many at once as fit into so much memory."""
    rows: list[int] = []
    images: list[Array] = []
    size = 0
    for row, (file, name) in enumerate(zip(stretch.files, stretch.names, strict=True), stretch.first):
        if (stretch.place / name).is_file():
            continue
        try:
            image = decode_image(file)
        except ValueError as error:
            if not job.skip:
                raise InputError(
                    "an image",
                    got=str(error),
                    remedy="mend it, or leave such images out with --on-error skip",
                    file=str(file),
                ) from error
            skipped.append((file.relative_to(job.source).as_posix(), str(error)))
            continue
        rows.append(row)
        images.append(image)
        size += image.nbytes
        if size >= _BYTES:
            yield rows, images
            rows, images, size = [], [], 0
    if rows:
        yield rows, images


def _shifted(shift: ImageShift, images: list[Array], severity: int, seed: int, rows: list[int]) -> list[Array]:
    """Runs of neighbouring rows go through the shift together."""
    out: list[Array] = []
    first = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at] != rows[at - 1] + 1:
            out += shift.apply(images[first:at], severity, seed=seed, first_row=rows[first])
            first = at
    return out


def _write(image: Array, path: Path) -> None:
    """Write one image without loss; it appears whole or not at all."""
    how = _LOSSLESS[path.suffix.lower()]
    more: dict[str, Any] = {"lossless": True} if how == "WEBP" else {}
    packed = io.BytesIO()
    pillow_image("writing images").fromarray(image).save(packed, how, **more)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")  # of this name alone, so that none is left when the job goes on
    beside.write_bytes(packed.getvalue())
    os.replace(beside, path)


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
