"""HANS: premises that hold every word of their hypothesis and often do not entail it, from a folder or the hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset
from .files import read_lines
from .folder import data_folder
from .hub import hub_rows

HANS_HEURISTICS = ("lexical_overlap", "subsequence", "constituent")
_HEADS = ("split", "label", "premise", "hypothesis", "heuristic", "subcase")
_LABELS = {"entailment": 1, "non-entailment": 0}
_SPLITS = {"train": "train", "eval": "validation"}  # as the hub calls them
_FILE = "hans_regen.tsv.xz"


def hans(split: str, heuristic: str | None = None) -> Dataset:
    """Pairs of premise and hypothesis; 1 entailment, 0 none. The type is the subcase, which settles the label.

    Parameters
    ----------
    split :
        ``train`` or ``eval``.
    heuristic :
        ``lexical_overlap``, ``subsequence`` or ``constituent``; None for all three.

    Read from ``hans_regen.tsv.xz`` (split, label, premise, hypothesis, heuristic, subcase by tabs), which was made
    anew from the official templates, or the hub's ``jhu-cogsci/hans``. Raises `UsageError` for a split or heuristic
    that there is not, `InputError` for a damaged file.

    Source: McCoy et al. (2019).

    >>> hans("dev")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected the split train or eval, got 'dev'
    """
    if split not in _SPLITS:
        raise UsageError(f"expected the split train or eval, got {split!r}")
    if heuristic is not None and heuristic not in HANS_HEURISTICS:
        raise UsageError(f"expected a heuristic among {', '.join(HANS_HEURISTICS)}, got {heuristic!r}")
    folder = data_folder()
    rows = _of_hub(split) if folder is None else _of_file(folder / _FILE, split)
    kept = [row for row in rows if heuristic in (None, row[3])]
    name, source = f"HANS {heuristic or 'all'}, {split}", "jhu-cogsci/hans" if folder is None else _FILE
    if not kept:
        raise InputError(f"rows of {name}", got="none", remedy="fetch the file again", file=source)
    pairs, labels, types, _, ids = zip(*kept, strict=True)
    return Dataset(name, pairs, labels, types=types, ids=ids, source=source, modality="pair")


_Row = tuple[tuple[str, str], int, str, str, str]
"""Pair, label, subcase, heuristic, id."""


def _of_file(path: Path, split: str) -> Iterator[_Row]:
    lines = iter(read_lines(path))
    heads = next(lines, "").split("\t")
    if any(one not in heads for one in _HEADS):
        raise InputError(
            f"columns {', '.join(_HEADS)}", got=repr(heads)[:60], remedy="fetch the file again", file=str(path), row=1
        )
    at = {name: heads.index(name) for name in _HEADS}
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(heads) or cells[at["label"]] not in _LABELS:
            raise InputError(
                f"{len(heads)} cells by tabs, the label {' or '.join(_LABELS)}",
                got=repr(line[:40]),
                remedy="fetch the file again",
                file=str(path),
                row=number,
            )
        if cells[at["split"]] == split:
            pair = (cells[at["premise"]], cells[at["hypothesis"]])
            label = _LABELS[cells[at["label"]]]
            yield pair, label, cells[at["subcase"]], cells[at["heuristic"]], f"{split}-{number - 1}"


def _of_hub(split: str) -> Iterable[_Row]:
    for number, row in enumerate(hub_rows("jhu-cogsci/hans", _SPLITS[split]), 1):
        pair = (str(row["premise"]), str(row["hypothesis"]))
        yield pair, 1 - int(row["label"]), str(row["subcase"]), str(row["heuristic"]), f"{split}-{number}"
