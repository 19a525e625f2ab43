"""Parts of a target: one correction for all of them, their intervals, and what they are held against."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oodometer.headline.parts import (
    HETEROGENEITY,
    STRENGTH,
    OwnRows,
    Rest,
    SeenPart,
    SeenWhole,
    SharedPart,
    corrected,
    own_method,
    pooled,
    share_correction,
)
from oodometer.intervals import normal_quantile
from oodometer.results import Estimate

SHARES = st.floats(0.03, 0.97)
PARTS = st.lists(
    st.builds(SeenPart, st.integers(1, 5000), SHARES, st.floats(0.001, 0.2)), min_size=1, max_size=8
)


def whole(
    value: float = 0.8, spread: float = 0.05, source: float = 0.8, moved: float | None = 0.0
) -> SeenWhole:
    """A whole whose accuracy is normal about the value."""

    def interval(level: float) -> tuple[float, float]:
        half = spread * normal_quantile(level)
        return value - half, value + half

    return SeenWhole(
        value, interval, lambda p: value + spread * stats.norm.ppf(p), source, 1000, moved
    )


def mean_of(parts: list[SharedPart], seen: list[SeenPart]) -> float:
    return float(np.average([part.value for part in parts], weights=[part.rows for part in seen]))


@given(PARTS, SHARES)
def test_the_weighted_mean_of_the_parts_is_the_whole(seen: list[SeenPart], value: float) -> None:
    assert mean_of(share_correction(whole(value), seen), seen) == pytest.approx(value, abs=1e-9)


@given(PARTS, SHARES)
def test_one_correction_keeps_the_order_of_the_estimates(
    seen: list[SeenPart], value: float
) -> None:
    values = [part.value for part in share_correction(whole(value), seen)]
    order = np.argsort([part.estimate for part in seen], kind="stable")
    assert (np.diff(np.array(values)[order]) >= -1e-12).all()


def test_the_correction_is_one_amount_on_the_log_odds() -> None:
    """By hand: odds of 9 and 1.5, both divided by 3, are 3 and 0.5: accuracies of 0.75 and 1/3, their mean 13/24."""
    found = corrected(np.array([0.9, 0.6]), np.array([50, 50]), [13 / 24])
    assert found[0] == pytest.approx([0.75, 1 / 3], abs=1e-9)


def test_a_part_without_doubt_of_its_own_has_the_interval_of_the_whole() -> None:
    (only,) = share_correction(
        whole(0.8, 0.05), [SeenPart(10**6, 0.8, 0.0, OwnRows(10**9, 8 * 10**8, 0.8))]
    )
    assert only.interval(0.9) == pytest.approx(whole(0.8, 0.05).interval(0.9), abs=1e-6)


def test_a_part_of_a_whole_without_doubt_has_its_own() -> None:
    (only,) = share_correction(
        whole(0.8, 0.0), [SeenPart(400, 0.8, 0.02, OwnRows(10**9, 8 * 10**8, 0.8))]
    )
    assert only.interval(0.9) == pytest.approx((0.8 - 1.645 * 0.02, 0.8 + 1.645 * 0.02), abs=1e-4)


@given(st.floats(0.01, 0.1), st.floats(0.01, 0.1))
def test_chance_and_interval_speak_of_one_distribution(spread: float, error: float) -> None:
    (only,) = share_correction(whole(0.5, spread, 0.5), [SeenPart(400, 0.5, error)])
    low, high = only.interval(0.8)
    assert only.chance_below(low) == pytest.approx(0.1, abs=0.02)
    assert only.chance_below(high) == pytest.approx(0.9, abs=0.02)
    assert only.chance_below(0.5) == pytest.approx(0.5, abs=0.02)
    assert only.chance_below(low, error=0.1) > only.chance_below(low)
    assert (only.chance_below(-0.1), only.chance_below(1.0)) == (0.0, 1.0)


def test_what_a_shift_adds_vanishes_where_nothing_moved() -> None:
    def deviation(moved: float | None, of_whole: float | None) -> float:
        (only,) = share_correction(whole(moved=of_whole), [SeenPart(400, 0.8, 0.02, None, moved)])
        return only.deviation

    still = deviation(0.0, 3.0)
    assert still == pytest.approx(np.hypot(0.02, np.sqrt(0.8 * 0.2 / STRENGTH)))
    assert deviation(1.0, 0.0) == pytest.approx(np.hypot(still, HETEROGENEITY / 2))
    assert deviation(None, 1.0) == deviation(1.0, None)
    assert deviation(None, None) > still


def test_few_rows_of_its_own_are_drawn_to_what_the_estimate_says() -> None:
    assert pooled(OwnRows(int(STRENGTH), int(STRENGTH), 0.6)) == (pytest.approx(0.8), 0.5)
    few, many = (pooled(OwnRows(rows, rows, 0.6))[0] for rows in (4, 40_000))
    assert few == pytest.approx(0.6, abs=0.01)
    assert many == pytest.approx(1.0, abs=0.01)


def test_a_part_is_held_against_its_own_rows_and_all_of_them_are_the_reference() -> None:
    seen = [
        SeenPart(100, 0.95, 0.02, OwnRows(400, 380, 0.95)),
        SeenPart(100, 0.6, 0.04, OwnRows(400, 240, 0.6)),
    ]
    easy, hard = share_correction(whole(0.775, source=0.8), seen, rest=Rest(800, 0.8125))
    # all rows together are right in 0.8 and estimated at 0.79375: all are moved by one amount, up to that
    others = corrected(np.array([0.95, 0.6, 0.8125]), np.array([400, 400, 800]), [0.8])[0]
    assert (easy.reference, hard.reference) == pytest.approx((others[0], others[1]))
    assert 0.95 < easy.reference < 0.955
    assert 0.6 < hard.reference < 0.62
    assert easy.value < easy.reference, "as the whole fell, so did its parts"
    assert hard.value < hard.reference


def test_without_rows_of_its_own_it_is_the_reference_of_that_composition_or_as_it_is() -> None:
    seen = [SeenPart(100, 0.95, 0.02), SeenPart(100, 0.65, 0.04)]
    composed = share_correction(whole(0.75, source=0.8), seen)
    assert np.mean([part.reference for part in composed]) == pytest.approx(0.8)
    assert composed[0].reference > 0.93 > 0.7 > composed[1].reference
    assert [part.share for part in composed] == [None, None]
    chunks = share_correction(whole(0.75, source=0.8), seen, like_reference=True)
    assert [part.reference for part in chunks] == [0.8, 0.8]


def test_what_the_estimate_misses_in_its_reference_rows_it_misses_in_the_part() -> None:
    right = SeenPart(100, 0.8, 0.02, OwnRows(4000, 3200, 0.8))
    over = SeenPart(100, 0.8, 0.02, OwnRows(4000, 2800, 0.8))  # 10 points too high there
    calm = whole(0.7545, source=0.75)
    values = [part.value for part in share_correction(calm, [right, over])]
    assert values[0] - values[1] == pytest.approx(0.1 * 4000 / (4000 + STRENGTH), abs=0.005)


def estimates(*names: str) -> list[Estimate]:
    return [
        Estimate(name, 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021") for name in names
    ]


def test_parts_start_from_a_calibrated_estimate_and_not_from_label_shift() -> None:
    both = [estimates("source", "leap", "atc", "cbpe"), estimates("source", "leap", "cbpe")]
    assert own_method(both) == "cbpe"
    assert (
        own_method([estimates("source", "leap", "atc"), estimates("leap", "source", "atc")])
        == "atc"
    )
    assert own_method([estimates("leap", "source")]) == "source"
    assert own_method([estimates("leap"), estimates("source")]) is None


def test_a_chunk_takes_of_the_correction_as_far_as_it_moved() -> None:
    """What came over the others later hardly moves the number of a chunk in which nothing happened."""
    seen = [SeenPart(500, 0.9, 0.01, moved=moved) for moved in (0.0, 2.0)]
    calm, shifted = share_correction(whole(0.8, source=0.9), seen, like_reference=True)
    assert calm.value == pytest.approx(0.88, abs=0.015)
    assert shifted.value == pytest.approx(0.72, abs=0.015)
    assert (calm.value + shifted.value) / 2 == pytest.approx(0.8, abs=1e-9)
    widths = [high - low for low, high in (part.interval(0.9) for part in (calm, shifted))]
    assert widths[0] < widths[1] / 2
    equal = share_correction(whole(0.8, source=0.9), seen)
    assert equal[0].value == pytest.approx(equal[1].value)
