"""Judged pairs: weights, slopes and intervals of two systems against formulas worked by hand and a known truth."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.audits.judged_pairs import paired_rates, shared_weights
from oodometer.audits.judges import Judged

RNG = np.random.default_rng(0)


def runs(
    rows: int, changed: float, first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> tuple[Judged, Judged, float]:
    """Two versions of one system, labels on these rows of either, and how much better the second is here."""
    good = rng.random(rows) < 0.6
    said = np.where(good, rng.random(rows) < 0.85, rng.random(rows) > 0.8)
    is_changed = rng.random(rows) < changed
    again = np.where(is_changed, rng.random(rows) < 0.6, good)
    said_again = np.where(again, rng.random(rows) < 0.85, rng.random(rows) > 0.8)
    said_again = np.where(is_changed, said_again, said)
    out = [
        Judged(v[None].astype(float), np.sort(row), y[np.sort(row)].astype(float), ("judge",))
        for v, y, row in ((said, good, first), (said_again, again, second))
    ]
    return out[0], out[1], float(again.mean() - good.mean())


def test_weights_are_those_of_least_variance() -> None:
    for both, first, second, r in ((10, 20, 50, 0.6), (5, 0, 30, 0.3), (0, 9, 9, 0.0)):
        w_a, w_b = shared_weights(both, first, second, r)

        def variance(a: float, b: float) -> float:
            inner = (a * a + b * b - 2 * r * a * b) / max(both, 1)  # noqa: B023
            alone = [(1 - w) ** 2 / n for w, n in ((a, first), (b, second)) if n]  # noqa: B023
            return float(inner + sum(alone))

        least = variance(w_a, w_b)
        steps = [(0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)]
        moved = [(w_a + x * bool(first), w_b + y * bool(second)) for x, y in steps]
        assert all(variance(a, b) >= least - 1e-12 for a, b in moved) or not both


def test_without_verdicts_it_is_the_paired_mean_of_labels() -> None:
    a, b, _ = runs(400, 0.3, np.arange(90), np.arange(90), RNG)
    found = paired_rates(a, b, "system", leaning=False)
    d = b.truth - a.truth
    assert found.value == pytest.approx(d.mean())
    assert found.variance == pytest.approx(d.var(ddof=1) / 90 + 2 / 92**2)
    assert found.middle == pytest.approx(d.sum() / 92)
    rows = paired_rates(a, b, "rows", leaning=False)
    part = 1 - 90 / 400
    assert rows.variance == pytest.approx(part * (d.var(ddof=1) / 90 + 2 / 92**2))


def test_labels_of_two_samples_add_their_variances() -> None:
    a, b, _ = runs(500, 1.0, np.arange(80), np.arange(80, 200), RNG)
    found = paired_rates(a, b, "system", leaning=False)
    assert found.value == pytest.approx(b.truth.mean() - a.truth.mean())
    each = a.truth.var(ddof=1) / 80 + b.truth.var(ddof=1) / 120
    assert found.variance == pytest.approx(each + 0.5 / 82**2 + 0.5 / 122**2)


def test_no_label_that_differs_is_no_certainty() -> None:
    rows = np.arange(30)
    good = np.arange(300) % 3 > 0
    run = Judged(good[None].astype(float), rows, good[rows].astype(float), ("judge",))
    value, lower, upper = paired_rates(run, run, "system").interval(0.95)
    assert value == 0
    assert lower == pytest.approx(-upper)
    assert 0.08 < upper < 0.12  # of 30 rows none: up to 11.6 % may (Clopper and Pearson)


@pytest.mark.parametrize("design", ["shared", "apart"])
def test_intervals_hold_their_level(design: str) -> None:
    rng, hits = np.random.default_rng(5), []
    for _ in range(150):
        first = rng.permutation(300)[:40]
        second = first if design == "shared" else rng.permutation(300)[:40]
        a, b, truth = runs(300, 0.5, first, second, rng)
        system, rows = (paired_rates(a, b, which).interval(0.95) for which in ("system", "rows"))
        hits.append((system[1] <= 0 <= system[2], rows[1] <= truth <= rows[2]))
    assert np.mean(hits, axis=0).min() > 0.92


def test_clusters_of_one_row_change_nothing_and_copies_count_once() -> None:
    a, b, _ = runs(200, 0.4, np.arange(60), np.arange(60), RNG)
    plain = paired_rates(a, b, "system")
    single = paired_rates(a, b, "system", np.arange(200))
    assert single.value == pytest.approx(plain.value, abs=0.01)
    assert single.variance == pytest.approx(plain.variance, rel=0.1)
    pairs = paired_rates(a, b, "system", np.arange(200) // 10)
    assert pairs.freedom == 4


def test_more_labels_and_a_better_judge_make_it_shorter() -> None:
    rng = np.random.default_rng(1)

    def variance(labels: int, leaning: bool) -> float:
        rows = np.arange(labels)
        pairs = [runs(500, 0.8, rows, rows, rng)[:2] for _ in range(20)]
        found = [paired_rates(*pair, "system", leaning=leaning).variance for pair in pairs]
        return float(np.mean(found))

    assert variance(150, True) < variance(150, False) < variance(50, True)
