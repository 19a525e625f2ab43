"""Texts for recipes: data sets by the folder OODOMETER_DATA, else from the hub; seeded samples of them."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, MissingExtraError, UsageError, WorkError
from .files import read_lines

__all__ = ["Texts", "data_folder", "imdb", "sst2"]


@dataclass(frozen=True)
class Texts:
    """Texts with their labels and ids; ``source`` says where they came from."""

    name: str
    texts: tuple[str, ...]
    labels: tuple[int, ...]
    ids: tuple[str, ...]
    source: str

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def fingerprint(self) -> str:
        """A short name of the content, whatever its source."""
        digest = hashlib.sha256()
        for text, label in zip(self.texts, self.labels, strict=True):
            digest.update(f"{label}\t{text}\n".encode())
        return digest.hexdigest()[:16]

    def sample(self, rows: int | None, seed: int) -> Texts:
        """``rows`` texts, as many of each class as can be, drawn and ordered by the seed; all of them for None.

        >>> few = Texts("toy", ("a", "b", "c", "d"), (0, 0, 1, 1), ("1", "2", "3", "4"), "here").sample(2, seed=0)
        >>> sorted(few.labels)
        [0, 1]
        """
        rng = np.random.default_rng(seed)
        if rows is None or rows >= len(self):
            chosen = rng.permutation(len(self))
        else:
            labels = np.array(self.labels)
            order = rng.permutation(len(self))
            found = labels[order]
            # The place of each row among the rows of its class: the first ones of every class make an even sample.
            place = np.empty(len(self), dtype=np.int64)
            for name in np.unique(labels):
                place[found == name] = np.arange(int((found == name).sum()))
            chosen = rng.permutation(order[np.argsort(place, kind="stable")[:rows]])
        picked = chosen.tolist()
        return Texts(
            self.name,
            tuple(self.texts[i] for i in picked),
            tuple(self.labels[i] for i in picked),
            tuple(self.ids[i] for i in picked),
            self.source,
        )


def data_folder() -> Path | None:
    """The folder named by OODOMETER_DATA, else ``../shared/data`` beside a checkout, else None: then the hub is asked.

    Raises `InputError` where OODOMETER_DATA names no folder.
    """
    named = os.environ.get("OODOMETER_DATA")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise InputError(
                "a folder of data sets in OODOMETER_DATA", got="no such folder",
                remedy="name the folder, or unset it to load from the hub", file=named,
            )  # fmt: skip
        return folder
    root = Path(__file__).resolve().parents[3]
    beside = root.parent / "shared" / "data"
    return beside if (root / "pyproject.toml").is_file() and beside.is_dir() else None


def imdb(split: str) -> Texts:
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
                "JSON with a text and a label 0 or 1", got=repr(line[:40]), remedy="fetch the file again",
                file=str(path), row=row,
            ) from error  # fmt: skip
    return _texts("imdb", found, path)


def sst2(split: str) -> Texts:
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
                "file, label 0 or 1 and text by tabs", got=repr(line[:40]), remedy="fetch the file again",
                file=str(path), row=row,
            ) from error  # fmt: skip
    return _texts("sst2", found, path)


def _label(value: object) -> int:
    found = int(str(value))
    if found not in (0, 1):
        raise ValueError(found)
    return found


def _texts(name: str, found: list[tuple[str, int, str]], path: Path) -> Texts:
    if len({label for _, label, _ in found}) < 2:
        raise InputError(
            f"rows of both classes of {name}",
            got=f"{len(found)} rows",
            remedy="fetch the file again",
            file=str(path),
        )
    texts, labels, ids = zip(*found, strict=True)
    return Texts(name, texts, labels, ids, path.name)


def _hub(name: str, source: str, split: str, column: str) -> Texts:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError("loading data from the hub", "datasets", extra="hf") from error
    try:
        rows = load_dataset(source, split=split)
    except Exception as error:  # no network, no such set: many classes, one remedy
        raise WorkError(
            f"cannot load {source} ({split}) from the hub ({type(error).__name__}); set OODOMETER_DATA to a folder "
            "that holds the data"
        ) from error
    ids = tuple(f"{split}/{i}" for i in range(len(rows)))
    return Texts(name, tuple(rows[column]), tuple(int(one) for one in rows["label"]), ids, source)
