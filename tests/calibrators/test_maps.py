"""Maps from probability to rate: bins, pool-adjacent-violators, folds from counts, isotonic and histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.isotonic import IsotonicRegression

import oodometer.calibrators.isotonic as isotonic_module
from oodometer import Predictions
from oodometer.calibrators import Histogram, Isotonic
from oodometer.calibrators.binned_map import (
    BinnedMap,
    _isotonic,
    _make,
    bin_numbers,
    bins_for,
    centres,
    count_bins,
    deal_into_folds,
    fit_map,
)
from oodometer.calibrators.isotonic import class_counts
from oodometer.errors import NotApplicable
from oodometer.inference.row_sample import (
    FOLDS,
    RowSample,
    content_folds,
    content_order,
    content_sample,
)
from oodometer.kernels import LOG_ODDS_BINS
from oodometer.metrics import brier_score
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

COUNTS = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.integers(0, 40)
)


def counts_of(seed: int, classes: int = 3, bins: int = 40, most: int = 30) -> tuple[Any, Any]:
    """Random rows and hits with axes (class, bin), some cells empty; hits become more likely along the bins."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, most, (classes, bins)) * (rng.random((classes, bins)) < 0.6)
    return rows, rng.binomial(rows, np.linspace(0.1, 0.9, bins))


@pytest.mark.parametrize("classes", [1, 2, 16, 17, 1000])
def test_bins_are_fine_for_few_classes_and_coarse_for_many(classes: int) -> None:
    width = LOG_ODDS_BINS if classes <= 16 else LOG_ODDS_BINS // 8
    assert bins_for(classes) == width
    middle = centres(classes)
    assert middle.shape == (width,)
    assert (np.diff(middle) > 0).all()
    assert bin_numbers(middle, classes).tolist() == list(range(width))
    p = np.sort(np.random.default_rng(0).beta(0.2, 0.2, 500))
    bins = bin_numbers(p, classes)
    assert (np.diff(bins) >= 0).all()
    assert bin_numbers(np.array([0.0, 1.0]), classes).tolist() == [0, width - 1]


@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=30), classes=st.sampled_from([2, 30]))
def test_bins_keep_the_order(p: list[float], classes: int) -> None:
    assert (np.diff(bin_numbers(np.sort(np.array(p)), classes)) >= 0).all()


@given(cells=st.lists(st.tuples(st.integers(0, 2), st.integers(0, LOG_ODDS_BINS - 1)), max_size=30))
def test_cells_are_counted_as_a_loop_does(cells: list[tuple[int, int]]) -> None:
    want = np.zeros((3, LOG_ODDS_BINS), dtype=int)
    for kind, where in cells:
        want[kind, where] += 1
    kinds, bins = (np.array([c[i] for c in cells], dtype=np.int32) for i in (0, 1))
    assert (count_bins(kinds, bins.astype(np.intp), 3) == want).all()


@pytest.mark.parametrize("classes", [3, 20])
def test_class_counts_are_those_of_a_loop(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and hits of each class against the rest, in pieces of seven rows."""
    monkeypatch.setattr(isotonic_module, "_CHUNK", 7 * classes)
    rng = np.random.default_rng(classes)
    p, label = rng.dirichlet(np.full(classes, 0.4), 53), rng.integers(0, classes, 53)
    rows, hits = class_counts(p, label)
    want_rows, want_hits = np.zeros_like(rows), np.zeros_like(hits)
    for i in range(53):
        for k in range(classes):
            where = int(bin_numbers(p[i, k : k + 1], classes)[0])
            want_rows[k, where] += 1
            want_hits[k, where] += label[i] == k
    assert (rows == want_rows).all()
    assert (hits == want_hits).all()


@given(counts=COUNTS, seed=st.integers(0, 5))
def test_folds_of_counts_sum_back(counts: Any, seed: int) -> None:
    folds = deal_into_folds(counts, seed)
    assert folds.shape == (FOLDS, *counts.shape)
    assert (folds >= 0).all()
    assert (folds.sum(axis=0) == counts).all()
    assert (deal_into_folds(counts, seed) == folds).all()


def test_folds_are_of_equal_size_and_independent_of_each_other() -> None:
    counts = np.full((2, 50), 200)
    one, other = deal_into_folds(counts, 1), deal_into_folds(counts, 2)
    for folds in (one, other):
        np.testing.assert_allclose(folds.sum(axis=(1, 2)) / counts.sum(), 1 / FOLDS, atol=0.02)
        assert folds.std() > 2, "dealt at random, not evenly"
    assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.15, (
        "hits and misses are dealt apart"
    )


@given(keys=st.lists(st.integers(0, 3), min_size=1, max_size=60), seed=st.integers(0, 9))
def test_folds_of_rows_are_equally_large_whatever_the_order(keys: list[int], seed: int) -> None:
    key = np.array(keys) / 4
    fold = content_folds(Predictions.from_confidence(key, correct=[1] * len(key)))
    assert np.ptp(np.bincount(fold, minlength=FOLDS)) <= 1
    order = np.random.default_rng(seed).permutation(len(keys))
    again = content_folds(Predictions.from_confidence(key[order], correct=[1] * len(key)))
    for value in set(keys):
        assert sorted(again[key[order] == value]) == sorted(fold[key == value]), (
            "the order of rows does not matter"
        )


def test_equal_rows_are_dealt_at_random() -> None:
    """Dealt out in turn, folds of rounded confidences were copies of each other, and what overfits looked good."""
    record = Predictions.from_confidence(np.repeat(np.arange(100) / 100, 20), correct=[1] * 2000)
    counts = np.array(
        [
            np.bincount(content_folds(record)[i : i + 20], minlength=FOLDS)
            for i in range(0, 2000, 20)
        ]
    )
    assert 1.4 < counts.std() < 2.1, "multinomial: sqrt(20 / 5 * 4 / 5)"


def test_another_seed_is_another_draw_and_merges_with_none() -> None:
    record = example_record(300)
    assert (content_folds(record, 1) != content_folds(record)).any()
    assert content_folds(record, 1).tolist() == content_folds(record, 1).tolist()
    assert (content_sample(record, 50, 1) != content_sample(record, 50)).any()
    one, other = (RowSample.of(record, ["probabilities"], 50, seed) for seed in (0, 1))
    assert (one.draw.keys != other.draw.keys).all()
    with raises_snapshot(ValueError):
        one + other


def test_folds_see_confidence_truth_and_no_last_digits() -> None:
    record = example_record(300)
    fold = content_folds(record)
    order = np.random.default_rng(0).permutation(300)
    assert content_folds(record.take(order)).tolist() == fold[order].tolist()
    assert (content_folds(record.without_labels()) != fold).any()
    for fields in (
        {"confidence": [0.5, 0.6], "correct": [1, 1]},
        {"members": [[0, 1], [1, 1]], "label": [0, 1]},
    ):
        assert sorted(content_folds(Predictions.from_arrays(**fields))) == [0, 1]
    jitter = np.random.default_rng(1).uniform(-1e-14, 1e-14, record.probabilities.shape)
    moved = Predictions.from_arrays(probabilities=record.probabilities + jitter, label=record.label)
    assert content_folds(moved).tolist() == fold.tolist()
    decimals = np.arange(5, 1e7, 1000) / 1e7  # each between two numbers of six decimals
    shaken = decimals + np.random.default_rng(2).uniform(-1e-14, 1e-14, len(decimals))
    assert content_order(decimals).tolist() == content_order(shaken).tolist()
    tiny = np.array(
        [[1e-12], [3e-12], [2e-12]]
    )  # equal to six decimals: their order is still their own
    assert sorted(tiny[content_order(tiny)][:, 0]) == sorted(tiny[:, 0])
    assert (tiny[content_order(tiny)] == tiny[::-1][content_order(tiny[::-1])]).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_map_is_scikit_learns_isotonic_regression(seed: int) -> None:
    rows, hits = (x[0] for x in counts_of(seed, classes=1))
    full = np.flatnonzero(rows)
    want = IsotonicRegression(out_of_bounds="clip").fit(
        full, hits[full] / rows[full], sample_weight=rows[full]
    )
    rates, blocks, sizes = _isotonic(rows[None], hits[None])
    rate, block = rates[0], blocks[0]
    np.testing.assert_allclose(rate[full], want.predict(full), atol=1e-12)
    assert sizes.sum() == rows.sum()
    for b in range(len(sizes)):
        mine = full[block[full] == b]
        assert sizes[b] == rows[mine].sum()
        np.testing.assert_allclose(
            rate[mine], hits[mine].sum() / rows[mine].sum(), err_msg="a block has its mean"
        )


@given(data=st.data())
def test_the_map_rises_and_empty_bins_follow_the_nearest(data: st.DataObject) -> None:
    rows = data.draw(hnp.arrays(np.int64, st.integers(1, 15), elements=st.integers(0, 5)))
    hits = np.array([data.draw(st.integers(0, int(n))) for n in rows], dtype=np.int64)
    rates, blocks, _ = _isotonic(rows[None], hits[None])
    rate, block = rates[0], blocks[0]
    assert (np.diff(rate) >= -1e-12).all()
    assert (np.diff(block) >= 0).all()
    assert rate.min() >= 0
    assert rate.max() <= 1
    full = np.flatnonzero(rows)
    if not len(full):
        assert rate.tolist() == [0.5] * len(rows)
        return
    assert float(rate @ rows) == pytest.approx(hits.sum()), (
        "on its own data the map is right on average"
    )
    for b in np.flatnonzero(rows == 0):
        gaps = np.abs(full - b)
        assert rate[b] in rate[full[gaps == gaps.min()]]


def test_many_pieces_are_each_as_if_alone() -> None:
    rows, hits = counts_of(3, classes=6)
    rows[2], hits[2] = 0, 0
    rate, block, sizes = _isotonic(rows, hits)
    for k in range(6):
        alone_rate, alone_block, alone_sizes = _isotonic(rows[k : k + 1], hits[k : k + 1])
        assert (rate[k] == alone_rate[0]).all()
        assert (block[k] - block[k, 0] == alone_block[0]).all()
        assert (sizes[block[k]] == alone_sizes[alone_block[0]]).all()


def simulated(kind: str, rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Counts over log-odds bins of two classes whose confidence is right, too high, or too high for one of them."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 1, rows)
    label = rng.integers(0, 2, rows)
    true = {"raw": p, "pooled": p - 0.3 * (p > 0.6), "classwise": np.where(label == 0, p, p - 0.4)}[
        kind
    ]
    right = rng.random(rows) < true
    bins = bin_numbers(p, 2)
    return count_bins(label, bins, 2), count_bins(label[right], bins[right], 2)


@pytest.mark.parametrize("kind", ["raw", "pooled", "classwise"])
def test_the_form_is_what_the_data_need(kind: str) -> None:
    """Calibrated data keep their probabilities: a map that is always fitted, or never, fails here."""
    made = fit_map(*simulated(kind, 8000))
    assert made.form == kind
    assert min(made.scores, key=lambda form: made.scores[form]) == kind
    assert set(made.scores) == {"raw", "pooled", "classwise"}


def test_the_scores_of_raw_probabilities_are_brier_scores() -> None:
    rows, hits = simulated("pooled", 3000)
    total = 0.0
    for k in range(2):
        for b, centre in enumerate(centres(2)):
            total += hits[k, b] * (1 - centre) ** 2 + (rows[k, b] - hits[k, b]) * centre**2
    assert fit_map(rows, hits).scores["raw"] == pytest.approx(total / 3000)


def test_cross_validation_holds_rows_out() -> None:
    """A map scored on the rows that it was fitted on would win always; on pure noise it must not."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.7, 300)
    bins = bin_numbers(p, 1)
    right = rng.random(300) < p
    rows, hits = (
        count_bins(np.zeros(300, dtype=int), bins, 1),
        count_bins(np.zeros(right.sum(), dtype=int), bins[right], 1),
    )
    made = fit_map(rows, hits)
    assert made.form == "raw"
    in_sample = (
        float(
            np.sum(
                rows * _make(rows, hits, "pooled").rate ** 2
                - 2 * hits * _make(rows, hits, "pooled").rate
                + hits
            )
        )
        / 300
    )
    assert made.scores["pooled"] > made.scores["raw"] > in_sample


def test_a_class_with_few_rows_takes_the_common_map() -> None:
    rows, hits = counts_of(0, classes=2, bins=LOG_ODDS_BINS, most=5)
    rows[1], hits[1] = 0, 0
    rows[1, 700], hits[1, 700] = 99, 1
    made = _make(rows, hits, "classwise")
    pooled = _make(rows, hits, "pooled")
    assert (made.rate[1] == pooled.rate[1]).all()
    assert (made.rate[0] != pooled.rate[0]).any()
    np.testing.assert_allclose(made.rate[0], _isotonic(rows[:1], hits[:1])[0][0])
    rows[1, 700] = 100
    assert _make(rows, hits, "classwise").rate[1, 700] == 0.01


def test_one_class_or_no_row_at_all() -> None:
    rows, hits = counts_of(1, classes=1, bins=LOG_ODDS_BINS)
    assert "classwise" not in fit_map(rows, hits).scores
    nothing = np.zeros((2, LOG_ODDS_BINS), dtype=np.int64)
    made = fit_map(nothing, nothing)
    assert np.isfinite(made.rate).all()


def slow_variance(made: BinnedMap, weights: Any) -> float:
    """Blocks are independent rates: w^2 r (1 - r) / n, with half a hit and half a miss added to each."""
    total = 0.0
    for b, rows in enumerate(made.block_rows):
        cells = made.block == b
        if cells.any():
            rate = (made.rate[cells].mean() * rows + 0.5) / (rows + 1)
            total += weights[cells].sum() ** 2 * rate * (1 - rate) / rows
    return total


@pytest.mark.parametrize("form", ["pooled", "classwise"])
def test_variance_is_that_of_a_loop_over_blocks(form: Any) -> None:
    rows, hits = counts_of(2, classes=2, bins=LOG_ODDS_BINS)
    made = _make(rows, hits, form)
    weights = np.random.default_rng(0).random(rows.shape)
    weights /= weights.sum()
    assert made.variance(weights) == pytest.approx(slow_variance(made, weights))
    assert made.variance(weights) > 0
    assert _make(rows, hits, "raw").variance(weights) == 0


def test_a_map_without_an_error_has_a_variance_all_the_same() -> None:
    rows = np.zeros((1, LOG_ODDS_BINS), dtype=np.int64)
    rows[0, 900] = 50
    made = _make(rows, rows, "pooled")
    assert made.rate[0, 900] == 1
    weights = rows / rows.sum()
    assert 0 < made.variance(weights) < 1 / 50


@pytest.mark.parametrize("form", ["pooled", "classwise"])
def test_variance_and_redrawn_maps_agree_with_simulated_references(form: Any) -> None:
    """The mean rate over fixed weights, from references drawn again and again: its variance is what is said."""
    rng = np.random.default_rng(3)
    rows = np.zeros((2, LOG_ODDS_BINS), dtype=np.int64)
    where = [500, 650, 800, 900]
    rows[:, where] = 250
    true = np.zeros(rows.shape)
    true[:, where] = [[0.3, 0.5, 0.7, 0.9], [0.2, 0.45, 0.7, 0.95]]
    weights = rng.random(rows.shape) * (rows > 0)
    weights /= weights.sum()
    values = [
        float(np.sum(weights * _make(rows, rng.binomial(rows, true), form).rate))
        for _ in range(400)
    ]
    made = _make(rows, rng.binomial(rows, true), form)
    assert made.variance(weights) == pytest.approx(np.var(values), rel=0.3)
    again = made.redraw(rng, 400)
    drawn = (weights * again).sum(axis=(1, 2))
    assert np.var(drawn) == pytest.approx(np.var(values), rel=0.35)
    assert np.mean(drawn) == pytest.approx(float(np.sum(weights * made.rate)), abs=0.005)
    for b in np.unique(made.block):
        assert np.ptp(again[0][made.block == b]) == 0, "a block moves as a whole"
    raw = _make(rows, rows, "raw")
    assert (raw.redraw(rng, 2) == raw.rate).all()


def miscalibrated(rows: int = 4000, classes: int = 3, seed: int = 0) -> Predictions:
    """Each class is wrong in a way of its own."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), rows)
    true = p ** np.linspace(0.4, 2.5, classes)
    true /= true.sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return Predictions.from_probabilities(p, label=label)


def test_isotonic_is_one_against_the_rest_made_to_sum_to_one() -> None:
    record = miscalibrated()
    raw = np.empty(record.probabilities.shape)
    for k in range(3):
        bins = bin_numbers(record.probabilities[:, k], 3)
        raw[:, k] = IsotonicRegression().fit_transform(bins, record.label == k)
    want = raw / raw.sum(axis=1, keepdims=True)
    made = Isotonic().fit(record)(record)
    np.testing.assert_allclose(made.probabilities, want, atol=1e-9)
    assert (made.predicted == record.predicted).all()
    assert made.calibrated == "isotonic"
    before = brier_score(record.probabilities, record.label)
    assert brier_score(made.probabilities, record.label) < before - 0.01


@pytest.mark.parametrize("method", [Isotonic, Histogram])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 4, 20])
def test_calibrated_rows_are_distributions(method: Any, dtype: Any, classes: int) -> None:
    source = miscalibrated(600, classes, seed=1)
    record = Predictions.from_probabilities(source.probabilities.astype(dtype), label=source.label)
    target = miscalibrated(300, classes, seed=2)
    made = method().fit(record)(target)
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1, atol=1e-6)
    assert made.probabilities.min() >= 0
    assert made.probabilities.dtype == target.probabilities.dtype
    assert (made.predicted == target.predicted).all()


@pytest.mark.parametrize("method", [Isotonic, Histogram])
def test_a_row_that_no_class_wants_keeps_its_probabilities(method: Any) -> None:
    """Three classes; 0 and 1 were never right near one half, so that all maps are zero there."""
    p = [[0.5, 0.5, 0.0]] * 200 + [[0.0, 0.0, 1.0]] * 200
    record = Predictions.from_probabilities(p, label=[2] * 400)
    target = Predictions.from_probabilities([[0.5, 0.5, 0.0]])
    made = method().fit(record)(target).probabilities
    assert np.isfinite(made).all()
    assert made.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", [Isotonic, Histogram])
def test_they_need_probabilities_and_labels(method: Any) -> None:
    with raises_snapshot(NotApplicable):
        method().fit(Predictions.from_confidence([0.5], correct=[1]))
    with raises_snapshot(NotApplicable):
        method().fit(Predictions.from_probabilities([[0.5, 0.5]], label=[None]))
    one = Predictions.from_probabilities([[0.7, 0.3]], label=[1])
    assert np.isfinite(method().fit(one)(one).probabilities).all()


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_histogram_is_that_of_a_loop(bins: int) -> None:
    record = miscalibrated(500, 3, seed=4)
    raw = np.empty((500, 3))
    for k in range(3):
        p = record.probabilities[:, k]
        edges = [float(np.quantile(p, i / bins)) for i in range(1, bins)]
        place = [sum(x >= e for e in edges) for x in p]
        for i in range(500):
            same = [j for j in range(500) if place[j] == place[i]]
            raw[i, k] = sum(record.label[j] == k for j in same) / len(same)
    want = raw / raw.sum(axis=1, keepdims=True)
    made = Histogram(bins=bins).fit(record)(record).probabilities
    np.testing.assert_allclose(made, want, atol=1e-12)


def test_histogram_with_few_distinct_values() -> None:
    """Quantiles coincide; each value gets its own rate."""
    p = [[0.9, 0.1]] * 300 + [[0.6, 0.4]] * 100
    record = Predictions.from_probabilities(p, label=[0] * 240 + [1] * 60 + [0] * 30 + [1] * 70)
    made = Histogram().fit(record)(record).probabilities
    np.testing.assert_allclose(made[0], [0.8, 0.2])
    np.testing.assert_allclose(made[-1], [0.3, 0.7])
