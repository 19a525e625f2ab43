"""Many files: the files of a folder, a pattern or a list read as one, each error in the file it is in."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..errors import InputError
from ..fields import FIELDS
from ..plain import Json, Plain, Strings
from .base import no_rows
from .columns import WIDE
from .files import ENDINGS, Stamp, format_of
from .places import is_remote, list_remote, look_at, split_query
from .predicates import may_match
from .scan import Piece, Reader
from .where import Condition, none_left

_HIDDEN = ("_", ".")  # what Spark and Hive leave beside the data: _SUCCESS, ._COPYING_, .crc
_NULL = "__HIVE_DEFAULT_PARTITION__"


def files_of(path: str) -> list[str] | None:
    """The files of a folder, or those that a pattern matches (``**``: folders in folders), sorted; None for a single
    file. Hidden names (``_`` and ``.``) are left out, in a folder what has no known ending too.
    """
    if is_remote(path):
        files = _remote_files(path)
        return None if files is None else _one_format(files, path)
    if os.path.isdir(path):
        return _one_format([file for file in read_once(_below_folder(path)) if _ending(file)], path)
    if os.path.exists(path) or not has_magic(path):
        return None
    folders = path.split(os.sep)
    magic = next(i for i, name in enumerate(folders) if has_magic(name))
    root, pattern = os.sep.join(folders[:magic]), folders[magic:]
    if "**" in folders:  # not `glob`, which follows a link to where it lies again and again
        start = root or ("/" if magic else ".")
        files = [
            file
            for file in _below_folder(start)
            if _matches(os.path.relpath(file, start).split(os.sep), pattern)
        ]
    else:
        files = sorted(filter(os.path.isfile, _below(glob(path), root)))
    return _one_format(read_once(files), path)


def _remote_files(path: str) -> list[str] | None:
    """The files of a folder of an object store, or those that a pattern matches; None for a single file."""
    # only * is magic, a question mark begins what is said of the store
    bare, mark, query = split_query(path)
    parts = bare.split("/")
    magic = next((i for i, part in enumerate(parts) if "*" in part), None)
    if magic is not None:
        base = "/".join(parts[:magic])
        pattern = [re.sub(r"([?[])", r"[\1]", part) for part in parts]
        files = _below(list_remote(f"{base}{mark}{query}"), base)
        return [file for file in files if _matches(_bare(file).split("/"), pattern)]
    if not bare.endswith("/") and look_at(path) is not None:
        return None
    return [file for file in _below(list_remote(path), bare) if _ending(file)]


def _below_folder(root: str) -> list[str]:
    """The files below a folder, sorted; a folder that links lead to a second time is gone through once, and named."""
    seen: dict[tuple[int, int], str] = {}
    files: list[str] = []
    links, linked = [root], []

    def entered(folder: str) -> bool:
        about = os.stat(folder)
        first = seen.setdefault((about.st_dev, about.st_ino), folder)
        if first == folder:
            return True
        linked.append(folder)
        loop = (
            Path(os.path.realpath(first))
            in Path(os.path.realpath(os.path.dirname(folder)), "x").parents
        )
        if not loop and partition_of(f"{folder}/x") != partition_of(f"{first}/x"):
            raise _two_names(folder, first)
        return False

    while links:  # what folders hold themselves comes before what is linked from them
        start = links.pop(0)
        if not entered(start):
            continue
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
            links += [
                path for name in folders if os.path.islink(path := os.path.join(folder, name))
            ]
            real = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
            folders[:] = [name for name in real if entered(os.path.join(folder, name))]
            paths = [os.path.join(folder, name) for name in names if not name.startswith(_HIDDEN)]
            files += filter(os.path.isfile, paths)
    if linked:
        more = f" and {len(linked) - 1} more" if len(linked) > 1 else ""
        what = "a link to a folder that is read already; its files are read once"
        warnings.warn(f"{linked[0]}{more}: {what}", stacklevel=2)
    return sorted(files)


def _matches(names: list[str], pattern: list[str]) -> bool:
    """Whether the names of a path are those of a pattern, in which ``**`` stands for any number of folders."""
    if not pattern or (not names and pattern != ["**"]):
        return not names and not pattern
    if pattern[0] == "**":
        return _matches(names, pattern[1:]) or (bool(names) and _matches(names[1:], pattern))
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])


def read_once(files: Sequence[str]) -> list[str]:
    """The files without further names of the same one (links, hard links), with a warning; `InputError` where its
    folders say another thing of it by each name.
    """
    first: dict[Any, str] = {}
    again = []
    for path in files:
        key: Any = path
        if not is_remote(path) and os.path.exists(path) and (about := os.stat(path)).st_ino:
            key = about.st_dev, about.st_ino
        if key not in first:
            first[key] = path
            continue
        if partition_of(path) != partition_of(first[key]):
            raise _two_names(path, first[key])
        again.append((path, first[key]))
    if again:
        more = f" ({len(again)} such names in all)" if len(again) > 1 else ""
        warnings.warn(
            f"{again[0][0]} and {again[0][1]} are one file, which is read once{more}", stacklevel=2
        )
    return list(first.values())


def _two_names(path: str, first_path: str) -> InputError:
    return InputError(
        f"what folders say of {first_path}",
        got="another thing, though it is the same by a link",
        file=path,
        remedy="remove the link, or name those that belong by a pattern",
    )


def _below(paths: Iterable[str], base: str) -> list[str]:
    """Paths of which no name below ``base`` is hidden."""
    hidden = re.compile(rf"(^|[/{re.escape(os.sep)}])[_.]")
    return [path for path in paths if not hidden.search(path.removeprefix(base.rstrip("/")))]


def _bare(path: str) -> str:
    return split_query(path)[0] if is_remote(path) else path


def _ending(path: str) -> bool:
    return any(part in ENDINGS for part in PurePosixPath(_bare(path).lower()).suffixes[-2:])


def _one_format(files: list[str], path: str) -> list[str]:
    if not files:
        endings = f" ({', '.join(ENDINGS)})"
        what = (
            "a file that the pattern matches"
            if has_magic(path)
            else f"predictions files in the folder{endings}"
        )
        raise InputError(what, got="none", remedy="check the path and the endings", file=path)
    forms: dict[str, list[str]] = {}
    for file in files:
        forms.setdefault(format_of(Path(_bare(file))), []).append(file)
    if len(forms) > 1:
        first = next(iter(forms.values()))[0]
        got = ", ".join(f"{len(files)} {form}" for form, files in forms.items())
        remedy = f"name those that belong together, such as '{path.rstrip('/')}/**/*{Path(_bare(first)).suffix}'"
        raise InputError("files of one format", got=got, remedy=remedy, file=path)
    return files


def partition_of(path: str) -> dict[str, str | None]:
    """What the folders of a path say of its rows, as Hive and Spark write it: ``day=2026-11-24/site=A``."""
    folders = _bare(path).replace(os.sep, "/").split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder.strip("="))
    return {name: None if value == _NULL else unquote(value) for name, _, value in pairs if name}


# files whose heads are read side by side: an object store answers each after some time
_AT_ONCE = 16
_FEW = 8


class _File(NamedTuple):
    """A file that was opened, what its folders say, and the columns of both."""

    reader: Reader
    stamp: Stamp
    folders: Plain
    columns: Plain

    @property
    def axes(self) -> Json:
        """The names along each axis that the file states."""
        return {"classes": self.reader.classes, **self.reader.stated_names}


def open_files(
    paths: Sequence[str],
    name: str,
    opener: Callable[[str], tuple[Reader, Stamp]],
    requested: Collection[str] = (),
    where: Sequence[Condition] = (),
) -> tuple[str, list[Piece], Strings]:
    """Files as one: ``name`` of them all, a piece for each that has rows, the columns of all, with the folders'
    ``name=value``. Files whose folders say that ``where`` holds of no row are not opened.
    """
    files = _opened(paths, opener, where)
    if not files:
        raise none_left(where, name, f" in {len(paths)} files, by the names of their folders")
    _warn_of_two(files)
    first = files[0]
    for file in files[1:]:
        # every file has the columns that count: a missing class or label would otherwise become a hole
        _check_columns(file, first, requested)
        _check_columns(first, file, requested)
        _check_cells_and_names(file, first)
    pieces = [
        Piece(
            file.reader,
            {name: file.folders[name] for name in file.folders if name not in file.reader.columns},
            stamp=file.stamp,
        )
        for file in files
        if file.reader.rows != 0
    ]
    if not pieces:
        raise no_rows(name)
    columns = [name for name in first.columns if all(name in file.columns for file in files)]
    return name, pieces, tuple(columns)


def _opened(
    paths: Sequence[str],
    opener: Callable[[str], tuple[Reader, Stamp]],
    where: Sequence[Condition],
) -> list[_File]:
    """The files whose folders do not say that ``where`` holds of no row; all, where files say themselves what their
    folders say.
    """
    folders = _folder_values(paths)
    matching = [i for i, values in enumerate(folders) if may_match(where, values)]
    settled = {condition.column for condition in where}.intersection(*folders)
    opened: list[tuple[Reader, Stamp]] = []
    # where none is left, the first may have a column of its own
    with suppress(*(() if matching else (InputError,))):
        chosen = [paths[i] for i in matching or [0]]
        opened = _in_threads(opener, chosen) if len(chosen) > _FEW else list(map(opener, chosen))
    if len(matching) < len(paths) and any(settled & set(reader.columns) for reader, _ in opened):
        matching, opened = list(range(len(paths))), _in_threads(opener, paths)
    if not matching:
        return []
    return [
        _File(reader, stamp, folders[i], dict.fromkeys((*reader.columns, *folders[i])))
        for i, (reader, stamp) in zip(matching, opened, strict=True)
    ]


def _folder_values(paths: Sequence[str]) -> list[Json]:
    """What the folders of each file say; whole numbers where all say one."""
    folders: list[Json] = [dict(partition_of(path)) for path in paths]
    for name in folders[0]:
        values = [folder.get(name) for folder in folders]
        if all(value and value.isdecimal() and str(int(value)) == value for value in values):
            for folder in folders:
                folder[name] = int(folder[name])
    return folders


def _check_columns(file: _File, reference: _File, requested: Collection[str]) -> None:
    """Raise `InputError` where a file lacks a column of another one that counts."""
    missing = [
        name
        for name in reference.columns
        if name not in file.columns
        and (name in FIELDS or name in requested or name.startswith(tuple(WIDE)))
    ]
    if missing:
        raise InputError(
            f"the columns of the other files, such as {reference.reader.file}",
            got=f"no {', '.join(missing[:4])}" + (" and more" if len(missing) > 4 else ""),
            column=missing[0],
            file=file.reader.file,
            remedy="write all files with the same columns, or name those that have them by a pattern",
        )


def _check_cells_and_names(file: _File, first: _File) -> None:
    """Raise `InputError` where a file writes numbers in another way than the first, or names another axis."""
    reader, example = file.reader, first.reader.file
    if reader.comma != first.reader.comma:
        expected, remedy = f"numbers written as in {example}", "write all files in one way"
        raise InputError(expected, got="another decimal sign", file=reader.file, remedy=remedy)
    for axis in ["classes", *sorted({*first.axes, *file.axes} - {"classes"})]:
        first_names, got = (
            ", ".join(map(str, (axes.get(axis) or ("none",))[:12]))
            for axes in (first.axes, file.axes)
        )
        if first_names != got:
            expected = f"the names of {axis} as in {example} ({first_names})"
            remedy = "write all files with the same names in the same order"
            raise InputError(expected, got=got, file=reader.file, remedy=remedy)


def _in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, items))


def _warn_of_two(files: Sequence[_File]) -> None:
    """A warning that names the first file with a column that says another thing than its folder of the same name."""
    both = [
        (file.reader, name, value)
        for file in files
        for name, value in file.folders.items()
        if name in file.reader.columns
    ]

    def contradiction(entry: tuple[Reader, str, Any]) -> str | None:
        reader, name, value = entry
        try:
            cells = next(iter(reader.tables({name: "raw"}, 1024))).column(name).to_pylist()
        except (InputError, StopIteration):  # told when it is read
            return None
        for cell in (str(cell) for cell in cells if cell is not None):
            if cell.startswith(str(value)) and (
                cell == str(value) or len(str(value)) >= len("2026-11-24")
            ):
                continue  # as the folder says, or a time on that day
            with suppress(TypeError, ValueError):
                if float(cell) == float(value):
                    continue  # in other letters of a number
            return repr(cell)
        return None

    wrong = [
        (*entry, cell)
        for entry, cell in zip(both, _in_threads(contradiction, both), strict=True)
        if cell is not None
    ]
    if wrong:
        reader, name, value, cell = wrong[0]
        more = f" (so do {len(wrong) - 1} more files)" if len(wrong) > 1 else ""
        text = f"the folder says {name}={value} and the column {name} says {cell}{more}; the column counts"
        warnings.warn(f"{reader.file}: {text}", stacklevel=2)
