"""Listing: the files that a folder, a glob pattern or a list of paths means, and the partition that each is in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import escape, glob, has_magic
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ..errors import InputError
from .files import ENDINGS, format_of
from .places import Found, is_remote, list_remote, look_at, path_of

__all__ = ["files_of", "partition_of"]

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
        found = _visible(glob(os.path.join(escape(path), "**"), recursive=True, include_hidden=False), path)
        return _one_format([file for file in found if _ending(file)], path)
    if os.path.exists(path) or not has_magic(path):
        return None
    folders = path.split(os.sep)
    magic = next(i for i, name in enumerate(folders) if has_magic(name))
    found = _visible(glob(path, recursive=True), os.sep.join(folders[:magic]) or ("/" if magic else "."))
    return _one_format(found, path)


def _remote(url: str) -> list[str] | None:
    """As `files_of`, of an object store: only ``*`` is magic, a question mark begins what is said of the store."""
    bare, mark, query = url.partition("?")
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
    matching = [one for one in found if pattern.fullmatch(one.partition("?")[0])]
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


def _visible(found: Iterable[str], root: str) -> list[str]:
    below = [(one, os.path.relpath(one, root)) for one in found]
    shown = [one for one, name in below if not any(part.startswith(_HIDDEN) for part in name.split(os.sep))]
    return sorted(one for one in shown if os.path.isfile(one))


def _bare(path: str) -> str:
    return path.partition("?")[0] if is_remote(path) else path


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
