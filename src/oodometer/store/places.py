"""Places: where a file lies, on this machine or in an object store, and how its bytes are reached."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import InputError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_QUERY = re.compile(r"\?([A-Za-z_]+=[^?]*)$")
_DENIED = (
    "ACCESS_DENIED",
    "AccessDenied",
    "Forbidden",
    "403",
    "Permission denied",
    "InvalidAccessKeyId",
)
_ABSENT = ("NO_SUCH_BUCKET", "NoSuchBucket", "does not exist", "NOT_FOUND", "No such file")
_REMEDY = {
    "permission denied": "check the keys and what they may read (s3: AWS_ACCESS_KEY_ID, AWS_PROFILE)",
    "no such bucket": "check its name, and the endpoint (s3: AWS_ENDPOINT_URL)",
}


def is_remote(path: str) -> bool:
    """Whether a path is a URL of another place than this machine."""
    return _URL.match(path) is not None and not path.lower().startswith("file://")


def split_query(url: str) -> tuple[str, str, str]:
    """A URL and what is said of its store (``?region=eu``); any other question mark is one of a name."""
    match = _QUERY.search(url)
    return (url, "", "") if match is None else (url[: match.start()], "?", match[1])


def path_of(path: str) -> str:
    """The path that a ``file://`` URL means; any other path as it is."""
    if not path.lower().startswith("file://"):
        return path
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(path).path)


@lru_cache(maxsize=64)
def _file_system(scheme: str, host: str, query: str) -> tuple[Any, str]:
    """The file system of URLs of one bucket or host, and what their paths begin with there."""
    import pyarrow as pa
    import pyarrow.fs as pafs

    begin = f"{scheme}://{host}"
    try:
        return pafs.FileSystem.from_uri(f"{begin}{query}")  # type: ignore[no-any-return]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        try:
            from fsspec.core import url_to_fs

            files, root = url_to_fs(f"{begin}/")
            return pafs.PyFileSystem(pafs.FSSpecHandler(files)), root.rstrip("/")
        except (ImportError, ValueError) as other:
            reason = " ".join(
                str(other if "rotocol" in str(other) or "nstall" in str(other) else error).split()
            )[:200]
            expected = (
                "a URL that pyarrow or fsspec can read, such as s3://, gs://, hdfs:// or abfs://"
            )
            remedy = (
                f"pip install the library of fsspec for {scheme}://, or name a file of this machine"
            )
            raise InputError(expected, got=f"{begin} ({reason})", remedy=remedy) from None


def reached(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there; a query (``?endpoint_override=...``) is about the file system."""
    bare, _, query = split_query(url)
    scheme, _, rest = bare.partition("://")
    host, _, path = rest.partition("/")
    with _as_input_error(url):
        files, root = _file_system(scheme.lower(), host, f"?{query}" if query else "")
    return files, f"{root.rstrip('/')}/{path}" if path else root


@contextmanager
def _as_input_error(url: str) -> Iterator[None]:
    """What file systems raise as one `InputError`."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        text = " ".join(str(error).split())
        got = next(
            (
                g
                for g, marks in zip(_REMEDY, (_DENIED, _ABSENT), strict=True)
                if any(mark in text for mark in marks)
            ),
            None,
        )
        got = "permission denied" if isinstance(error, PermissionError) else got
        got = got or (text if len(text) <= 200 else text[:197] + "...")
        raise InputError(
            "a place that can be read",
            got=got,
            remedy=_REMEDY.get(got or "", "check the URL and the connection"),
            file=url,
        ) from error


def look_at(url: str) -> tuple[int, int] | None:
    """Size in bytes and time of change in nanoseconds of the file at a URL; None where there is none, or a folder."""
    import pyarrow.fs as pafs

    files, path = reached(url)
    with _as_input_error(url):
        info = files.get_file_info(path)
    return (
        (int(info.size or 0), int(info.mtime_ns or 0)) if info.type == pafs.FileType.File else None
    )


def list_remote(url: str) -> list[str]:
    """The URLs of all files below one, sorted; none where nothing is there."""
    import pyarrow.fs as pafs

    files, path = reached(url)
    bare, mark, query = split_query(url)
    bucket = path.partition("/")[0]
    with _as_input_error(url):
        infos = files.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
        if not infos and bucket and files.get_file_info(bucket).type == pafs.FileType.NotFound:
            raise OSError(_ABSENT[0])
    cut = len(path.rstrip("/")) + 1
    names = [info.path[cut:] for info in infos if info.type == pafs.FileType.File]
    for name in names:
        if split_query(f"s3://{name}")[1]:
            expected = "a name without a question mark and what follows like `?region=eu`, which is said of the store"
            raise InputError(expected, got=repr(name), file=url, remedy="rename the object")
    return sorted(f"{bare.rstrip('/')}/{name}{mark}{query}" for name in names)


def open_remote(url: str) -> Any:
    """A file of an object store that can be read in any order."""
    files, path = reached(url)
    with _as_input_error(url):
        return files.open_input_file(path)


@lru_cache(maxsize=1)
def _copies() -> str:
    folder = tempfile.mkdtemp(prefix="oodometer-copies-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=256)
def _copied(url: str, size: int, changed: int) -> str:
    out = Path(tempfile.mkdtemp(dir=_copies())) / split_query(url)[0].rpartition("/")[2]
    with open_remote(url) as source, out.open("wb") as file, _as_input_error(url):
        shutil.copyfileobj(source, file, 1 << 22)
    return str(out)


def local_copy(path: str) -> str:
    """A path on this machine with the same bytes; a file of an object store is fetched once in each process."""
    if not is_remote(path):
        return path
    about = look_at(path)
    if about is None:
        raise InputError("a file", got="no such file", remedy="check the URL", file=path)
    if os.path.exists(copy := _copied(path, *about)):
        return copy
    _copied.cache_clear()
    return _copied(path, *about)
