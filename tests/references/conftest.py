"""Independent libraries that our numbers are held against; each is imported quietly, or its tests are skipped."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer import Predictions


@pytest.fixture(scope="session")
def library() -> Callable[[str], ModuleType]:
    """The module of this name; warnings while it is imported are its own affair."""

    def found(name: str) -> ModuleType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module: ModuleType = pytest.importorskip(
                name, reason=f"{name} is not installed (extra: dev)"
            )
        return module

    return found


@pytest.fixture(scope="session", params=[2, 5, 20], ids=lambda classes: f"{classes} classes")
def record(request: pytest.FixtureRequest) -> Predictions:
    """An over-confident model of 2, 5 or 20 classes: labels are drawn from flatter probabilities than it states."""
    classes = request.param
    rng = np.random.default_rng(classes)
    probabilities = rng.dirichlet(np.full(classes, 0.4), 2000)
    flat = probabilities**0.6 / (probabilities**0.6).sum(axis=1, keepdims=True)
    label = (flat.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=classes - 1)
    return Predictions.from_probabilities(probabilities, label=label)
