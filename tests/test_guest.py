"""A library is a guest in the process: what belongs to all of it stays as it was, even while an estimate runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oodometer import Predictions, estimate, write


def test_an_estimate_touches_neither_the_turns_of_threads_nor_the_allocator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = np.tile([[0.9, 0.1], [0.2, 0.8]], (50, 1))
    for name in ("reference", "target"):
        write(Predictions.from_probabilities(p, label=[0, 1] * 50), tmp_path / f"{name}.parquet")

    def refuse(*_: Any) -> None:
        raise AssertionError("this is the whole process's own")

    monkeypatch.setattr(sys, "setswitchinterval", refuse)
    monkeypatch.setattr(pa, "set_memory_pool", refuse)
    files = tmp_path / "reference.parquet", tmp_path / "target.parquet"
    assert estimate(*files, workers=2, backtest=None).estimates
