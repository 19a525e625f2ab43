"""Texts: the old place of reviews, which are now in `oodometer.datasets`; goes with the next release."""

from __future__ import annotations

from typing import Any

from ..datasets import Dataset
from ..deprecation import moved, warn_old

__getattr__ = moved(__name__, {name: f"datasets:{name}" for name in ("data_folder", "imdb", "sst2")})


def Texts(name: str, texts: Any, labels: Any, ids: Any, source: str) -> Dataset:
    """A data set of texts with labels, in the old order of its columns."""
    warn_old(f"{__name__}.Texts", "oodometer.datasets.Dataset")
    return Dataset(name, tuple(texts), tuple(labels), ids=tuple(ids), source=source)
