"""Film reviews: IMDb and SST-2, from the folder OODOMETER_DATA or the hub."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset
from .files import read_lines
from .folder import data_folder
from .hub import hub_rows


def imdb(split: str) -> Dataset:
    """IMDb film reviews, ``train`` or ``test``, 25,000 each; 0 negative, 1 positive. Source: Maas et al. (2011).

    Read from ``imdb_<split>.jsonl.xz`` (`label`, `text`, `id`) or the hub's ``stanfordnlp/imdb``.
    """
    folder = data_folder()
    if folder is None:
        return _hub("imdb", "stanfordnlp/imdb", split, "text")
    path = folder / f"imdb_{split}.jsonl.xz"
    found: list[tuple[str, int, str]] = []
    for row, line in enumerate(read_lines(path), 1):
        try:
            plain = json.loads(line)
            found.append((str(plain["text"]), _label(plain["label"]), str(plain.get("id", row))))
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                "JSON with a text and a label 0 or 1",
                got=repr(line[:40]),
                remedy="fetch the file again",
                file=str(path),
                row=row,
            ) from error
    return _texts("imdb", found, path)


def sst2(split: str) -> Dataset:
    """SST-2 sentences of film reviews, ``train``, ``dev`` or ``test`` (1,821). Source: Socher et al. (2013).

    Read from ``sst_mr_cr_etc.tsv.xz`` (file, label, text by tabs; the files ``stsa.binary.*``) or the hub's
    ``SetFit/sst2``, whose test rows carry labels.
    """
    if split not in ("train", "dev", "test"):
        raise UsageError(f"expected train, dev or test, got {split!r}")
    folder = data_folder()
    if folder is None:
        return _hub("sst2", "SetFit/sst2", {"dev": "validation"}.get(split, split), "text")
    path = folder / "sst_mr_cr_etc.tsv.xz"
    wanted = f"stsa.binary.{split}"
    found: list[tuple[str, int, str]] = []
    for row, line in enumerate(read_lines(path), 1):
        parts = line.split("\t", 2)
        if parts[0] != wanted:
            continue
        try:
            found.append((parts[2], _label(parts[1]), f"{wanted}/{len(found)}"))
        except (ValueError, IndexError) as error:
            raise InputError(
                "file, label 0 or 1 and text by tabs",
                got=repr(line[:40]),
                remedy="fetch the file again",
                file=str(path),
                row=row,
            ) from error
    return _texts("sst2", found, path)


def _label(value: object) -> int:
    found = int(str(value))
    if found not in (0, 1):
        raise ValueError(found)
    return found


def _texts(name: str, found: list[tuple[str, int, str]], path: Path) -> Dataset:
    if len({label for _, label, _ in found}) < 2:
        raise InputError(
            f"rows of both classes of {name}", got=f"{len(found)} rows", remedy="fetch the file again", file=str(path)
        )
    texts, labels, ids = zip(*found, strict=True)
    return Dataset(name, texts, labels, ids=ids, source=path.name)


def _hub(name: str, source: str, split: str, column: str) -> Dataset:
    rows = hub_rows(source, split)
    ids = tuple(f"{split}/{i}" for i in range(len(rows)))
    targets = tuple(int(one) for one in rows["label"])
    return Dataset(name, tuple(rows[column]), targets, ids=ids, source=source)
