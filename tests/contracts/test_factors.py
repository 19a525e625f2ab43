"""Every registered factor obeys the contract of its kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oodometer.arrays import Array
from oodometer.registry import find, names
from oodometer.testing.methods import check_said
from oodometer_lab.attributions import WordAttributions, Words

PAPER = [
    "max-diff", "sum-diff", "index-diff", "first-tok", "const", "swap-avg", "swap-max-diff", "irreg", "verb", "adj",
]  # fmt: skip
PAIRS = (
    (
        "Unless the good men drew a map, the tall judge was sleeping.",
        "The tall men drew a good map.",
    ),
    ("The judge thought that the old king was singing.", "the old king was singing"),
)
SINGLE = (
    "The tall man drew the big map while he was singing.",
    "Some waiter ate and the young guest was sleeping.",
)


def attributed(words: Words, values: Array, separator: float) -> WordAttributions:
    return WordAttributions(words, values, separator if words.is_pair else float("nan"), 1, 0.9)


def test_the_factors_of_the_paper_in_its_order() -> None:
    assert names("factor")[: len(PAPER)] == PAPER


@pytest.mark.parametrize("name", names("factor"))
def test_contract(name: str) -> None:
    """It says which direction is bad and what it measures, changes nothing, scales, and says None for absent words."""
    factor = find("factor", name)()
    check_said(factor, "ranked lower")
    assert "Heuristic:" in type(factor).__doc__
    assert factor.heuristic
    assert not factor.heuristic.endswith("."), "`heuristic` is one sentence without its full stop"
    assert factor.needs in ((), ("pair",))
    rng = np.random.default_rng(0)
    values = []
    for text in (*PAIRS, *SINGLE):
        result = attributed(Words(text), rng.normal(size=len(Words(text).words)), rng.normal())
        before = result.values.copy()
        value = factor.value(result)
        values.append(value)
        assert np.array_equal(result.values, before), (
            "the attributions that were given stay as they are"
        )
        assert value == find("factor", name)().value(result), (
            "the same attributions, the same number"
        )
        if value is not None:
            assert isinstance(value, float)
            assert math.isfinite(value)
            twice = factor.value(attributed(result.words, 2 * result.values, 2 * result.separator))
            assert twice == pytest.approx(2 * value, rel=1e-9), (
                "twice the attributions, twice the number"
            )
    assert any(value is not None for value in values), "some example has a number"
    if "pair" in factor.needs:
        assert values[len(PAIRS) :] == [None] * len(SINGLE), (
            "None for a single text, where a pair is needed"
        )
    odd = attributed(Words(("12 34", "")), np.array([0.5, 0.25]), float("nan"))
    assert factor.value(odd) is None or not factor.needs, "None where a part has no word"
