"""Files of a run: predictions and examples read with their texts, which the store leaves out unless asked."""

from __future__ import annotations

from pathlib import Path

from ...predictions import Predictions
from ...store import as_source
from ...verbs.discriminate.thresholding import PROBABILITY

COLUMNS = ("type", "gold")


def read_judged(folder: Path, name: str) -> Predictions:
    """The predictions file of a set: its votes and P(Correct) of each judge, texts, types and gold outputs."""
    import pyarrow.parquet as pq

    path = folder / "predictions" / f"{name}.parquet"
    said = [one for one in pq.read_schema(path).names if one.startswith(PROBABILITY)]
    source = as_source(path, extra_columns=(*COLUMNS, *said))
    return source.read(source.fields)


def read_pairs(folder: Path, part: str, of: str = "examples") -> Predictions:
    """The examples of a part, ``train`` or ``dev``, ``of`` early checkpoints or of ``unseen`` sentences."""
    source = as_source(folder / of / f"{part}.parquet", extra_columns=("origin",))
    return source.read(source.fields)
