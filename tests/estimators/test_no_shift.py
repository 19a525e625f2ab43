"""The promise of the intervals: where nothing has shifted they hold the accuracy as often as they say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.arrays import softmax
from oodometer.estimators.base import Sums
from oodometer.registry import create

REPEATS = 200
LEVEL = 0.9
LEAST = 0.86  # 172 of 200: a method that holds 90 % falls below it once in twenty-five, the seed is fixed
METHODS = ("source", "ac", "doc", "atc", "atc-entropy", "threshold-classwise", "im", "cbpe", "gde-difference")
CLASSES = 3


def draw(rows: int, rng: np.random.Generator, bias: float = 0.0) -> Predictions:
    """A model whose probabilities are the true ones (or overconfident by ``bias``), and two others that see less."""
    z = 1.8 * rng.standard_normal((rows, CLASSES))
    p = softmax(z)
    label = (p.cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-9)).argmax(axis=1)
    others = (z + 1.2 * rng.standard_normal((2, rows, CLASSES))).argmax(axis=2)
    return Predictions.from_arrays(probabilities=softmax(z * (1 + bias)), label=label, members=others)


def population_accuracy() -> float:
    """The mean of the highest true probability: what the accuracy of a sample without end would be."""
    z = 1.8 * np.random.default_rng(99).standard_normal((2_000_000, CLASSES))
    return float(softmax(z).max(axis=1).mean())


def coverage(methods: tuple[str, ...], bias: float, reference_rows: int, target_rows: int) -> dict[str, float]:
    rng = np.random.default_rng([int(10 * bias), reference_rows, target_rows])
    truth = population_accuracy()
    made: dict[str, Any] = {name: create("estimator", name, level=LEVEL).lighter() for name in methods}
    held: Counter[str] = Counter()
    for _ in range(REPEATS):
        reference, target = draw(reference_rows, rng, bias), draw(target_rows, rng, bias)
        for name, method in made.items():
            found = method.fit(reference).estimate(target)
            held[name] += found.lower <= truth <= found.upper
    return {name: held[name] / REPEATS for name in methods}


@pytest.mark.parametrize(("reference_rows", "target_rows"), [(300, 300), (150, 1500)])
def test_intervals_hold_the_accuracy_of_the_population(reference_rows: int, target_rows: int) -> None:
    """The second case is the harder one: nearly all of the doubt comes from the reference."""
    found = coverage(METHODS, 0.0, reference_rows, target_rows)
    assert min(found.values()) >= LEAST, found


@pytest.mark.parametrize(("reference_rows", "target_rows"), [(20_000, 200), (2000, 2000), (200, 20_000)])
def test_source_holds_the_accuracy_of_these_rows(reference_rows: int, target_rows: int) -> None:
    """2,000 draws from counts: the chance of the target's own rows is in the interval."""
    rng, held = np.random.default_rng([reference_rows, target_rows]), 0
    method = create("estimator", "source", level=LEVEL).fit(Predictions.from_classes([0], label=[0]))
    for right, there in rng.binomial([reference_rows, target_rows], 0.9, size=(2000, 2)).tolist():
        found = method.with_counts(right, reference_rows).finish(Sums(rows=target_rows))
        held += found.lower <= there / target_rows <= found.upper
    assert 0.88 <= held / 2000 <= 0.96


def test_doc_holds_the_accuracy_of_these_rows_where_confidence_is_far_too_high() -> None:
    """Confidence near 1 hardly varies, correctness does: the rows' own gaps are the chance, not m (1 - m)."""
    method, held = create("estimator", "doc", level=LEVEL), 0
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        reference, target = (
            Predictions.from_confidence(rng.uniform(0.97, 1, n), correct=rng.random(n) < 0.7) for n in (5000, 200)
        )
        found = method.fit(reference).estimate(target)
        held += found.lower <= target.accuracy <= found.upper
    assert held / REPEATS >= LEAST


def test_overconfidence_that_is_the_same_on_both_sides_does_no_harm() -> None:
    """All but AC read off the reference how often a confidence is right; AC believes it, and is wrong every time."""
    found = coverage(tuple(m for m in METHODS if m != "source"), 1.0, 200, 1500)
    assert found.pop("ac") < 0.2
    assert min(found.values()) >= LEAST, found


def test_intervals_are_not_wider_than_they_need_be() -> None:
    """An interval of [0, 1] holds everything: with 300 rows on each side the widths are near those of two samples."""
    rng = np.random.default_rng(5)
    two_samples = 2 * 1.645 * np.sqrt(2 * 0.7 * 0.3 / 300)
    for name in METHODS:
        width = [
            found.upper - found.lower
            for found in (
                create("estimator", name, level=LEVEL).lighter().fit(draw(300, rng)).estimate(draw(300, rng))
                for _ in range(10)
            )
        ]
        assert np.mean(width) < 1.5 * two_samples, name
