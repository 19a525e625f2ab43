"""Sentence pairs: PAWS-QQP and MRPC (paraphrases), SICK and RTE (entailment), from the folder OODOMETER_DATA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InputError, UsageError
from .base import Dataset
from .files import read_objects
from .folder import data_folder
from .hub import without_hub

_FILE = "pairs.jsonl.xz"
_PARAPHRASE = {"0": 0, "1": 1}
# Of SICK, neutral and contradiction are one class; of RTE there are two, named by its year.
_ENTAILS = {"ENTAILMENT": 1, "NEUTRAL": 0, "CONTRADICTION": 0, "YES": 1, "TRUE": 1, "NO": 0, "FALSE": 0}


def paws_qqp() -> Dataset:
    """PAWS-QQP, all 677 questions with swapped words; 1 paraphrase (191), 0 none. Source: Zhang et al. (2019).

    Read from ``pairs.jsonl.xz`` (`set`, `split`, `a`, `b`, `label`); it is on no hub. Six pairs stand in it twice, with
    the same label, and two more in both orders: 671 pairs are different. All rows are returned, so a split by rows may
    leave a pair on both sides.
    """
    return _read("PAWS-QQP", lambda name, split: name == "paws_qqp", _PARAPHRASE)


def mrpc(split: str) -> Dataset:
    """MRPC, pairs of sentences from news, ``train`` or ``test``; 1 paraphrase, 0 none.

    Read from ``pairs.jsonl.xz``. Source: Dolan and Brockett (2005).
    """
    if split not in ("train", "test"):
        raise UsageError(f"expected the split train or test, got {split!r}")
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
    if split not in ("train", "test"):
        raise UsageError(f"expected the split train or test, got {split!r}")

    def wanted(name: str, part: str) -> bool:
        return name in ("sick", "rte") and part.endswith("test") == (split == "test")

    return _read(f"SICK + RTE, binary, {split}", wanted, _ENTAILS)


def _read(name: str, wanted: Callable[[str, str], bool], labels: dict[str, int]) -> Dataset:
    folder = data_folder()
    if folder is None:
        raise without_hub(name, _FILE)
    path, found = folder / _FILE, []
    for number, row in read_objects(path, "set", "split", "a", "b", "label"):
        if not wanted(str(row["set"]), str(row["split"])):
            continue
        found.append(_checked(row, labels, str(path), number))
    if len({label for _, label, _, _ in found}) < 2:
        got = f"{len(found)} rows"
        raise InputError(f"rows of both classes of {name}", got=got, remedy="fetch the file again", file=str(path))
    pairs, targets, types, ids = zip(*found, strict=True)
    return Dataset(name, pairs, targets, types=types, ids=ids, source=_FILE, modality="pair")


def _checked(
    row: dict[str, Any], labels: dict[str, int], file: str, number: int
) -> tuple[tuple[str, str], int, str, str]:
    """Pair, label, name of the set, id."""
    label = labels.get(str(row["label"]))
    if label is None or not (isinstance(row["a"], str) and isinstance(row["b"], str)):
        raise InputError(
            f"two sentences and a label among {', '.join(labels)}",
            got=repr(row["label"]),
            remedy="fetch the file again",
            file=file,
            row=number,
        )
    split = str(row["split"])
    return (row["a"], row["b"]), label, str(row["set"]), f"{split}-{row.get('id', number)}"
