"""Shift image: a folder of images or an NPZ file in, one shifted copy for each kind and severity out."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from oodometer.arrays import Array
from oodometer.engines import Engine, run_tasks, task_engine
from oodometer.errors import InputError, UsageError
from oodometer.store import write_atomic
from oodometer.store.artifact_cache import checksum, content_of
from oodometer.version import __version__

from ...datasets.images import decode_image, image_files, pillow_image
from ...datasets.reading import LABELS, ArrayExamples, ExampleColumns
from ...results.shifting import ShiftedCopy, Shifting
from ...shifts import EXTRA_IMAGE_SHIFTS, IMAGE_SHIFTS, ImageShift, find_image_shift
from ..options import ShiftOptions
from .job import MANIFEST, FileJob, Job, deviations
from .severities import severities_by_kind, whole_severity

GROUPS = {"all": IMAGE_SHIFTS, "extra": EXTRA_IMAGE_SHIFTS}  # what stands for several kinds
LARGE = 100  # shorter side from which on the constants for 32 pixels are weak
STRETCH = 64  # images of a task
_BYTES = 2**25  # of pixels that are held at once
_VALUES = 2**24  # pixel values of an array that are shifted and written at once
_LOSSLESS = {
    ".png": "PNG",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".ppm": "PPM",
    ".webp": "WEBP",
}
Skipped = list[tuple[str, str]]


def _fingerprint(job: Job, stamp: Any) -> str:
    """A short name of source and settings: the same job writes the same pixels."""
    settings = {
        "source": stamp,
        "shifts": [[shift.name, shift.preset, severities] for shift, severities in job.copies],
    }
    settings |= {
        "seed": job.options.seed,
        "skip": job.options.on_error == "skip",
        "version": __version__,
    }
    return checksum(json.dumps(settings, sort_keys=True, default=str))


def _levels(severity: Any) -> tuple[int, ...]:
    """The severities of a copy: of one in the layout of CIFAR-10-C all."""
    return severity if isinstance(severity, tuple) else (severity,)


def _manifest(
    job: Job, number: int, fingerprint: str, rows: int, skipped: Skipped, **more: Any
) -> dict[str, Any]:
    """How a copy was made."""
    shift, severity = job.copies[number]
    constants = [shift.constants[level - 1] for level in _levels(severity)]
    return {
        "version": __version__,
        "command": job.command,
        "argv": job.options.argv,
        "source": str(job.source),
        "fingerprint": fingerprint,
        "kind": shift.name,
        "severity": severity,
        "preset": shift.preset,
        "constants": constants if isinstance(severity, tuple) else constants[0],
        "lengths": f"in pixels of an image whose shorter side is {shift.side}; multiplied by that side / {shift.side}",
        "deviation": shift.deviation,
        "citation": shift.citation,
        "seed": job.options.seed,
        "rows": rows,
        **more,
        "skipped": [{"name": name, "why": why} for name, why in skipped],
    }


def _as_text(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _Stretch:
    """Part of a copy: which one, where it goes, and its images by row, file and name as written."""

    number: int
    folder: Path
    first: int
    files: Sequence[Path]
    names: Sequence[Path]


@dataclass(eq=False)
class _FolderJob(Job):
    """Shifts a folder: a task shifts a stretch of images, on whatever machine, and gives what did not decode."""

    def __call__(
        self, stretch: _Stretch, tell: Callable[[int, int], None] = lambda row, worked: None
    ) -> Skipped:
        """Shift every image of a stretch that is not there yet, neighbours together; what does not decode is left out,
        or refused.
        """
        shift, severity = self.copies[stretch.number]
        skipped: Skipped = []
        rows: list[int] = []
        images: list[Array] = []

        def write() -> None:
            if rows:
                shifted = shift.apply(images, severity, seed=self.options.seed, first_row=rows[0])
                for row, image in zip(rows, shifted, strict=True):
                    _write(image, stretch.folder / stretch.names[row - stretch.first])
                tell(rows[-1] + 1, len(rows))
            rows.clear()
            images.clear()

        size = 0
        for row, (file, name) in enumerate(
            zip(stretch.files, stretch.names, strict=True), stretch.first
        ):
            if (stretch.folder / name).is_file():
                continue
            try:
                image = decode_image(file)
            except ValueError as error:
                if self.options.on_error != "skip":
                    remedy = "mend it, or leave such images out with --on-error skip"
                    raise InputError(
                        "an image", got=str(error), remedy=remedy, file=str(file)
                    ) from error
                skipped.append((file.relative_to(self.source).as_posix(), str(error)))
                continue
            if rows and row > rows[-1] + 1:
                write()
            rows.append(row)
            images.append(image)
            size += image.nbytes
            if size >= _BYTES:
                write()
                size = 0
        write()
        return skipped

    def last_manifest(self, engine: Engine | None) -> dict[str, Any]:
        """Write all copies; the manifest of the last."""
        files = image_files(self.source)
        names = written_names([file.relative_to(self.source) for file in files])
        fingerprint = _fingerprint(self, [[str(file), content_of(file)] for file in files])
        every, total = len(files), len(self.copies) * len(files)
        with self.filling(fingerprint) as kept:
            folders = [
                kept.path if self.alone else kept.path / self.name(n)
                for n in range(len(self.copies))
            ]
            size = every if engine is None else STRETCH
            stretches = [
                _Stretch(
                    number, folder, first, files[first : first + size], names[first : first + size]
                )
                for number, folder in enumerate(folders)
                if not (folder / MANIFEST).is_file()
                for first in range(0, every, size)
            ]
            done = total - sum(len(stretch.files) for stretch in stretches)
            skipped: dict[int, Skipped] = defaultdict(list)

            def tell(before: int, row: int, worked: int) -> None:
                self.tell(before + row, total)
                kept.tell(before + row, total, worked)

            def finished(stretch: _Stretch, more: Skipped) -> None:
                nonlocal done
                done += len(stretch.files)
                skipped[stretch.number] += more
                if stretch.first + len(stretch.files) == every:
                    left_out = skipped[stretch.number]
                    if len(left_out) == every:
                        got = f"{every} files, of which none decodes"
                        raise InputError(
                            "images", got=got, remedy="check what wrote them", file=str(self.source)
                        )
                    rule = "the names of the source; JPEG and GIF as PNG, all without loss"
                    rows = every - len(left_out)
                    manifest = _manifest(
                        self, stretch.number, fingerprint, rows, left_out, files=rule
                    )
                    write_atomic(stretch.folder / MANIFEST, _as_text(manifest))
                tell(done, 0, 0 if engine is None else len(stretch.files))

            if engine is not None:
                run_tasks(engine, self.sent, stretches, on_result=finished)
            for stretch in stretches if engine is None else ():
                finished(stretch, self(stretch, partial(tell, stretch.number * every)))
            tell(total, 0, 0)
            last: dict[str, Any] = json.loads((folders[-1] / MANIFEST).read_text(encoding="utf-8"))
        return last

    def paths(self, number: int) -> tuple[Path, Path]:
        """Where a copy and its manifest are in the end."""
        folder = self.out if self.alone else self.out / self.name(number)
        return folder, folder / MANIFEST

    def first_image(self) -> Array:
        """The first of the shifted images."""
        return decode_image(image_files(self.paths(0)[0])[0])


def written_names(names: Sequence[Path]) -> list[Path]:
    """Name of each image as written: its own where that format keeps every pixel, else with the ending .png."""
    lossless = {str(path).lower() for path in names if path.suffix.lower() in _LOSSLESS}
    out = []
    for path in names:
        name = path
        if path.suffix.lower() not in _LOSSLESS:
            name = path.with_suffix(".png")
            if str(name).lower() in lossless:  # another image of that name
                name = path.with_name(f"{path.name}.png")
            lossless.add(str(name).lower())
        out.append(name)
    return out


def _write(image: Array, path: Path) -> None:
    """Write one image without loss; it appears whole or not at all."""
    how = _LOSSLESS[path.suffix.lower()]
    more: dict[str, Any] = {"lossless": True} if how == "WEBP" else {}
    packed = io.BytesIO()
    pillow_image("writing images").fromarray(image).save(packed, how, **more)
    path.parent.mkdir(parents=True, exist_ok=True)
    # of this name alone, so that none is left when the job goes on
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(packed.getvalue())
    os.replace(beside, path)


@dataclass(eq=False)
class _ArrayJob(FileJob):
    """Shifts an array of an NPZ file; the others are carried along, or the labels in the layout of CIFAR-10-C."""

    @cached_property
    def examples(self) -> ArrayExamples:
        """The arrays of the source."""
        named = self.options.input
        return ArrayExamples(
            self.source, ["image", "table", "text"], ExampleColumns((named,) if named else ())
        )

    @cached_property
    def fingerprint(self) -> str:
        """As of a folder."""
        return _fingerprint(self, self.examples.stamp)

    def paths_in(self, folder: Path, number: int) -> tuple[Path, Path]:
        """In a folder of its own; in the layout of CIFAR-10-C beside the others."""
        if self.layout:
            return (
                folder / f"{self.copies[number][0].name}.npy",
                folder / f"{self.copies[number][0].name}.{MANIFEST}",
            )
        return folder / self.name(number) / self.source.name, folder / self.name(number) / MANIFEST

    def last_manifest(self, engine: Engine | None) -> dict[str, Any]:
        """Write all copies; the manifest of the last."""
        return self.run(engine, unit=self.check())[-1]

    def first_image(self) -> Array:
        """The first of the images; shifted ones are as large."""
        image: Array = self.examples.arrays[self.examples.input][0]
        return image

    def check(self) -> int:
        """The number of images; `InputError` and `UsageError` where there are none, or the place is none for them."""
        source, exists = self.source, self.source.exists()
        if not source.is_file() or source.suffix.lower() != ".npz":
            got = f"a file that ends in {source.suffix or 'nothing'}" if exists else "no such file"
            remedy = "put images into a folder" if exists else "check the path"
            raise InputError(
                "a folder of images or an NPZ file", got=got, remedy=remedy, file=str(source)
            )
        if self.alone and self.out.suffix.lower() != ".npz":
            raise UsageError(
                f"cannot write {self.out}: the shifted copy of an NPZ file is one; end the name in .npz"
            )
        images = self.examples.arrays[self.examples.input]
        grey_or_colour = images.ndim == 3 or (images.ndim == 4 and images.shape[-1] in (1, 3))
        if images.dtype != np.uint8 or not grey_or_colour or 0 in images.shape:
            raise InputError(
                "an array of uint8 images, shape (sample, height, width, 3) or (sample, height, width)",
                got=f"{images.dtype} of shape {images.shape}",
                column=self.examples.input,
                remedy="name the array of images with --input",
                file=str(source),
            )
        if self.layout and self.examples.label is None:
            got, remedy = (
                f"the arrays {', '.join(self.examples.arrays)}",
                "add an array label, or leave --layout out",
            )
            raise InputError("labels beside the images", got=got, remedy=remedy, file=str(source))
        return len(images)

    def stream(self, number: int, file: IO[bytes]) -> None:
        """Write the images of an NPY file, part by part, one severity after another."""
        shift, images = self.copies[number][0], self.examples.arrays[self.examples.input]
        levels = _levels(self.copies[number][1])
        step, total = max(1, _VALUES // int(np.prod(images.shape[1:]))), len(levels) * len(images)
        header = {"descr": "|u1", "fortran_order": False, "shape": (total, *images.shape[1:])}
        np.lib.format.write_array_header_1_0(file, header)
        for at, start in np.ndindex(len(levels), -(-len(images) // step)):
            part = images[start * step : (start + 1) * step]
            file.write(
                shift.apply(
                    part, levels[at], seed=self.options.seed, first_row=start * step
                ).tobytes()
            )
            self.tell(
                number * total + at * len(images) + start * step + len(part),
                len(self.copies) * total,
            )

    def write(
        self, number: int, path: Path, beside: Path, write: Callable[[Path, Any], Any]
    ) -> dict[str, Any]:
        """Write the shifted images, part by part, then the other arrays as they are; then the manifest."""
        arrays, name = self.examples.arrays, self.examples.input

        def copy(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as packed:
                with packed.open(f"{name}.npy", "w", force_zip64=True) as member:
                    self.stream(number, member)
                for extra, array in arrays.items():
                    if extra != name:
                        with packed.open(f"{extra}.npy", "w", force_zip64=True) as member:
                            np.lib.format.write_array(member, array, allow_pickle=False)

        manifest = _manifest(
            self, number, self.fingerprint, len(arrays[name]), [], array=name, carried=list(arrays)
        )
        path.parent.mkdir(exist_ok=True)
        if self.layout:
            labels = np.tile(arrays[str(self.examples.label)], len(_levels(self.copies[number][1])))
            # as published
            small = labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < 256
            labels = labels.astype(np.uint8) if small else labels
            write(
                path.parent / LABELS,
                lambda file: np.lib.format.write_array(file, labels, allow_pickle=False),
            )
        write(path, partial(self.stream, number) if self.layout else copy)
        write(beside, _as_text(manifest))
        return manifest


def shift_images(options: ShiftOptions) -> Shifting:
    """Write the shifted copies of a folder of images, or of an NPZ file that holds images."""

    def made(name: str) -> ImageShift:
        """The shift of this name."""
        return find_image_shift(name, options.preset or "cifar-10-c")

    asked = severities_by_kind(
        options.kind, options.severity, GROUPS, lambda name: made(name).severities
    )
    by_shift = {made(name): tuple(map(whole_severity, levels)) for name, levels in asked.items()}
    shifts = list(by_shift)
    copies = _copies(by_shift, options.layout)
    engine = task_engine(options.engine, options.workers)
    folder = Path(options.data).is_dir()
    _check_form(options, folder)
    kind: type[_FolderJob | _ArrayJob] = _FolderJob if folder else _ArrayJob
    job = kind("shift image", options, copies)
    source, out = job.source.resolve(), job.out.resolve()
    overlaps = out == source or source in out.parents or out in source.parents
    job.check_out(f"it and {job.source} lie in one another" if overlaps else None)
    manifest = job.last_manifest(engine)
    copied = []
    for number, (shift, severity) in enumerate(copies):
        said = "1 to 5" if isinstance(severity, tuple) else severity
        copied.append(ShiftedCopy(shift.name, said, *map(str, job.paths(number))))
    return Shifting(
        version=__version__,
        command=job.command,
        data=str(job.source),
        seed=options.seed,
        rows=manifest["rows"],
        copies=tuple(copied),
        skipped=tuple((image["name"], image["why"]) for image in manifest["skipped"]),
        notes=notes_on(shifts, [job.first_image()], options.preset),
    )


def _copies(
    by_shift: Mapping[Any, Sequence[Any]], layout: str | None
) -> tuple[tuple[Any, Any], ...]:
    """Each shift with each of its severities, or with all of them where a layout puts them into one file."""
    pairs = [
        (shift, shift.check_severity(level))
        for shift, levels in by_shift.items()
        for level in levels
    ]
    if layout != "cifar-10-c":
        return tuple(dict.fromkeys(pairs))
    if any({*shift.severities} != {*levels} for shift, levels in by_shift.items()):
        raise UsageError(
            "a file of CIFAR-10-C holds severities 1 to 5; leave --severity out, or --layout"
        )
    return tuple((shift, shift.severities) for shift in by_shift)


def _check_form(options: ShiftOptions, folder: bool) -> None:
    """Raise `UsageError` for a layout, or an array, of the other form than the data, a folder or a file."""
    if folder and options.input is not None:
        raise UsageError(
            "input names an array of an NPZ file, and this is a folder of images; leave it out"
        )
    layout = options.layout
    if layout is None or folder is (layout == "imagenet-c") or not Path(options.data).exists():
        return
    form = "a file, which needs --layout cifar-10-c"
    if folder:
        form = "a folder, which needs --layout imagenet-c"
    raise UsageError(f"{options.data} is {form}; write that, or leave --layout out")


def notes_on(shifts: Sequence[Any], images: Sequence[Array], preset: str | None) -> tuple[str, ...]:
    """What differs from the published form of each kind, and that large images got the constants of small ones."""
    large = [image.shape for image in images if preset is None and min(image.shape[:2]) >= LARGE]
    text = "pixels with constants made for 32: --preset imagenet-c has those for 224"
    return (*deviations(shifts), *(f"{height} x {width} {text}" for height, width, *_ in large))
