"""Every error of a command in these tests names options that the command has, or one that the error names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oodometer.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is no part of the package

from benchmarks.hostile.remedies import wrong_options

MODULE = sys.modules[main.__module__]


@pytest.fixture(autouse=True)
def _options_in_errors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An error is looked at where it is printed; what was typed is noted where it is run."""
    run, say = MODULE._run, MODULE._say
    typed: list[str] = []
    wrong: list[str] = []

    def running(given: list[str], debug: bool) -> int:
        typed[:] = given
        return int(run(given, debug))

    def saying(message: str, code: int) -> int:
        lacking = wrong_options(message, typed)
        wrong.extend(
            f"{' '.join(typed[:2])} lacks {', '.join(lacking)}: {message}" for _ in lacking[:1]
        )
        return int(say(message, code))

    monkeypatch.setattr(MODULE, "_run", running)
    monkeypatch.setattr(MODULE, "_say", saying)
    yield
    assert wrong == []
