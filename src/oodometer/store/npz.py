"""NPZ: arrays by name, read in ranges of rows straight from the archive; pickled objects are refused."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from threading import Lock
from typing import IO, Any

import numpy as np
import pyarrow as pa

from ..arrays import Array, as_numpy
from ..classes import ClassNames, named_classes
from ..errors import InputError
from ..fields import FIELDS
from ..plain import Strings
from .base import rows_of_a_part
from .cells import check_axes, column_of, sample_axis
from .columns import AXES, Kind, Layout, offsets_of
from .files import check_unpacked, translated
from .places import local_copy
from .scan import Reader
from .where import Condition

_HEADER = 1 << 17  # bytes; headers of arrays are shorter
_PIECE = 1 << 20
_sound: set[tuple[Any, ...]] = set()  # arrays whose checksum was right
_summing = Lock()
_NAMES = ("classes", *(f"names_{axis}" for axis in AXES.values()))
_APART = {*_NAMES, *(offsets_of(name) for name, field in FIELDS.items() if field.ragged)}


@dataclass(frozen=True, slots=True)
class Member:
    """One array of the archive, and where in the file its numbers start (None: packed)."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    start: int | None


@dataclass(frozen=True)
class NpzReader(Reader):
    """Rows ``first`` to ``first + rows`` of the arrays in an NPZ file."""

    file: str
    columns: Strings
    members: Mapping[str, Member]
    classes: ClassNames | None = None
    stated_names: Mapping[str, Strings] = field(default_factory=dict)
    rows: int | None = None
    first: int = 0
    # of flat ragged arrays: where each row starts
    offsets: Mapping[str, str] = field(default_factory=dict)
    form = "npz"
    binding = True

    @staticmethod
    def open(path: str) -> NpzReader:
        """Read the headers of the arrays, and the small arrays that name classes and models."""
        with (
            translated(path, "npz"),
            zipfile.ZipFile(local_copy(path)) as archive,
            open(local_copy(path), "rb") as raw,
        ):
            infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            # a name that is damaged in the list of files would hide an array
            for info in archive.infolist():
                archive.open(info).close()
            members = {info.filename[:-4]: _member(archive, info, raw, path) for info in infos}
        columns = tuple(info.filename[:-4] for info in infos if info.filename[:-4] not in _APART)
        reader = NpzReader(path, columns, members)
        with translated(path, "npz"):
            small = {name: reader._read_all(members[name]) for name in _NAMES if name in members}
        try:
            classes = named_classes(small.pop("classes")) if "classes" in small else None
        except InputError as error:
            raise error.at(file=path) from None
        names = {
            name.removeprefix("names_"): tuple(map(str, small[name].ravel().tolist()))
            for name in small
        }
        return replace(reader, classes=classes, stated_names=names)

    def bound(self, layout: Layout) -> Reader:
        """Check the axes against what the columns mean; the number of rows is known from here on."""
        rows: tuple[str, int] | None = None
        offsets = {
            feed.columns[0]: array
            for feed in layout.feeds.values()
            for array in (offsets_of(feed.columns[0]), offsets_of(feed.field))
            if feed.kind == "ragged"
            and array in self.members
            and len(self.members[array].shape) == 1
        }
        for name, about in FIELDS.items():
            if about.ragged and offsets_of(name) in self.members and name not in layout.feeds:
                expected, column = f"an array {name} beside its offsets", offsets_of(name)
                raise InputError(
                    expected,
                    got="none",
                    file=self.file,
                    column=column,
                    remedy="write the file again",
                )
        for name, kind in layout.kinds(layout.feeds.values()).items():
            if name not in self.members:  # said by a folder's name
                continue
            shape = self.members[name].shape
            if name in offsets:
                shape = (self.members[offsets[name]].shape[0] - 1,)
            elif kind == "ragged":
                shape = shape[:1] if len(shape) == 2 else ()
            check_axes(kind, len(shape), self.members[name].shape, name, self.file)
            length = shape[sample_axis(kind)]
            rows = rows or (name, length)
            if length != rows[1]:
                expected = f"{rows[1]} samples, as in {rows[0]}"
                raise InputError(
                    expected,
                    got=f"{length}",
                    file=self.file,
                    column=name,
                    remedy="align the arrays by sample",
                )
        return replace(self, rows=None if rows is None else rows[1], offsets=offsets)

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Ranges of rows as record batches; only the bytes of those rows are read, where the archive is not packed."""
        if self.rows is None:
            return
        with translated(self.file, self.form):
            for member in (self.members[n] for n in kinds):
                if member.start is not None:
                    _check_sum(self.file, member)
            starts = [self.offsets[n] for n in kinds if n in self.offsets]
            packed = [n for n in kinds if self.members[n].start is None]
            loaded = {n: self._read_all(self.members[n]) for n in (*packed, *starts)}
        with open(local_copy(self.file), "rb") as raw:
            for at in range(self.first, self.first + self.rows, rows):
                stop = min(at + rows, self.first + self.rows)
                try:
                    with translated(self.file, self.form):
                        columns = {
                            n: self._column(raw, loaded, n, kind, at, stop)
                            for n, kind in kinds.items()
                        }
                        batch = pa.record_batch(columns)
                except InputError as error:
                    raise error.at(row_offset=at - self.first) from None
                yield batch

    def holds_cells(self, column: str) -> bool:
        """Whether the array has one axis, the sample's."""
        return self.members[column].shape == (self.rows,)

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Ranges of ``target_rows`` rows."""
        total = self.rows or 0
        size = rows_of_a_part(target_rows, total)
        return [
            (replace(self, first=at, rows=min(size, total - at)), at)
            for at in range(0, total, size)
        ]

    def _read_all(self, member: Member) -> Array:
        name = f"{member.name}.npy"
        with zipfile.ZipFile(local_copy(self.file)) as archive, archive.open(name) as file:
            size = prod(member.shape) * member.dtype.itemsize
            check_unpacked(archive.getinfo(name).compress_size, size, self.file, member.name)
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def _column(
        self, raw: Any, loaded: Mapping[str, Array], name: str, kind: Kind, start: int, stop: int
    ) -> Any:
        if kind != "ragged":
            values = self._range(raw, loaded, name, sample_axis(kind), start, stop)
            return column_of(values, kind, name, "" not in (self.classes or ()))
        if name not in self.offsets:
            block = as_numpy(self._range(raw, loaded, name, 0, start, stop))  # rows padded with NaN
            real = ~np.isnan(block)
            return pa.LargeListArray.from_arrays(
                np.concatenate([[0], np.cumsum(real.sum(axis=1))]), block[real]
            )
        ends = loaded[self.offsets[name]][start : stop + 1].astype(np.int64)
        if not (
            ends[0] >= 0 and (np.diff(ends) >= 0).all() and ends[-1] <= self.members[name].shape[0]
        ):
            expected, column = f"rising offsets within {name}", self.offsets[name]
            raise InputError(
                expected, got="others", column=column, file=self.file, remedy="write the file again"
            )
        values = as_numpy(self._range(raw, loaded, name, 0, int(ends[0]), int(ends[-1])))
        return pa.LargeListArray.from_arrays(ends - ends[0], values)

    def _range(
        self, raw: Any, loaded: Mapping[str, Array], name: str, axis: int, start: int, stop: int
    ) -> Array:
        """Entries ``start`` to ``stop`` along one axis."""
        if name in loaded:
            return loaded[name][(slice(None),) * axis + (slice(start, stop),)]
        member = self.members[name]
        outer, inner = prod(member.shape[:axis]), prod(member.shape[axis + 1 :])
        pieces = [np.empty(0, member.dtype)]
        for block in range(outer):
            raw.seek(
                (member.start or 0)
                + (block * member.shape[axis] + start) * inner * member.dtype.itemsize
            )
            pieces.append(np.fromfile(raw, member.dtype, (stop - start) * inner))
        joined = pieces[1] if outer == 1 else np.concatenate(pieces)
        return joined.reshape((*member.shape[:axis], stop - start, *member.shape[axis + 1 :]))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, raw: IO[bytes], path: str) -> Member:
    """Read one array's header and check that its numbers are all there."""
    name = info.filename[:-4]
    fault = partial(InputError, file=path, column=name)
    with archive.open(info) as packed:
        file = io.BytesIO(packed.read(_HEADER))
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
        header = file.tell()
    if dtype.hasobject:
        raise fault(
            "an array of numbers or strings",
            got="Python objects (pickle)",
            remedy="pickle is never read, convert the array to numbers or text",
        )
    if info.file_size - header != prod(shape) * dtype.itemsize:
        raise fault(
            "a whole array",
            got=f"{info.file_size - header} bytes for shape {shape}",
            remedy="it may be damaged: write it again",
        )
    if fortran or info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        return Member(name, shape, dtype, None)
    raw.seek(info.header_offset)
    local = raw.read(30)
    skip = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    begin = info.header_offset + 30 + skip
    if begin + info.file_size > os.fstat(raw.fileno()).st_size:
        raise fault(
            "a whole array",
            got="a file that ends before it",
            remedy="it may be cut off: write it again",
        )
    return Member(name, shape, dtype, begin + header)


def _check_sum(path: str, member: Member) -> None:
    """The array's bytes are those that were written, summed once: ranges are read past the archive's own check."""
    copy = local_copy(path)
    about = os.stat(copy)
    key = (path, about.st_size, about.st_mtime_ns, about.st_ctime_ns, member.name)
    with _summing:  # several parts begin at once: one of them sums
        if key in _sound:
            return
        try:
            with zipfile.ZipFile(copy) as archive, archive.open(f"{member.name}.npy") as file:
                while file.read(_PIECE):
                    pass
        except (zipfile.BadZipFile, EOFError):
            got = "bytes with another checksum"
            remedy = "the file is damaged: copy or write it again"
            fault = InputError(
                "the array as it was written", got=got, file=path, column=member.name, remedy=remedy
            )
            raise fault from None
        if len(_sound) > 10_000:
            _sound.clear()
        _sound.add(key)


def write(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays, unpacked, so that ranges of rows can be read from the file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
