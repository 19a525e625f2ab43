"""MSGS: sentences whose linguistic and surface feature agree in training and part outside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from ..errors import InputError, UsageError
from ..store.artifact_cache import content_of
from .base import Dataset
from .files import read_objects
from .folder import data_folder
from .hub import without_hub

MSGS_SETS = ("MORPH", "VERB", "ADJECT")
MSGS_PARTS = {
    "train": "train_ambiguous",
    "inoculation": "inoculation",
    "in-domain": "test_indomain_training",
    "test": "test_ood",
}
"""Part -> the role of its rows in the file."""
LONGEST = 30  # words; what is longer in ADJECT is junk of the generator, "at those on these at those below ..."
_LISTED = """
    attractive bad beautiful big boring careful careless clever cold cool cruel damp disorganized dry dull dumb
    elderly fat giant good great healthy hot ill interesting intriguing kind large little mean nice normal obese old
    ordinary organized short sick skinny slim small smart strange stupid tall terrible thin tiny ugly unattractive
    unusual warm wet young youthful
"""
ADJECTIVES = frozenset(_LISTED.split())
"""The adjectives of the generator: words that stand in rows with one, and (but for "boring") in no row without."""
_TYPES = {(1, 1): "both", (0, 0): "neither", (1, 0): "linguistic", (0, 1): "surface"}
_WITHOUT = {"aux_test": "test_ood", "train_ambiguous": "inoculation"}
"""Where the rows of a paradigm that have neither feature stand -> where those with the linguistic one do."""
_FILE = "msgs_regen.jsonl.xz"
_WORD = re.compile(r"\S+")
_MAIN_VERB = re.compile(r"\b(?:is|are|was|were|be|been)(?:n't)?\s+(\w+ing)\b", re.IGNORECASE)


@final
@dataclass(frozen=True)
class MsgsSet:
    """A part of a set of MSGS.

    Parameters
    ----------
    data : the sentences; the target is the linguistic label, the type says which features a sentence has.
    surface : the surface label of each row.
    features : where the word that decides the linguistic label starts, in characters; None where the sentence has none,
        or where the rules do not find exactly one.
    unmarked : rows that have the linguistic feature and no place in ``features``.
    dropped : rows that were left out because they are too long.
    """

    data: Dataset
    surface: tuple[int, ...]
    features: tuple[int | None, ...]
    unmarked: int
    dropped: int


def msgs(name: str, part: str, *, longest: int = LONGEST) -> MsgsSet:
    """Sentences with a linguistic label, and with a surface label that says whether "the" occurs.

    Parameters
    ----------
    name :
        ``MORPH`` (an irregular past verb), ``VERB`` (the main verb ends in -ing) or ``ADJECT`` (an adjective).
    part :
        ``train`` and ``in-domain``, where both labels are always the same; ``inoculation`` and ``test``, where they
        never are.
    longest :
        Rows with more words are left out and counted.

    The word that decides has no mark in the file. In MORPH it is where a row differs, in one stretch, from the one of
    its paradigm that has neither feature, which ``inoculation`` and ``test`` have; in VERB the one -ing word behind a
    form of "be"; in ADJECT the one adjective.

    Read from ``msgs_regen.jsonl.xz`` (`set`, `role`, `L`, `S`, `paradigm`, `sentence`); it is on no hub. Raises
    `UsageError` for a set or part that there is not, `InputError` for a damaged file, `WorkError` without one.

    Source: Warstadt et al. (2020).

    >>> msgs("NOUN", "train")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected MORPH, VERB or ADJECT, got 'NOUN'
    """
    if name not in MSGS_SETS:
        raise UsageError(f"expected {', '.join(MSGS_SETS[:-1])} or {MSGS_SETS[-1]}, got {name!r}")
    if part not in MSGS_PARTS:
        raise UsageError(f"expected a part among {', '.join(MSGS_PARTS)}, got {part!r}")
    folder = data_folder()
    if folder is None:
        raise without_hub("MSGS", _FILE)
    path = folder / _FILE
    rows = _rows(path, content_of(path))
    asked = [row for row in rows if (row["set"], row["role"]) == (name, MSGS_PARTS[part])]
    if not asked:
        raise InputError(f"rows of {name}, {part}", got="none", remedy="fetch the file again", file=str(path))
    kept = [row for row in asked if len(row["sentence"].split()) <= longest]
    features = tuple(_feature_words(name, kept, rows))
    unmarked = sum(row["L"] == 1 and place is None for row, place in zip(kept, features, strict=True))
    data = Dataset(
        f"MSGS {name}, {part}",
        tuple(row["sentence"] for row in kept),
        tuple(row["L"] for row in kept),
        types=tuple(_TYPES[row["L"], row["S"]] for row in kept),
        ids=tuple(f"{name}-{row['paradigm']}-{row['L']}{row['S']}" for row in kept),
        source=path.name,
    )
    return MsgsSet(data, tuple(row["S"] for row in kept), features, unmarked, len(asked) - len(kept))


@lru_cache(maxsize=1)  # several parts are read after one another
def _rows(path: Path, stamp: Any) -> tuple[dict[str, Any], ...]:
    """All rows of the file, checked."""
    out = []
    for number, row in read_objects(path, "set", "role", "L", "S", "paradigm", "sentence"):
        if (row["L"], row["S"]) not in _TYPES or not isinstance(row["sentence"], str):
            got = repr((row["L"], row["S"]))
            raise InputError(
                "a sentence with labels 0 or 1", got=got, remedy="fetch the file again", file=str(path), row=number
            )
        out.append(row)
    return tuple(out)


def _feature_words(name: str, kept: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> Iterator[int | None]:
    """Where the word that decides starts in each row, in characters."""
    without = {}
    if name == "MORPH":
        without = {
            (_WITHOUT[row["role"]], row["paradigm"]): row["sentence"]
            for row in rows
            if row["set"] == name and (row["L"], row["S"]) == (0, 0) and row["role"] in _WITHOUT
        }
    for row in kept:
        if row["L"] == 0:
            yield None
        elif name == "MORPH":
            other = without.get((row["role"], row["paradigm"]))
            yield None if other is None else _first_difference(row["sentence"], other)
        elif name == "VERB":
            yield _only([found.start(1) for found in _MAIN_VERB.finditer(row["sentence"])])
        else:
            words = _WORD.finditer(row["sentence"])
            yield _only([found.start() for found in words if found.group().strip(".,").lower() in ADJECTIVES])


def _only(places: Sequence[int]) -> int | None:
    return places[0] if len(places) == 1 else None


def _first_difference(sentence: str, other: str) -> int | None:
    """Where a sentence leaves another one, in characters, if it comes back to it after one or two words.

    >>> _first_difference("men went to a hill.", "men hate a hill.")
    4
    >>> _first_difference("men sang on a hill.", "women sang by the sea.") is None
    True
    """
    mine = [(found.group(), found.start()) for found in _WORD.finditer(sentence)]
    left, theirs = [word for word, _ in mine], other.split()
    start = 0
    while start < min(len(left), len(theirs)) and left[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(left), len(theirs)) - start and left[-1 - end] == theirs[-1 - end]:
        end += 1
    if start == len(left) or not 1 <= len(left) - start - end <= 2:
        return None
    return mine[start][1]
