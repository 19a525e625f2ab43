"""The Penn Treebank as released: WSJ by section and the Brown corpus, as trees or as tags."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset
from .files import read_lines
from .folder import data_folder
from .hub import without_hub
from .trees import Tree, linearise, parse

HOME = "ptb"
SECTIONS = {"train": range(2, 22), "dev": range(22, 23), "test": range(23, 24)}


def penn_trees(split: str) -> Dataset:
    """Sentences and trees: WSJ ``train`` (sections 2 to 21), ``dev`` (22), ``test`` (23), and ``brown`` whole.

    The corpus is licensed and on no hub: put its ``.mrg`` files into the folder of OODOMETER_DATA as ``ptb/wsj/02/...``
    and ``ptb/brown/cf/...`` (capital letters as released will do). Types are ``news`` and Brown's parts (cf, cg, ...).

    Source: Marcus et al. (1993).
    """
    rows = [(" ".join(tree.words), linearise(tree), kind, name) for kind, name, tree in _trees(split)]
    return Dataset.of_rows("ptb", rows, HOME)


def penn_tags(split: str) -> Dataset:
    """Sentences and the Penn tag of each word; splits as in `penn_trees`."""
    rows = [(" ".join(tree.words), " ".join(tree.tags), kind, name) for kind, name, tree in _trees(split)]
    return Dataset.of_rows("ptb-pos", rows, HOME)


def _trees(split: str) -> list[tuple[str, str, Tree]]:
    if split not in (*SECTIONS, "brown"):
        raise UsageError(f"expected train, dev, test or brown, got {split!r}")
    folder = data_folder()
    if folder is None:
        raise without_hub("the Penn Treebank", f"its .mrg files, as {HOME}/wsj/ and {HOME}/brown/,")
    part = "brown" if split == "brown" else "wsj"
    files = [path for path in _files(folder / HOME) if part in (one.lower() for one in path.parts)]
    if split != "brown":
        wanted = {f"{section:02d}" for section in SECTIONS[split]}
        files = [path for path in files if path.parent.name in wanted]
    if not files:
        raise InputError(
            f"files .mrg of {part}",
            got="none",
            remedy=f"put the release into OODOMETER_DATA as {HOME}",
            file=str(folder / HOME),
        )
    return [found for path in files for found in _file(path, part)]


@cache
def _files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.suffix.lower() == ".mrg")


def _file(path: Path, part: str) -> list[tuple[str, str, Tree]]:
    """The trees of a file, each between two top brackets."""
    text = "\n".join(read_lines(path))
    kind = "news" if part == "wsj" else path.parent.name.lower()
    found: list[tuple[str, str, Tree]] = []
    depth = start = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 1 and match[0] == "(":
            start = match.start()
        if depth == 0:
            try:
                tree = parse(" ".join(text[start : match.end()].split()))
            except InputError as error:
                raise InputError(
                    error.expected, got=error.got, remedy=error.remedy, file=str(path), row=len(found) + 1
                ) from error
            found.append((kind, f"{path.stem.lower()}/{len(found)}", tree))
    return found
