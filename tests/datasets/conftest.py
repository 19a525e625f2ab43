"""Data sets under test: an empty folder of data, and a hub that answers as a test says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data."""
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Puts a function in the place of `datasets.load_dataset`; the hub answers, and there is no folder of data."""

    def answers(load: Any) -> None:
        fake = ModuleType("datasets")
        fake.load_dataset = load  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "datasets", fake)
        monkeypatch.setattr("oodometer_lab.datasets.files.hub_answers", lambda: True)
        monkeypatch.delenv("OODOMETER_DATA", raising=False)
        monkeypatch.setattr(
            "oodometer_lab.datasets.files.__file__", "/nowhere/src/oodometer_lab/datasets/files.py"
        )

    return answers
