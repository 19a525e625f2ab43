"""COGS: sentences with variable-free logical forms, and POS-COGS: the same sentences with a tag for each word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset, Row
from .files import read_member
from .folder import data_folder
from .hub import without_hub

SPLITS = ("train", "dev", "test", "gen")
ARCHIVE = "cogs.tar.xz"

# Words that are in no lexicon file; the rest of POS-COGS's lexicon is read from the data.
_CLOSED = {
    **dict.fromkeys(("a", "the", "A", "The"), "Det"),
    **dict.fromkeys(("in", "on", "beside", "by"), "P"),
    "was": "Aux",
    "that": "C",
    "lended": "V",
    "read": "V",
}
_LEXICONS = ("V_trans", "V_unacc", "V_unerg")


def cogs(split: str) -> Dataset:
    """COGS, ``train`` (24,155), ``dev``, ``test`` (3,000 each) or ``gen`` (21 types of 1,000), variable-free.

    Types are COGS's own (``in_distribution``, ``primitive``, ``cp_recursion``, ...). Read from
    ``cogs/<split>_varfree.tsv`` in ``cogs.tar.xz``: sentence, form, type by tabs.

    Source: Kim and Linzen (2020); variable-free form: Qiu et al. (2022).
    """
    path, lines = _lines(split, f"cogs/{_named(split)}_varfree.tsv")
    return Dataset.of_rows("cogs", _rows(lines, path, split), path.name)


def pos_cogs(split: str) -> Dataset:
    """POS-COGS: the sentences of `cogs`, in the same splits, with one tag for each word.

    Tags: Det, N, Name, V, Aux, P, C (*that*), Inf (*to* before a verb). The full stop has none, as in the paper's
    example. Tags follow from COGS's own lexicon, in which every word but *to* has one tag only; see `tags_of`.

    Source: Yao and Koller (2022), whose tags are the categories of COGS's grammar; ours merge its classes of verbs.
    """
    path, lines = _lines(split, f"cogs/{_named(split)}.tsv")
    lexicon = _lexicon(path)
    rows = []
    for row, (text, _, kind, name) in enumerate(_rows(lines, path, split), 1):
        try:
            rows.append((text, " ".join(tags_of(text.split(), lexicon)), kind, name))
        except KeyError as error:
            raise InputError(
                "words of COGS's lexicon", got=str(error), remedy="fetch the archive again", file=str(path), row=row
            ) from error
    return Dataset.of_rows("pos-cogs", rows, path.name)


def tags_of(words: list[str], lexicon: Mapping[str, str]) -> list[str]:
    """The tag of each word but a last full stop; *to* is Inf before a verb, else P. `KeyError` for an unknown word.

    >>> words = "The boy wanted to walk to Emma .".split()
    >>> tags_of(words, {"The": "Det", "boy": "N", "wanted": "V", "walk": "V", "Emma": "Name"})
    ['Det', 'N', 'V', 'Inf', 'V', 'P', 'Name']
    """
    words = words[:-1] if words[-1:] == ["."] else words
    return [
        lexicon[word] if word != "to" else ("Inf" if i + 1 < len(words) and lexicon.get(words[i + 1]) == "V" else "P")
        for i, word in enumerate(words)
    ]


def _named(split: str) -> str:
    if split not in SPLITS:
        raise UsageError(f"expected a split of COGS among {', '.join(SPLITS)}, got {split!r}")
    return split


def _lines(split: str, member: str) -> tuple[Path, list[str]]:
    folder = data_folder()
    if folder is None:
        raise without_hub("COGS in its variable-free form", ARCHIVE)
    return folder / ARCHIVE, read_member(folder / ARCHIVE, member)


def _rows(lines: list[str], path: Path, split: str) -> list[Row]:
    rows = []
    for row, line in enumerate(lines, 1):
        parts = line.split("\t")
        if len(parts) != 3 or not parts[0].strip():
            raise InputError(
                "sentence, form and type by tabs",
                got=repr(line[:40]),
                remedy="fetch the archive again",
                file=str(path),
                row=row,
            )
        rows.append((parts[0], parts[1], parts[2], f"{split}/{row}"))
    return rows


@cache
def _lexicon(path: Path) -> dict[str, str]:
    """Word to tag, from the lexicon files of the archive."""

    def load(name: str) -> list[str] | dict[str, str]:
        text = "\n".join(read_member(path, f"cogs/lexicon_{name}.json"))
        try:
            found: list[str] | dict[str, str] = json.loads(text)
        except ValueError as error:
            raise InputError(
                f"JSON in lexicon_{name}.json", got=repr(text[:30]), remedy="fetch the archive again", file=str(path)
            ) from error
        return found

    forms = load("verbs2lemmas")
    verbs = {*forms, *(forms.values() if isinstance(forms, dict) else ())}
    for name in _LEXICONS:
        verbs |= set(load(name))
    return {
        **dict.fromkeys(verbs, "V"),
        **dict.fromkeys(load("nouns"), "N"),
        **dict.fromkeys(load("proper_nouns"), "Name"),
        **_CLOSED,
    }
