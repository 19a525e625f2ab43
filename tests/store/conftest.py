"""Shared by the tests of the store: a record that has every field, and a way to write small files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oodometer.predictions import Predictions


def make_record(
    rows: int, classes: tuple[int | str, ...] = ("cat", "dog", "emu"), seed: int = 0
) -> Predictions:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(len(classes)), size=rows).astype(np.float32)
    names = np.array(classes, dtype=object)
    some = names[rng.integers(len(classes), size=(3, rows))]
    label = names[rng.integers(len(classes), size=rows)]
    label[rng.random(rows) < 0.3] = None
    return Predictions.from_arrays(
        classes=classes,
        names={"model": ("small", "big", "huge")} if isinstance(classes[0], str) else {},
        label=label,
        prediction=names[probabilities.argmax(axis=1)],
        probabilities=probabilities,
        logits=np.log(probabilities + 1e-6),
        confidence=probabilities.max(axis=1),
        members=some,
        member_probabilities=np.stack([probabilities, probabilities[::-1], probabilities]),
        token_logprobs=[-rng.random(int(n)) for n in rng.integers(4, size=rows)],
        views=some[:2],
        votes=rng.random((2, rows)) < 0.5,
        features=rng.random((rows, 4)),
        correct=[None if u < 0.2 else bool(u < 0.6) for u in rng.random(rows)],
        input=[f'say "{i}",\nplease' for i in range(rows)],
        output=["yes"] * rows,
        time=np.arange(rows).astype("datetime64[us]"),
        group=[f"g{i % 3}" for i in range(rows)],
        columns={"age": np.arange(rows), "weight": rng.random(rows)},
    )


@pytest.fixture(scope="session")
def record_of() -> Callable[..., Predictions]:
    """A maker of records of so many rows with every field: ``record_of(rows, classes)``."""
    return make_record


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file into the test's folder and return its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
