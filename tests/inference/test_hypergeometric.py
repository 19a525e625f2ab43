"""The hypergeometric law against scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from oodometer.inference.hypergeometric import (
    chance_of_at_least,
    chance_of_at_most,
    hypergeometric_law,
    hypergeometric_quantiles,
)


@st.composite
def urns(draw: st.DrawFn) -> tuple[int, int, int]:
    """Rows, hits among them, and rows drawn."""
    population = draw(st.integers(1, 100_000))
    return population, draw(st.integers(0, population)), draw(st.integers(0, min(population, 2000)))


@given(urns(), st.floats(0, 1))
def test_chances_are_scipys(urn: tuple[int, int, int], where: float) -> None:
    law, hits = hypergeom(*urn), round(where * urn[2])
    assert chance_of_at_most(hits, *urn) == pytest.approx(law.cdf(hits), rel=1e-8, abs=1e-200)
    assert chance_of_at_least(hits, *urn) == pytest.approx(law.sf(hits - 1), rel=1e-8, abs=1e-200)


@given(urns())
def test_chances_add_up_and_have_the_mean(urn: tuple[int, int, int]) -> None:
    population, successes, draws = urn
    fewest, chance = hypergeometric_law(*urn)
    assert chance.sum() == pytest.approx(1)
    mean = float(chance @ (fewest + np.arange(len(chance))))
    assert mean == pytest.approx(draws * successes / population, abs=1e-8 * max(draws, 1))


def test_quantiles_are_scipys() -> None:
    shares = np.array([0.03, 0.28, 0.5, 0.97])
    for urn in ((600, 510, 60), (50_000, 46_000, 1000), (7, 7, 3), (9, 0, 4), (40, 20, 40)):
        found = hypergeometric_quantiles(shares, *urn)
        assert found.tolist() == hypergeom(*urn).ppf(shares).tolist()


def test_a_chance_that_is_a_tail_exactly() -> None:
    """One hit among three of twelve rows, one right: 3/12, which no rounding may lift above a quarter."""
    assert chance_of_at_least(1, 12, 1, 3) == 0.25
