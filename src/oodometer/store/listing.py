"""Listing: the files that a folder, a glob pattern or a list of paths means, and the partition that each is in."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from ..errors import InputError
from .files import ENDINGS, format_of
from .places import Found, is_remote, list_remote, look_at, path_of, split_query

_HIDDEN = ("_", ".")  # what Spark and Hive leave beside the data: _SUCCESS, ._COPYING_, .crc
_NULL = "__HIVE_DEFAULT_PARTITION__"


def files_of(path: str) -> list[str] | None:
    """The files of a folder and the folders in it, or those that a pattern matches, sorted; None for a single file.

    Names that begin with ``_`` or ``.`` are left out, in a folder also what has no known ending. ``*`` and ``?`` stay
    within one name, ``**`` means folders in folders. Raises `InputError` for a folder without predictions, for a
    pattern that matches nothing, and for files of several formats.

    >>> import tempfile
    >>> place = tempfile.mkdtemp()
    >>> for name in ("b.csv", "a.csv", "_SUCCESS", "notes.md"):
    ...     _ = Path(place, name).write_text("confidence\\n0.5\\n")
    >>> [os.path.basename(file) for file in files_of(place)]
    ['a.csv', 'b.csv']
    >>> files_of(os.path.join(place, "a.csv")) is None
    True
    """
    path = path_of(path)
    if is_remote(path):
        return _remote(path)
    if os.path.isdir(path):
        return _one_format([file for file in read_once(_below_folder(path)) if _ending(file)], path)
    if os.path.exists(path) or not has_magic(path):
        return None
    folders = path.split(os.sep)
    magic = next(i for i, name in enumerate(folders) if has_magic(name))
    root = os.sep.join(folders[:magic]) or ("/" if magic else ".")
    if "**" in folders:  # not `glob`, which follows a link to where it lies again and again
        pattern = folders[magic:]
        found = [one for one in _below_folder(root) if _matches(os.path.relpath(one, root).split(os.sep), pattern)]
    else:
        below = [(one, os.path.relpath(one, root).split(os.sep)) for one in glob(path)]
        found = sorted(one for one, names in below if not any(map(_hidden, names)) and os.path.isfile(one))
    return _one_format(read_once(found), path)


def _hidden(name: str) -> bool:
    return name.startswith(_HIDDEN)


def _below_folder(root: str) -> list[str]:
    """The files below a folder, sorted; a folder that links lead to a second time is gone through once, and named."""
    seen: dict[tuple[int, int], str] = {}
    files, links, linked = [], [root], []

    def entered(folder: str) -> bool:
        about = os.stat(folder)
        first = seen.setdefault((about.st_dev, about.st_ino), folder)
        if first == folder:
            return True
        linked.append(folder)
        loop = Path(os.path.realpath(first)) in Path(os.path.realpath(os.path.dirname(folder)), "x").parents
        if not loop and partition_of(f"{folder}/x") != partition_of(f"{first}/x"):
            raise _two_names(folder, first)
        return False

    while links:  # what folders hold themselves comes before what is linked from them
        start = links.pop(0)
        if not entered(start):
            continue
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not _hidden(name))
            links += [one for name in folders if os.path.islink(one := os.path.join(folder, name))]
            real = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
            folders[:] = [name for name in real if entered(os.path.join(folder, name))]
            files += [one for name in names if not _hidden(name) and os.path.isfile(one := os.path.join(folder, name))]
    if linked:
        more = f" and {len(linked) - 1} more" if len(linked) > 1 else ""
        warnings.warn(
            f"{linked[0]}{more}: a link to a folder that is read already; its files are read once", stacklevel=2
        )
    return sorted(files)


def _matches(names: list[str], pattern: list[str]) -> bool:
    """Whether the names of a path are those of a pattern with ``**``."""
    if not pattern or (not names and pattern != ["**"]):
        return not names and not pattern
    if pattern[0] == "**":
        return _matches(names, pattern[1:]) or (bool(names) and _matches(names[1:], pattern))
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])


def read_once(files: Sequence[str]) -> list[str]:
    """The files without further names of the same one (links, hard links), with a warning that names the first.

    Raises `InputError` where its folders say another thing of it by each name.
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
        warnings.warn(f"{again[0][0]} and {again[0][1]} are one file, which is read once{more}", stacklevel=2)
    return list(first.values())


def _two_names(path: str, other: str) -> InputError:
    return InputError(
        f"what folders say of {other}",
        got="another thing, though it is the same by a link",
        file=path,
        remedy="remove the link, or name those that belong by a pattern",
    )


def _remote(url: str) -> list[str] | None:
    """As `files_of`, of an object store: only ``*`` is magic, a question mark begins what is said of the store."""
    bare, mark, query = split_query(url)
    parts = bare.split("/")
    magic = next((i for i, part in enumerate(parts) if "*" in part), None)
    if magic is None:
        if not bare.endswith("/") and look_at(url) is not None:
            return None
        found = _below(list_remote(url), bare)
        return _one_format([one for one in found if _ending(one)], url)
    base = "/".join(parts[:magic])
    pattern = re.compile(_regex(bare))
    found = _below(list_remote(f"{base}{mark}{query}"), base)
    matching = [one for one in found if pattern.fullmatch(split_query(one)[0])]
    return _one_format(matching, url)


def _regex(pattern: str) -> str:
    """A pattern with ``*`` and ``**`` as a regular expression over whole paths.

    >>> bool(re.fullmatch(_regex("s3://b/**/x*.csv"), "s3://b/1/2/x1.csv"))
    True
    >>> bool(re.fullmatch(_regex("s3://b/*.csv"), "s3://b/1/x1.csv"))
    False
    """
    names = (re.escape(name).replace(r"\*", "[^/]*") + "/" for name in pattern.split("/"))
    return "".join(names).replace("[^/]*[^/]*/", "(?:[^/]+/)*").removesuffix("/")


def _below(found: Iterable[Found], base: str) -> list[str]:
    """URLs of which no name below ``base`` is hidden."""
    cut = len(base.rstrip("/")) + 1
    return [one.url for one in found if not any(part.startswith(_HIDDEN) for part in one.url[cut:].split("/"))]


def _bare(path: str) -> str:
    return split_query(path)[0] if is_remote(path) else path


def _ending(path: str) -> bool:
    return any(part in ENDINGS for part in PurePosixPath(_bare(path).lower()).suffixes[-2:])


def _one_format(found: list[str], path: str) -> list[str]:
    if not found:
        known = f" ({', '.join(ENDINGS)})"
        what = "a file that the pattern matches" if has_magic(path) else f"predictions files in the folder{known}"
        raise InputError(what, got="none", remedy="check the path and the endings", file=path)
    forms: dict[str, list[str]] = {}
    for one in found:
        forms.setdefault(format_of(Path(_bare(one))), []).append(one)
    if len(forms) > 1:
        first = next(iter(forms.values()))[0]
        raise InputError(
            "files of one format",
            got=", ".join(f"{len(files)} {form}" for form, files in forms.items()),
            remedy=f"name those that belong together, such as '{path.rstrip('/')}/**/*{Path(_bare(first)).suffix}'",
            file=path,
        )
    return found


def partition_of(path: str) -> dict[str, str | None]:
    """What the folders of a path say of its rows, as Hive and Spark write it: ``day=2026-11-24/site=A``.

    >>> partition_of("lake/day=2026-11-24/site=S%C3%BCd/part-0.parquet")
    {'day': '2026-11-24', 'site': 'Süd'}
    """
    folders = _bare(path).replace(os.sep, "/").split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder.strip("="))
    return {name: None if value == _NULL else unquote(value) for name, _, value in pairs if name}
