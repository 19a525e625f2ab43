"""Rates corrected by judges: the interval by verdict, error rates, bias and change, on simulated verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.audits.judges import (
    Counts,
    Judged,
    biases,
    changes,
    combined,
    corrections,
    rates_of,
    rogan_gladen,
    rows_to_label,
)
from oodometer.intervals import wilson

from ..snapshots import assert_snapshot

ROWS = 2000


def drawn(
    rng: np.random.Generator,
    labels: int,
    rate: float = 0.6,
    right: tuple[tuple[float, float], ...] = ((0.9, 0.6),),
) -> tuple[Judged, float]:
    good = rng.random(ROWS) < rate
    verdicts = [
        np.where(good, rng.random(ROWS) < a, rng.random(ROWS) >= b).astype(float) for a, b in right
    ]
    names = tuple(f"judge {j}" for j in range(len(right)))
    return Judged(np.array(verdicts), np.arange(labels), good[:labels].astype(float), names), float(
        good.mean()
    )


def by_verdict(judged: Judged, level: float = 0.95) -> tuple[float, float, float]:
    return Counts.of(judged, judged.cells, level).interval(level)


def test_one_cell_of_many_rows_is_wilsons_interval_with_students_quantile() -> None:
    value, low, high = combined(np.array([1e12]), np.array([1e6]), np.array([0.3]), 0.95)
    assert (value, low, high) == pytest.approx((0.3, *wilson(0.3, 1e6, 0.95)), abs=1e-6)


def test_a_cell_without_labels_may_hold_anything_and_labelled_rows_are_certain() -> None:
    _, low, high = combined(
        np.array([500.0, 500]), np.array([500.0, 0]), np.array([0.8, 0.5]), 0.95
    )
    assert (low, high) == pytest.approx((0.4, 0.9))
    assert combined(np.array([10.0, 10]), np.array([10.0, 10]), np.array([0.5, 1]), 0.95) == (
        0.75,
        0.75,
        0.75,
    )


@pytest.mark.parametrize(
    "right", [((0.6, 0.6),), ((0.95, 0.8),), ((0.9, 0.6), (0.7, 0.8), (0.6, 0.6))]
)
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_interval_covers_at_fifty_labels_and_is_narrower_than_labels_alone(
    rate: float, right: tuple[tuple[float, float], ...]
) -> None:
    rng = np.random.default_rng(1)
    inside, widths, alone = 0, [], []
    for _ in range(300):
        judged, truth = drawn(rng, 50, rate, right)
        _, low, high = by_verdict(judged)
        inside += low <= truth <= high
        widths.append(high - low)
        _, low, high = Counts.of(judged, np.zeros(ROWS, dtype=np.int64), 0.95).interval(0.95)
        alone.append(high - low)
    assert inside >= 0.92 * 300
    assert np.mean(widths) < 1.04 * np.mean(alone)


def test_several_judges_say_more_than_one() -> None:
    rng = np.random.default_rng(2)
    one, three = [], []
    for _ in range(100):
        judged, _ = drawn(rng, 150, 0.5, ((0.8, 0.8),) * 3)
        first = Judged(judged.verdicts[:1], judged.row, judged.truth, judged.names[:1])
        one.append(np.ptp(by_verdict(first)[1:]))
        three.append(np.ptp(by_verdict(judged)[1:]))
    assert np.mean(three) < 0.9 * np.mean(one)


def test_grades_of_people_have_a_shorter_interval_than_yes_and_no() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(300):
        truth = np.clip(np.round(4 * rng.beta(6, 4, ROWS)) / 4, 0, 1)
        verdict = np.clip(truth + rng.choice([-0.25, 0, 0.25], ROWS), 0, 1)
        judged = Judged(verdict[None], np.arange(60), truth[:60], ("grade",))
        value, low, high = by_verdict(judged)
        inside += low <= truth.mean() <= high
        assert low < value < high
        assert high - low < 0.12
    assert inside >= 0.92 * 300


def test_corrected_differences_cover() -> None:
    rng = np.random.default_rng(13)
    inside = 0
    for _ in range(300):
        good = rng.random(ROWS) < 0.6
        better = np.where(rng.random(ROWS) < 0.7, good, rng.random(ROWS) < 0.8)
        first, second = (
            np.where(y, rng.random(ROWS) < 0.9, rng.random(ROWS) < 0.4).astype(float)
            for y in (good, better)
        )
        truth = (better.astype(float) - good + 1) / 2
        judged = Judged((second - first + 1)[None] / 2, np.arange(100), truth[:100], ("j",))
        _, low, high = by_verdict(judged)
        inside += low <= truth.mean() <= high
    assert inside >= 0.92 * 300


def test_rogan_gladen_is_the_formula() -> None:
    said = np.concatenate([np.arange(100) < 90, np.arange(100) < 30, np.arange(800) < 400]).astype(
        float
    )
    judged = Judged(said[None], np.arange(200), np.repeat([1.0, 0.0], 100), ("j",))
    value, low, high = rogan_gladen(judged, 0.95)
    assert value == pytest.approx((0.52 + 0.7 - 1) / (0.9 + 0.7 - 1))
    assert low < value < high


def test_all_intervals_are_there_and_the_default_is_the_first() -> None:
    judged, truth = drawn(np.random.default_rng(4), 100)
    counts, alone = (
        Counts.of(judged, judged.cells, 0.95),
        Counts.of(judged, np.zeros(ROWS, dtype=np.int64), 0.95),
    )
    made, left = corrections(judged, counts, alone, 0.95, 0, clustered=False)
    assert [e.method for e in made] == ["by-verdict", "labels-alone", "ppi-betting", "ppi++", "rogan-gladen",
                                        "votes-corrected"]  # fmt: skip
    assert not left
    assert all(e.lower <= truth <= e.upper for e in made)
    clustered, left = corrections(judged, counts, alone, 0.95, 0, clustered=True)
    assert [e.method for e in clustered] == ["by-verdict", "labels-alone"]
    assert left


def test_dependent_rows_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    good = np.repeat(rng.random(200) < 0.5, 10)
    judged = Judged(
        np.where(rng.random(ROWS) < 0.8, good, ~good)[None].astype(float),
        np.arange(200),
        good[:200] * 1.0,
        ("j",),
    )
    plain, wide = (
        Counts.of(judged, judged.cells, 0.95, keys).interval(0.95)
        for keys in (None, np.arange(200, dtype=np.uint64) // 10)
    )
    assert np.ptp(wide[1:]) > 1.8 * np.ptp(plain[1:])


def test_labels_of_one_verdict_alone_are_no_random_sample() -> None:
    judged, truth = drawn(np.random.default_rng(6), 400)
    passed = judged.scores[0] > 0.5
    row = judged.row[passed[judged.row]]
    some = Judged(judged.verdicts, row, judged.truth[passed[judged.row]], judged.names)
    assert some.selected is not None
    assert judged.selected is None
    counts = Counts.of(some, some.cells, 0.95)
    made, left = corrections(some, counts, counts, 0.95, 0, clustered=False)
    assert [(e.method, e.kind) for e in made] == [("by-verdict", "conditional")]
    assert made[0].lower <= truth <= made[0].upper
    assert_snapshot(left[0])
    assert rates_of(some, counts, some.cells, 0.95, 0)[0].agreement is None


def test_rates_are_those_of_the_table() -> None:
    judged, _ = drawn(np.random.default_rng(7), 300)
    counts = Counts.of(judged, judged.cells, 0.95)
    rates = rates_of(judged, counts, judged.cells, 0.95, 0)[0]
    passed, good = judged.scores[0][:300] > 0.5, judged.truth > 0.5
    assert rates.sensitivity is not None
    assert rates.kappa is not None
    assert rates.sensitivity.value == pytest.approx(passed[good].mean())
    assert rates.sensitivity.kind == "exact"
    agreement = (passed == good).mean()
    chance = passed.mean() * good.mean() + (1 - passed.mean()) * (1 - good.mean())
    assert rates.kappa.value == pytest.approx((agreement - chance) / (1 - chance))
    assert rates.kappa.lower < rates.kappa.value < rates.kappa.upper


def test_a_column_that_means_the_opposite_is_seen() -> None:
    judged, _ = drawn(np.random.default_rng(8), 100)
    assert judged.below_chance(0) > 0.5
    turned = Judged(1 - judged.verdicts, judged.row, judged.truth, judged.names)
    assert turned.below_chance(0) < 0.001


def test_bias_is_found_where_it_is_and_corrected_for_looks() -> None:
    rng = np.random.default_rng(9)
    length = rng.lognormal(size=400)
    good = rng.random(400) < 0.5
    said = np.where(good, rng.random(400) < 0.9, rng.random(400) < 0.2 + 0.5 * (length > 1))
    judged = Judged(said[None].astype(float), np.arange(400), good.astype(float), ("j",))
    group = rng.integers(0, 3, 400).astype(str).astype(object)
    found = biases(judged, {"group": group, "length": length, "same": np.ones(400)})
    assert [bias.column for bias in found] == ["length", "group"]
    assert found[0].corrected < 0.001
    assert found[0].difference == pytest.approx(0.25, abs=0.1)
    assert found[1].corrected == found[1].p_value or found[1].corrected >= found[1].p_value
    assert found[1].corrected > 0.01


def test_a_judge_that_changed_is_told_from_one_that_did_not() -> None:
    rng = np.random.default_rng(10)
    runs = [drawn(rng, 400, 0.6, (right,))[0] for right in ((0.9, 0.8), (0.9, 0.4))]
    by_rate = {change.column: change for change in changes(*runs)}
    assert by_rate["false alarms"].corrected < 0.001
    assert by_rate["false alarms"].difference == pytest.approx(0.4, abs=0.12)
    assert by_rate["sensitivity"].corrected > 0.05


def test_rows_to_label_are_spread_over_verdicts() -> None:
    judged, _ = drawn(np.random.default_rng(11), 100, 0.6, ((0.9, 0.6), (0.8, 0.8)))
    row = rows_to_label(judged, 200, 0)
    assert len(set(row.tolist())) == 200
    assert not set(row.tolist()) & set(range(100))
    for verdict in judged.scores:
        assert verdict[row].mean() == pytest.approx(verdict[100:].mean(), abs=0.02)


def test_fewer_labels_suffice_with_a_judge() -> None:
    judged, _ = drawn(np.random.default_rng(12), 200, 0.5, ((0.95, 0.9),))
    counts, alone = (
        Counts.of(judged, judged.cells, 0.95),
        Counts.of(judged, np.zeros(ROWS, dtype=np.int64), 0.95),
    )
    assert (counts.labels_for(0.1, 0.95) or 0) < 0.7 * (alone.labels_for(0.1, 0.95) or 0)
    assert counts.labels_for(0.0, 0.95) in (None, ROWS)
