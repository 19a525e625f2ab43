"""Agreement: alpha of the published example, of the definition by plain loops, and its interval by simulation."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from oodometer.arrays import Array
from oodometer.errors import NotApplicable
from oodometer.inference.agreement import Ratings, Scale, agreement, vote

from ..snapshots import raises_snapshot

N = np.nan
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": four observers of twelve units.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ]
)


def by_loops(ratings: Array, scale: Scale) -> float:
    """The definition, pair by pair."""
    units = [[float(v) for v in column if v == v] for column in ratings.T]
    units = [unit for unit in units if len(unit) > 1]
    times = Counter(value for unit in units for value in unit)
    n = sum(times.values())

    def apart(v: float, w: float) -> float:
        if scale == "nominal":
            return float(v != w)
        if scale == "interval":
            return (v - w) ** 2
        low, high = sorted((v, w))
        between = sum(count for value, count in times.items() if low <= value <= high)
        return float((between - (times[v] + times[w]) / 2) ** 2)

    observed = sum(
        apart(v, w) / (len(unit) - 1) for unit in units for v, w in permutations(unit, 2)
    )
    values = [value for unit in units for value in unit]
    expected = sum(apart(v, w) for v, w in permutations(values, 2)) / (n - 1)
    return 1 - observed / expected


@pytest.mark.parametrize(
    ("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_the_published_example(scale: Scale, alpha: float) -> None:
    assert agreement(Ratings.of(PUBLISHED), scale).alpha.value == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_is_the_definition(scale: Scale) -> None:
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (4, 30)).astype(float)
    ratings[rng.random((4, 30)) < 0.3] = N
    assert agreement(Ratings.of(ratings), scale).alpha.value == pytest.approx(
        by_loops(ratings, scale)
    )


def test_agreement_with_the_vote_of_the_others_by_loops() -> None:
    """A tie of two among the others counts a half where one of them is the rating."""
    ratings = np.array([[1, 1, 1, 2], [1, 2, 2, 2], [1, 2, 3, N]])
    # Unit 1: 3 of 3. Unit 2: 1 against 2, 2; 2 against 1, 2 (a half), twice. Unit 3: none. Unit 4: 2 of 2.
    assert agreement(Ratings.of(ratings)).with_vote.value == pytest.approx((3 + 1 + 0 + 2) / 11)


def test_no_order_of_raters_or_items_changes_anything() -> None:
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 3, (3, 40)).astype(float)
    turned = ratings[rng.permutation(3)][:, rng.permutation(40)]
    assert agreement(Ratings.of(turned)) == agreement(Ratings.of(ratings))


def test_what_has_no_alpha() -> None:
    with raises_snapshot(NotApplicable):
        Ratings.of(np.array([[1, N], [N, 2]]))
    with raises_snapshot(NotApplicable):
        Ratings.of(np.ones((3, 9)))


@pytest.mark.parametrize("scale", ["nominal", "interval"])
def test_raters_who_never_disagree_are_not_certain_to_agree(scale: Scale) -> None:
    found = agreement(Ratings.of(np.array([[0.0, 1.0] * 10] * 2)), scale).alpha
    assert (found.value, found.upper) == (1, 1)
    assert 0.5 < found.lower < 0.9  # of 20 items, 17 % may be disagreed on


def test_the_interval_holds_the_alpha_of_many_items() -> None:
    """Two words, three raters, 40 items: 95 % of intervals, here at least 90 of 100."""

    def draw(items: int, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, items)
        return np.where(rng.random((3, items)) < 0.85, truth, 1 - truth).astype(float)

    alpha = agreement(Ratings.of(draw(100_000, 0))).alpha.value
    found = [agreement(Ratings.of(draw(40, seed))).alpha for seed in range(1, 101)]
    assert sum(one.lower <= alpha <= one.upper for one in found) >= 90
    assert np.mean([one.width for one in found]) < 0.45


def test_votes_and_ties() -> None:
    winners, shares = vote(np.array([[1, 1, N], [1, 2, N], [2, N, 3.0]]))
    assert winners[[0, 2]].tolist() == [1, 3]
    assert np.isnan(winners[1])
    assert shares.tolist() == [2 / 3, 0.5, 1]
