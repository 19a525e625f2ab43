"""Tagging: sentences with a part of speech for each word, from the Wall Street Journal to Brown, from web to genres."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from .base import Dataset, Row, split_by_group
from .files import read_objects
from .folder import data_folder
from .hub import hub_rows, without_hub
from .universal import from_brown, from_penn

CORPORA, TREEBANKS = "pos_wsj_brown_etc.jsonl.xz", "ud_pos.jsonl.xz"
SHARES = (0.7, 0.1, 0.2)  # of the documents of the Wall Street Journal's sample: training, development, test
_UD_HUB = {"ewt": "en_ewt", "gum": "en_gum"}


def wsj_tags(split: str, seed: int = 0) -> Dataset:
    """Sentences with the twelve universal tags: ``train``, ``dev`` and ``test`` of the WSJ, ``brown``, ``masc``.

    Training sentences are 70 % of the documents of the WSJ sample of the Penn Treebank, and CoNLL-2000's training set
    (other sections of the WSJ; its tags were made by a tagger, not by hand). ``dev`` and ``test`` are 10 % and 20 % of
    the sample's documents, tagged by hand. ``brown`` has the Brown corpus by genre, its tags mapped as Penn would have
    them; ``masc`` has MASC, written and spoken.

    Read from ``pos_wsj_brown_etc.jsonl.xz``. Raises `UsageError` for another split.
    """
    if split not in ("train", "dev", "test", "brown", "masc"):
        raise UsageError(f"expected train, dev, test, brown or masc, got {split!r}")
    path = _path(CORPORA, "the Brown corpus and the WSJ sample with tags")
    if split in ("brown", "masc"):
        return Dataset.of_rows(split, _corpora(path)[split], path.name)
    sample = _corpora(path)["wsj_sample"]
    documents = [name.rsplit("/", 1)[0] for *_, name in sample]
    parts = split_by_group(Dataset.of_rows("wsj", sample, path.name), documents, SHARES, seed)
    found = parts[("train", "dev", "test").index(split)]
    return found + Dataset.of_rows("wsj", _corpora(path)["conll2000_train"], path.name) if split == "train" else found


def ud_tags(treebank: str, splits: Sequence[str] = ("train", "dev", "test")) -> Dataset:
    """Sentences with Universal Dependencies' seventeen tags: treebank ``ewt``, ``gum`` or ``gentle``; types are genres.

    Read from ``ud_pos.jsonl.xz`` or the hub's ``universal-dependencies/universal_dependencies``, where genres are not
    told (the type is then the treebank's name).

    Source: Nivre et al. (2020).
    """
    folder = data_folder()
    if folder is None:
        return _ud_from_hub(treebank, splits)
    path = folder / TREEBANKS
    rows = [row for name, split, row in _treebanks(path) if name == treebank and split in splits]
    return Dataset.of_rows(treebank, rows, path.name)


def _path(name: str, what: str) -> Path:
    folder = data_folder()
    if folder is None:
        raise without_hub(what, name)
    return folder / name


@cache
def _corpora(path: Path) -> dict[str, list[Row]]:
    """Rows of each corpus, tags mapped."""
    found: dict[str, list[Row]] = {"wsj_sample": [], "conll2000_train": [], "brown": [], "masc": []}
    for row, one in read_objects(path, "corpus", "genre", "tok", "tag"):
        corpus = str(one["corpus"])
        if corpus not in found:
            continue
        words, tags = _pair(one, "tag", path, row)
        mapped = (
            [from_brown(tag, word) for tag, word in zip(tags, words, strict=True)]
            if corpus == "brown"
            else [from_penn(tag) for tag in tags]
        )
        name = f"{one.get('doc', corpus)}/{one.get('i', row)}"
        found[corpus].append((" ".join(words), " ".join(mapped), str(one["genre"]), name))
    return found


@cache
def _treebanks(path: Path) -> list[tuple[str, str, Row]]:
    """Treebank, split and row."""
    found = []
    for row, one in read_objects(path, "treebank", "split", "genre", "tok", "upos"):
        words, tags = _pair(one, "upos", path, row)
        entry = (" ".join(words), " ".join(tags), str(one["genre"]), str(one.get("id", row)))
        found.append((str(one["treebank"]), str(one["split"]), entry))
    return found


def _pair(one: dict[str, Any], column: str, path: Path, row: int) -> tuple[list[str], list[str]]:
    words, tags = str(one["tok"]).split(), str(one[column]).split()
    if not words or len(words) != len(tags):
        raise InputError(
            "as many tags as words",
            got=f"{len(words)} words and {len(tags)} tags",
            remedy="fetch the file again",
            file=str(path),
            row=row,
        )
    return words, tags


def _ud_from_hub(treebank: str, splits: Sequence[str]) -> Dataset:
    if treebank not in _UD_HUB:
        raise without_hub(f"the treebank {treebank}", TREEBANKS)
    source = "universal-dependencies/universal_dependencies"
    rows: list[Row] = []
    for split in splits:
        found = hub_rows(source, "validation" if split == "dev" else split, _UD_HUB[treebank])
        names = found.features["upos"].feature.names
        for i, one in enumerate(found):
            tags = " ".join(names[tag] for tag in one["upos"])
            rows.append((" ".join(one["tokens"]), tags, treebank, f"{split}/{i}"))
    return Dataset.of_rows(treebank, rows, source)
