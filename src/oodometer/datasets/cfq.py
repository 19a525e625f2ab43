"""CFQ: questions with SPARQL queries, in the splits whose compounds diverge most (MCD1, MCD2, MCD3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, UsageError
from .base import Dataset, Row
from .files import read_lines
from .folder import data_folder
from .hub import hub_rows

HOME, HUB = "cfq", "google-research-datasets/cfq"
_NAMES = {"train": "trainIdxs", "dev": "devIdxs", "test": "testIdxs"}


def cfq(division: str, split: str, seed: int = 0) -> Dataset:
    """CFQ with entities as placeholders: ``mcd1``, ``mcd2`` or ``mcd3``; 95,743 ``train``, 11,968 ``dev`` and ``test``.

    CFQ's own development set follows the test distribution. A discriminator may not see that, so ``dev`` here is 5 % of
    the training rows, drawn by the seed and taken from ``train``. Read from the release (``cfq/dataset.json``,
    ``cfq/splits/mcd1.json``), else from the hub.

    Source: Keysers et al. (2020).
    """
    if division not in ("mcd1", "mcd2", "mcd3") or split not in _NAMES:
        raise UsageError(f"expected mcd1, mcd2 or mcd3 and train, dev or test, got {division!r} and {split!r}")
    folder = data_folder()
    wanted = "test" if split == "test" else "train"
    here = folder is not None and (folder / HOME / "dataset.json").is_file()
    if here and folder is not None:
        rows, source = _released(folder / HOME, division, wanted), HOME
    else:
        rows, source = _hub(division, wanted), HUB
    data = Dataset.of_rows("cfq", rows, source)
    if split == "test":
        return data
    order = np.random.default_rng(seed).permutation(len(data))
    held = len(data) // 20
    return data.take(sorted((order[:held] if split == "dev" else order[held:]).tolist()))


def _released(home: Path, division: str, split: str) -> list[Row]:
    every = _json(home / "dataset.json")
    places = _json(home / "splits" / f"{division}.json")
    try:
        return [
            (
                str(every[i]["questionPatternModEntities"]),
                _query(str(every[i]["sparqlPatternModEntities"])),
                division,
                f"{split}/{i}",
            )
            for i in places[_NAMES[split]]
        ]
    except (LookupError, TypeError) as error:
        raise InputError("the release of CFQ", got=f"no {error}", remedy="fetch it again", file=str(home)) from error


def _hub(division: str, split: str) -> list[Row]:
    return [
        (str(one["question"]), _query(str(one["query"])), division, f"{split}/{i}")
        for i, one in enumerate(hub_rows(HUB, split, division))
    ]


def _query(text: str) -> str:
    return " ".join(text.split())


def _json(path: Path) -> Any:
    text = "\n".join(read_lines(path))
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError("JSON", got=type(error).__name__, remedy="fetch it again", file=str(path)) from error
