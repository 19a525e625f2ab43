"""Folder: images of a folder shifted a few at a time into a folder of the same names."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...arrays import Array
from ...datasets.images import decode_image, image_files
from ...engines import run_tasks
from ...errors import InputError
from ...shifts import ImageShift
from ...shifts.image.filters import pillow_image
from ...store import write_atomic
from ...store.artifact_cache import content_of
from .job import MANIFEST, Job, filling, manifest

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
        made = _in_tasks(job, files, names, part) if job.engine is not None else {}
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
class _Task:
    """Shifts a stretch, on whatever machine; gives the copy it is of and what did not decode."""

    job: Job

    def __call__(self, stretch: _Stretch) -> tuple[int, Skipped]:
        return stretch.number, _shift_stretch(self.job, stretch, lambda row, many: None)


def _in_tasks(job: Job, files: Sequence[Path], names: Sequence[Path], part: Path) -> dict[int, Skipped]:
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
    for number, some_skipped in run_tasks(job.engine, _Task(job.sent), stretches, on_done=tell):
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
