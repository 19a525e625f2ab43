"""TOPv2: commands with nested intents and slots, one domain with few examples beside others with many."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from ..errors import InputError, UsageError
from .base import Dataset, Row
from .files import read_lines
from .folder import data_folder
from .hub import hub_rows

HOME, HUB = "TOPv2_Dataset", "WillHeld/top_v2"
DOMAINS = ("alarm", "event", "messaging", "music", "navigation", "reminder", "timer", "weather")
SCARCE = ("reminder", "weather")  # the domains of which few examples are given
_LABEL = re.compile(r"\[((?:IN|SL):\w+)", re.IGNORECASE)


def topv2(split: str, domain: str = "weather", examples: int = 25, seed: int = 0) -> Dataset:
    """TOPv2: ``train`` has six domains whole and few rows of reminder and weather; ``dev`` and ``test`` one domain.

    ``examples`` is how many samples of each intent and slot (SPIS) the two scarce domains have; the paper does not
    state its own, 25 is the original work's main setting. They are read from ``TOPv2_Dataset/low_resource_splits``
    where that has them, else drawn by `few_of_each`. ``dev`` is the in-distribution one: rows of the six whole
    domains. Types are domains. Read from ``TOPv2_Dataset`` as released, else from the hub.

    Source: Chen et al. (2020).
    """
    if split not in ("train", "dev", "test") or domain not in DOMAINS:
        raise UsageError(f"expected train, dev or test and a domain of TOPv2, got {split!r} and {domain!r}")
    folder = data_folder()
    home = folder / HOME if folder is not None and (folder / HOME).is_dir() else None
    source = HUB if home is None else HOME
    if split == "test":
        return Dataset.of_rows("topv2", _rows(home, domain, "test"), source)
    plenty = [one for one in DOMAINS if one not in SCARCE]
    found = [row for one in plenty for row in _rows(home, one, "eval" if split == "dev" else "train")]
    if split == "train":
        for one in SCARCE:
            found += _few(home, one, examples, seed)
    return Dataset.of_rows("topv2", found, source)


def few_of_each(outputs: list[str], examples: int, seed: int) -> list[int]:
    """Places of rows drawn so that each intent and slot stands in at least ``examples`` of them, as far as there are.

    Rows are met in random order; one is kept as long as some label of it is short.

    >>> outputs = ["[IN:A [SL:X a ] ]", "[IN:A b ]", "[IN:B c ]", "[IN:A d ]"]
    >>> sorted(outputs[i][4] for i in few_of_each(outputs, 1, seed=0))
    ['A', 'B']
    """
    met: Counter[str] = Counter()
    kept = []
    for i in np.random.default_rng(seed).permutation(len(outputs)).tolist():
        labels = set(_LABEL.findall(outputs[i]))
        if any(met[label] < examples for label in labels):
            kept.append(i)
            met.update(labels)
    return sorted(kept)


def _few(home: Path | None, domain: str, examples: int, seed: int) -> list[Row]:
    if home is not None:
        path = home / "low_resource_splits" / f"{domain}_train_{examples}spis.tsv"
        if path.is_file():
            return _table(path)
    rows = _rows(home, domain, "train")
    return [rows[i] for i in few_of_each([row[1] for row in rows], examples, seed)]


def _rows(home: Path | None, domain: str, split: str) -> list[Row]:
    if home is not None:
        return _table(home / f"{domain}_{split}.tsv")
    return [
        (str(one["utterance"]), str(one["semantic_parse"]), domain, f"{split}/{i}")
        for i, one in enumerate(hub_rows(HUB, split))
        if one["domain"] == domain
    ]


def _table(path: Path) -> list[Row]:
    """Rows of a table: domain, utterance, parse by tabs, below a line of names."""
    rows: list[Row] = []
    for row, line in enumerate(read_lines(path)):
        parts = line.split("\t")
        if len(parts) != 3:
            raise InputError(
                "domain, utterance and semantic_parse by tabs",
                got=repr(line[:40]),
                remedy="fetch the file again",
                file=str(path),
                row=row,
            )
        if row:
            rows.append((parts[1], parts[2], parts[0], f"{path.stem}/{row}"))
    return rows
