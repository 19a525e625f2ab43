"""The prior of natural differences: its signs by hand, its symmetry, and what it decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oodometer.headline.natural_differences import (
    PairSigns,
    group_of,
    packaged_differences,
    pairs_on_target,
)

CLEAR = PairSigns(200, 400, 0.2, 0.6, (0.5, 0.5), 0.02)


def test_signs_by_hand() -> None:
    reference = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0]])
    target = np.array([[0, 0], [0, 1], [1, 0]])
    right = reference == np.array([0, 0, 1, 0])
    signs = {(i, j): one for i, j, one in pairs_on_target(right, reference, target)}
    # the first two part on two rows of the reference; each is right on one of them, and the third sides with it
    assert signs[0, 1] == PairSigns(2, 1, 0.5, 0.0, (1.0, 0.0), 0.25)
    assert signs[0, 2] == PairSigns(1, 1, 0.5, -1 / 3, (1.0, -1.0), pytest.approx((0.5 + 0.25) / 2))
    assert [
        one.agreement for _, _, one in pairs_on_target(right[:2], reference[:2], target[:2])
    ] == [None]


@pytest.mark.parametrize("agreement", [(0.5, 0.5), (-0.4, 0.3), None])
def test_swapping_the_models_turns_the_difference_around(
    agreement: tuple[float, float] | None,
) -> None:
    signs, prior = replace(CLEAR, agreement=agreement), packaged_differences()
    swapped = replace(
        signs,
        reference=-0.6,
        agreement=None if agreement is None else (-agreement[0], -agreement[1]),
    )
    assert group_of(signs) == group_of(swapped)
    (one, chance), (other, less) = prior.difference(signs, 0.9), prior.difference(swapped, 0.9)
    assert chance == pytest.approx(1 - less)
    assert (one.value, one.lower, one.upper) == pytest.approx(
        (-other.value, -other.upper, -other.lower)
    )
    assert -signs.share <= one.lower <= one.value <= one.upper <= signs.share


def test_what_speaks_for_a_model_counts() -> None:
    prior = packaged_differences()
    chances = [
        prior.difference(one, 0.9)[1]
        for one in (CLEAR, replace(CLEAR, agreement=None), replace(CLEAR, agreement=(-0.5, 0.5)))
    ]
    assert chances[0] > prior.sure["agree"]  # reference and other models agree
    assert chances == sorted(chances, reverse=True)
    few = replace(CLEAR, reference_rows=5)
    moved = replace(CLEAR, moved=0.5)
    assert max(prior.difference(one, 0.9)[1] for one in (few, moved)) < chances[0]
    wide, narrow = (prior.difference(one, 0.9)[0].width for one in (moved, CLEAR))
    assert wide > narrow


def test_models_that_never_part_do_not_differ() -> None:
    interval, chance = packaged_differences().difference(replace(CLEAR, rows=0, share=0.0), 0.95)
    assert (interval.value, interval.lower, interval.upper, chance) == (0.0, 0.0, 0.0, 0.5)


def test_the_packaged_numbers() -> None:
    prior = packaged_differences()
    assert {(weights.shape, table.shape) for weights, table in prior.groups.values()} == {
        ((3,), (len(prior.levels), 3))
    }
    assert np.allclose(prior.levels + prior.levels[::-1], 1)
    assert (
        set(prior.groups)
        == set(prior.decided)
        == set(prior.sure)
        == {"agree", "contradict", "alone"}
    )
    assert "pairs of" in prior.assumes
    assert 0.8 < prior.decided["agree"][1] < 1
