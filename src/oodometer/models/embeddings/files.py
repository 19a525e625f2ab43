"""Word vectors from files: word2vec (binary or text) and GloVe text, plain, .gz or .zip, by path or hub name."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from ...arrays import Array
from ...errors import InputError, MissingExtraError
from ..hub import from_hub
from .base import WordVectors


def read_vectors(source: str | os.PathLike[str], *, only: Collection[str] | None = None) -> WordVectors:
    """Read the vectors of the words in ``only`` (by default all) from a file, or from ``hub:owner/name/file``.

    A file of word2vec starts with the number of words and of dimensions; its name ends in ``.bin`` where the vectors
    are binary. A file of GloVe has a word and its numbers on each line. ``.gz`` and ``.zip`` (one file inside) are read
    as they are. A word in ``only`` that is not in the file in lower case takes the vector of its capitalised form.

    Raises `InputError` for a file that is not there or is cut off, `WorkError` where the hub cannot be reached.
    """
    name = str(source)
    path = _from_hub(name.removeprefix("hub:")) if name.startswith("hub:") else Path(source)
    if not path.is_file():
        raise InputError(
            "a file of word vectors", got="no such file", remedy="download it or name another", file=str(path)
        )
    wanted = None if only is None else set(only) | {word.capitalize() for word in only}
    inner, stream = _open(path)
    found: dict[str, Array] = {}
    with stream:
        for word, vector in _entries(stream, inner, path):
            if (wanted is None or word in wanted) and word not in found:
                found[word] = vector
    if not found:
        raise InputError("vectors of some of the words", got="none", remedy="check the file", file=str(path))
    chosen: dict[str, Array] = {}
    for word in found if only is None else only:
        vector_of = found.get(word, found.get(word.capitalize()))
        if vector_of is not None:
            chosen[word] = vector_of
    return WordVectors(tuple(chosen), np.stack(list(chosen.values())).astype(np.float32))


def _open(path: Path) -> tuple[str, IO[bytes]]:
    """Name without compression, and the bytes."""
    if path.suffix == ".gz":
        return path.stem, cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(path)
        inside = [one for one in archive.namelist() if not one.endswith("/")]
        if len(inside) != 1:
            raise InputError("one file in the archive", got=str(len(inside)), remedy="unpack it", file=str(path))
        return inside[0], archive.open(inside[0])
    return path.name, path.open("rb")


def _entries(stream: IO[bytes], name: str, path: Path) -> Iterator[tuple[str, Array]]:
    first = stream.readline()
    head = first.split()
    if len(head) == 2 and all(part.isdigit() for part in head):
        count, dimensions = map(int, head)
        if name.endswith(".bin"):
            yield from _binary(stream, count, dimensions, path)
            return
    else:
        dimensions = 0
        yield from _lines([first], path, dimensions)
        dimensions = len(head) - 1
    yield from _lines(stream, path, dimensions)


def _binary(stream: IO[bytes], count: int, dimensions: int, path: Path) -> Iterator[tuple[str, Array]]:
    size = 4 * dimensions
    for row in range(1, count + 1):
        letters = bytearray()
        while (letter := stream.read(1)) not in (b" ", b""):
            if letter != b"\n":
                letters += letter
        content = stream.read(size)
        if len(content) < size:
            raise InputError(
                f"{count} vectors", got=str(row - 1), remedy="download the file again", file=str(path), row=row
            )
        yield letters.decode("utf-8", "replace"), np.frombuffer(content, dtype="<f4")


def _lines(lines: Any, path: Path, dimensions: int) -> Iterator[tuple[str, Array]]:
    for row, line in enumerate(lines, 1):
        parts = line.rstrip().split(b" ")
        size = dimensions or len(parts) - 1
        # Some entries of GloVe hold spaces, so the numbers are counted from the end.
        try:
            vector = np.array(parts[-size:], dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if size < 2 or len(parts) <= size or len(vector) != size:
            raise InputError(
                f"a word and {size} numbers",
                got=repr(line[:40].decode("utf-8", "replace")),
                remedy="download the file again",
                file=str(path),
                row=row,
            )
        yield b" ".join(parts[:-size]).decode("utf-8", "replace"), vector


def _from_hub(name: str) -> Path:
    """Download ``owner/name/file`` into the cache of the hub's own library."""
    from ...errors import UsageError, WorkError

    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise MissingExtraError("a download from the hub", "huggingface_hub", extra="hf") from error
    parts = name.split("/", 2)
    if len(parts) != 3:
        raise UsageError(f"expected hub:owner/name/file, got hub:{name}")
    try:
        return Path(hf_hub_download("/".join(parts[:2]), parts[2], **from_hub()))
    except Exception as error:  # no network, no such file: many classes, one remedy
        raise WorkError(
            f"cannot download {name} from the hub ({type(error).__name__}); download the file and give its path"
        ) from error
