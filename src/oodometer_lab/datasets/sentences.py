"""Sentences and pairs of them with classes: IMDb, SST-2, paraphrases, entailment, HANS and MSGS."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from oodometer.errors import UsageError
from oodometer.store.artifact_cache import content_of

from .base import Dataset
from .files import check_name, damaged, data_file, data_folder, hub_rows, read_lines, read_objects


def imdb(split: str) -> Dataset:
    """IMDb film reviews, ``train`` or ``test``, 25,000 each; 0 negative, 1 positive. Source: Maas et al. (2011). Read
    from ``imdb_<split>.jsonl.xz`` (`label`, `text`, `id`) or the hub's ``stanfordnlp/imdb``.
    """
    folder = data_folder()
    if folder is None:
        return _hub("imdb", "stanfordnlp/imdb", split)
    path, rows = folder / f"imdb_{split}.jsonl.xz", []
    for row, line in enumerate(read_lines(path), 1):
        try:
            plain = json.loads(line)
            rows.append((str(plain["text"]), _label(plain["label"]), str(plain.get("id", row))))
        except (ValueError, LookupError, TypeError) as error:
            raise damaged(
                "JSON with a text and a label 0 or 1", repr(line[:40]), path, row
            ) from error
    return _labelled("imdb", rows, path)


def sst2(split: str) -> Dataset:
    """SST-2 sentences of film reviews. ``split`` is ``train``, ``dev`` or ``test`` (1,821), `UsageError` for another.

    Read from ``sst_mr_cr_etc.tsv.xz`` (file, label, text by tabs; the files ``stsa.binary.*``) or the hub's
    ``SetFit/sst2``, whose test rows carry labels. Source: Socher et al. (2013).
    """
    check_name(split, ("train", "dev", "test"))
    folder, part = data_folder(), f"stsa.binary.{split}"
    if folder is None:
        return _hub("sst2", "SetFit/sst2", {"dev": "validation"}.get(split, split))
    path, rows = folder / "sst_mr_cr_etc.tsv.xz", list[tuple[str, int, str]]()
    for row, line in enumerate(read_lines(path), 1):
        parts = line.split("\t", 2)
        if parts[0] != part:
            continue
        try:
            rows.append((parts[2], _label(parts[1]), f"{part}/{len(rows)}"))
        except (ValueError, IndexError) as error:
            raise damaged(
                "file, label 0 or 1 and text by tabs", repr(line[:40]), path, row
            ) from error
    return _labelled("sst2", rows, path)


def _label(value: object) -> int:
    number = int(str(value))
    if number not in (0, 1):
        raise ValueError(number)
    return number


def _labelled(name: str, rows: Sequence[tuple[Any, ...]], path: Path) -> Dataset:
    """Rows of input, label, id and, of pairs, type as a data set; `InputError` for fewer than two classes."""
    if len({row[1] for row in rows}) < 2:
        raise damaged(f"rows of both classes of {name}", f"{len(rows)} rows", path)
    inputs, labels, ids, *types = zip(*rows, strict=True)
    return Dataset(
        name, inputs, labels, types[0] if types else (), ids, path.name, "pair" if types else "text"
    )


def _hub(name: str, source: str, split: str) -> Dataset:
    rows = hub_rows(source, split)
    ids = tuple(f"{split}/{i}" for i in range(len(rows)))
    return Dataset(
        name,
        tuple(rows["text"]),
        tuple(int(label) for label in rows["label"]),
        ids=ids,
        source=source,
    )


_PAIRS = "pairs.jsonl.xz"
_PARAPHRASE = {"0": 0, "1": 1}
# Of SICK, neutral and contradiction are one class; of RTE there are two, named by its year.
_ENTAILS = {
    "ENTAILMENT": 1,
    "NEUTRAL": 0,
    "CONTRADICTION": 0,
    "YES": 1,
    "TRUE": 1,
    "NO": 0,
    "FALSE": 0,
}


def paws_qqp() -> Dataset:
    """PAWS-QQP, all 677 questions with swapped words; 1 paraphrase (191), 0 none. Source: Zhang et al. (2019). Read
    from ``pairs.jsonl.xz`` (`set`, `split`, `a`, `b`, `label`); it is on no hub. Six pairs stand in it twice, with the
    same label, and two more in both orders: 671 pairs are different. All rows are returned, so a split by rows may
    leave a pair on both sides.
    """
    return _read("PAWS-QQP", lambda name, split: name == "paws_qqp", _PARAPHRASE)


def mrpc(split: str) -> Dataset:
    """MRPC, pairs of sentences from news; 1 paraphrase, 0 none. ``split`` is ``train`` or ``test``, `UsageError` for
    another.

    Read from ``pairs.jsonl.xz``. Source: Dolan and Brockett (2005).
    """
    check_name(split, ("train", "test"), "the split ")
    return _read(f"MRPC, {split}", lambda name, part: (name, part) == ("mrpc", split), _PARAPHRASE)


def binary_entailment(split: str) -> Dataset:
    """SICK and RTE 1 to 3 as one set with two classes; 1 entailment, 0 neutral or contradiction.

    ``split``: ``train`` (the training and trial parts of SICK, the development parts of RTE) or ``test``. The type is
    the name of the set. Of 6,767 rows to train on and 7,327 to test on, all returned, 52 test rows of SICK (0.7 %) are
    pairs that stand among the training rows too, in 64 of them and with the same label; within the training rows 29
    pairs stand more than once. Read from ``pairs.jsonl.xz``. Source: Marelli et al. (2014), Dagan et al. (2006).

    >>> binary_entailment("dev")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected the split train or test, got 'dev'
    """
    check_name(split, ("train", "test"), "the split ")

    def belongs(name: str, part: str) -> bool:
        return name in ("sick", "rte") and part.endswith("test") == (split == "test")

    return _read(f"SICK + RTE, binary, {split}", belongs, _ENTAILS)


def _read(name: str, belongs: Callable[[str, str], bool], labels: dict[str, int]) -> Dataset:
    path, out = data_file(_PAIRS, name), []
    for number, row in read_objects(path, "set", "split", "a", "b", "label"):
        if not belongs(str(row["set"]), str(row["split"])):
            continue
        label = labels.get(str(row["label"]))
        if label is None or not (isinstance(row["a"], str) and isinstance(row["b"], str)):
            expected = f"two sentences and a label among {', '.join(labels)}"
            raise damaged(expected, repr(row["label"]), path, number)
        out.append(
            (
                (row["a"], row["b"]),
                label,
                f"{row['split']}-{row.get('id', number)}",
                str(row["set"]),
            )
        )
    return _labelled(name, out, path)


HANS_HEURISTICS = ("lexical_overlap", "subsequence", "constituent")
_HEADS = ("split", "label", "premise", "hypothesis", "heuristic", "subcase")
_HANS_LABELS = {"entailment": 1, "non-entailment": 0}
_HANS_SPLITS = {"train": "train", "eval": "validation"}  # as the hub calls them
_HANS, _HANS_HUB = "hans_regen.tsv.xz", "jhu-cogsci/hans"


def hans(split: str, heuristic: str | None = None) -> Dataset:
    """Pairs of premise and hypothesis; 1 entailment, 0 none. The type is the subcase, which settles the label.

    split : ``train`` or ``eval``.
    heuristic : ``lexical_overlap``, ``subsequence`` or ``constituent``; None for all three.

    Read from ``hans_regen.tsv.xz`` (split, label, premise, hypothesis, heuristic, subcase by tabs), which was made anew
    from the official templates, or the hub's ``jhu-cogsci/hans``. Raises `UsageError` for a split or heuristic that
    there is not, `InputError` for a damaged file. Source: McCoy et al. (2019).

    >>> hans("dev")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected the split train or eval, got 'dev'
    """
    check_name(split, tuple(_HANS_SPLITS), "the split ")
    if heuristic is not None and heuristic not in HANS_HEURISTICS:
        raise UsageError(
            f"expected a heuristic among {', '.join(HANS_HEURISTICS)}, got {heuristic!r}"
        )
    folder = data_folder()
    rows = [row for row in _hans_rows(folder, split) if heuristic in (None, row[3])]
    name, source = f"HANS {heuristic or 'all'}, {split}", _HANS_HUB if folder is None else _HANS
    if not rows:
        raise damaged(f"rows of {name}", "none", source)
    pairs, labels, types, _, ids = zip(*rows, strict=True)
    return Dataset(name, pairs, labels, types=types, ids=ids, source=source, modality="pair")


def _hans_rows(
    folder: Path | None, split: str
) -> Iterator[tuple[tuple[str, str], int, str, str, str]]:
    """Pair, label, subcase, heuristic and id of each row."""
    if folder is None:
        for number, row in enumerate(hub_rows(_HANS_HUB, _HANS_SPLITS[split]), 1):
            cells = {
                name: str(row[name]) for name in ("premise", "hypothesis", "subcase", "heuristic")
            }
            pair = cells["premise"], cells["hypothesis"]
            yield (
                pair,
                1 - int(row["label"]),
                cells["subcase"],
                cells["heuristic"],
                f"{split}-{number}",
            )
        return
    path = folder / _HANS
    lines = iter(read_lines(path))
    heads = next(lines, "").split("\t")
    if any(head not in heads for head in _HEADS):
        raise damaged(f"columns {', '.join(_HEADS)}", repr(heads)[:60], path, 1)
    for number, line in enumerate(lines, 2):
        cells = dict(zip(heads, line.split("\t"), strict=False))
        if line.count("\t") != len(heads) - 1 or cells["label"] not in _HANS_LABELS:
            expected = f"{len(heads)} cells by tabs, the label {' or '.join(_HANS_LABELS)}"
            raise damaged(expected, repr(line[:40]), path, number)
        if cells["split"] == split:
            pair, label = (cells["premise"], cells["hypothesis"]), _HANS_LABELS[cells["label"]]
            yield pair, label, cells["subcase"], cells["heuristic"], f"{split}-{number - 1}"


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
_MSGS = "msgs_regen.jsonl.xz"
_WORD = re.compile(r"\S+")
_MAIN_VERB = re.compile(r"\b(?:is|are|was|were|be|been)(?:n't)?\s+(\w+ing)\b", re.IGNORECASE)


@final
@dataclass(frozen=True)
class MsgsSet:
    """A part of a set of MSGS.

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


def msgs(name: str, part: str) -> MsgsSet:
    """Sentences with a linguistic label, and with a surface label that says whether "the" occurs.

    name : ``MORPH`` (an irregular past verb), ``VERB`` (the main verb ends in -ing) or ``ADJECT`` (an adjective).
    part : ``train`` and ``in-domain``, where both labels are always the same; ``inoculation`` and ``test``, where they
        never are.

    Rows with more than `LONGEST` words are left out and counted. The word that decides has no mark in the file. In
    MORPH it is where a row differs, in one stretch, from the one of its paradigm that has neither feature, which
    ``inoculation`` and ``test`` have; in VERB the one -ing word behind a form of "be"; in ADJECT the one adjective.
    Read from ``msgs_regen.jsonl.xz`` (`set`, `role`, `L`, `S`, `paradigm`, `sentence`); it is on no hub. Raises
    `UsageError` for a set or part that there is not, `InputError` for a damaged file, `WorkError` without one.
    Source: Warstadt et al. (2020).

    >>> msgs("NOUN", "train")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected MORPH, VERB or ADJECT, got 'NOUN'
    """
    check_name(name, MSGS_SETS)
    if part not in MSGS_PARTS:
        raise UsageError(f"expected a part among {', '.join(MSGS_PARTS)}, got {part!r}")
    path = data_file(_MSGS, "MSGS")
    rows = _msgs_rows(path, content_of(path))
    selected = [row for row in rows if (row["set"], row["role"]) == (name, MSGS_PARTS[part])]
    if not selected:
        raise damaged(f"rows of {name}, {part}", "none", path)
    short = [row for row in selected if len(row["sentence"].split()) <= LONGEST]
    features = tuple(_feature_words(name, short, rows))
    unmarked = sum(
        row["L"] == 1 and feature is None for row, feature in zip(short, features, strict=True)
    )
    texts, labels = tuple(row["sentence"] for row in short), tuple(row["L"] for row in short)
    types = tuple(_TYPES[row["L"], row["S"]] for row in short)
    ids = tuple(f"{name}-{row['paradigm']}-{row['L']}{row['S']}" for row in short)
    data = Dataset(f"MSGS {name}, {part}", texts, labels, types, ids, path.name)
    return MsgsSet(
        data, tuple(row["S"] for row in short), features, unmarked, len(selected) - len(short)
    )


@lru_cache(maxsize=1)  # several parts are read after one another
def _msgs_rows(path: Path, stamp: Any) -> tuple[dict[str, Any], ...]:
    out = []
    for number, row in read_objects(path, "set", "role", "L", "S", "paradigm", "sentence"):
        if (row["L"], row["S"]) not in _TYPES or not isinstance(row["sentence"], str):
            raise damaged("a sentence with labels 0 or 1", repr((row["L"], row["S"])), path, number)
        out.append(row)
    return tuple(out)


def _feature_words(
    name: str, short: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]
) -> Iterator[int | None]:
    """Where the word that decides starts in each row, in characters."""
    without = {}
    if name == "MORPH":
        without = {
            (_WITHOUT[row["role"]], row["paradigm"]): row["sentence"]
            for row in rows
            if row["set"] == name and (row["L"], row["S"]) == (0, 0) and row["role"] in _WITHOUT
        }
    for row in short:
        starts: list[int | None] = []
        if row["L"] and name == "MORPH":
            counterpart = without.get((row["role"], row["paradigm"]))
            starts = [
                None if counterpart is None else _first_difference(row["sentence"], counterpart)
            ]
        elif row["L"] and name == "VERB":
            starts = [match.start(1) for match in _MAIN_VERB.finditer(row["sentence"])]
        elif row["L"]:
            words = _WORD.finditer(row["sentence"])
            starts = [
                word.start() for word in words if word.group().strip(".,").lower() in ADJECTIVES
            ]
        yield starts[0] if len(starts) == 1 else None


def _first_difference(sentence: str, counterpart: str) -> int | None:
    """Where a sentence leaves another one, in characters, if it comes back to it after one or two words."""
    mine = [(match.group(), match.start()) for match in _WORD.finditer(sentence)]
    words, theirs = [word for word, _ in mine], counterpart.split()
    start = 0
    while start < min(len(words), len(theirs)) and words[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(words), len(theirs)) - start and words[-1 - end] == theirs[-1 - end]:
        end += 1
    if start == len(words) or not 1 <= len(words) - start - end <= 2:
        return None
    return mine[start][1]
