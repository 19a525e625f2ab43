"""Kernels and arrays against plain loops: best two of a row, log-odds bins, hashes, softmax, ragged rows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer.arrays import Ragged, as_numpy, softmax
from oodometer.intervals import quantiles
from oodometer.kernels import (
    LOG_ODDS_BINS,
    by_chunks,
    half_bin,
    log_odds_bin,
    log_odds_centres,
    mix,
    row_hash,
    top_two,
)

WIDTHS = [2, 3, 10, 64, 65, 100]


def slow_top_two(row: Any) -> tuple[int, float, float]:
    """Sort by value, falling; among ties the lowest index first."""
    order = sorted(range(len(row)), key=lambda k: (-row[k], k))
    return order[0], row[order[0]], row[order[1]]


# ------------------------------------------------------------------------------------------ best two


@pytest.mark.parametrize("classes", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_two_is_what_a_sort_says(classes: int, dtype: Any) -> None:
    rng = np.random.default_rng(classes)
    values = rng.dirichlet(np.full(classes, 0.3), 300).astype(dtype)
    values[:50] = np.round(values[:50], 1)  # many ties
    values[50] = 1 / classes  # one long tie
    values[51] = 0
    values[51, -1] = 1  # a certain row, the best class at the end
    values[52] = 0
    values[52, 0] = 1
    got = top_two(values)
    assert got.best.dtype == np.int32
    assert got.first.dtype == got.second.dtype == dtype
    for i, row in enumerate(values.tolist()):
        assert (got.best[i], got.first[i], got.second[i]) == slow_top_two(row), i


@given(data=st.data())
def test_top_two_of_any_numbers(data: st.DataObject) -> None:
    shape = (data.draw(st.integers(0, 6)), data.draw(st.sampled_from([*range(2, 6), 64, 65, 66])))
    values = data.draw(
        hnp.arrays(
            np.float64, shape, elements=st.sampled_from([-3.0, -1.0, 0.0, 0.25, 0.5, 1.0, 7.0])
        )
    )
    got = top_two(values)
    for i, row in enumerate(values.tolist()):
        assert (got.best[i], got.first[i], got.second[i]) == slow_top_two(row)


def test_top_two_takes_strided_arrays_and_leaves_them_alone() -> None:
    values = np.asfortranarray(np.random.default_rng(0).dirichlet(np.ones(5), 40))[::2]
    before = values.copy()
    got = top_two(values)
    assert got.best.tolist() == before.argmax(axis=1).tolist()
    assert (values == before).all()


@pytest.mark.parametrize(
    ("rows", "width"), [(0, 4), (1, 1), (7, 1 << 17), (5, 1 << 20), (3, 1 << 21)]
)
def test_chunks_cover_every_row_once(rows: int, width: int) -> None:
    """The last two are large enough for threads, and one row alone may be larger than a chunk."""
    seen = np.zeros(rows, dtype=int)
    lock = threading.Lock()

    def work(start: int, stop: int) -> None:
        assert start < stop
        with lock:
            seen[start:stop] += 1

    by_chunks(work, rows, width)
    assert seen.tolist() == [1] * rows


def test_an_error_in_a_chunk_is_not_lost() -> None:
    def work(start: int, stop: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        by_chunks(work, 4, 1 << 20)


# ------------------------------------------------------------------------------------------ log-odds bins

UNIT = st.one_of(
    st.sampled_from(
        [0.0, 1.0, 0.5, np.nextafter(0.5, 0), np.nextafter(1, 0), 1e-300, 2.0**-30, 1 - 2.0**-30]
    ),
    st.floats(0, 1),
    st.floats(0, 40).map(lambda x: 2.0**-x),
    st.floats(0, 40).map(lambda x: 1 - 2.0**-x),
)


@given(
    values=st.lists(UNIT, min_size=2, max_size=40), dtype=st.sampled_from([np.float32, np.float64])
)
def test_bins_rise_with_the_probability(values: list[float], dtype: Any) -> None:
    p = np.sort(np.array(values, dtype=dtype))
    bins = log_odds_bin(p)
    assert bins.dtype == np.intp
    assert (np.diff(bins) >= 0).all()
    assert bins.min() >= 0
    assert bins.max() < LOG_ODDS_BINS


@given(p=st.integers(1, 2**29 - 1).map(lambda k: k / 2**30))
def test_bins_are_mirrored_about_one_half(p: float) -> None:
    """p and 1 - p are exact here, so their bins are as far from the two ends."""
    low, high = log_odds_bin(np.array([p, 1 - p]))
    assert low == LOG_ODDS_BINS - 1 - high


@given(values=st.lists(UNIT.filter(lambda p: p < 0.5), min_size=1, max_size=20))
def test_half_bin_is_the_same_below_one_half(values: list[float]) -> None:
    for dtype in (np.float32, np.float64):
        p = np.array(values, dtype=dtype)
        p = p[p.astype(np.float32) < 0.5]  # rounding to single precision may reach one half
        assert half_bin(p).tolist() == log_odds_bin(p).tolist()


def test_half_bin_takes_one_half_itself() -> None:
    """Two tied classes: the runner-up has exactly one half and must stay in the lower half."""
    assert half_bin(np.array([0.5], dtype=np.float32)).tolist() == [LOG_ODDS_BINS // 2 - 1]


def test_every_bin_holds_its_centre() -> None:
    centres = log_odds_centres()
    assert centres.shape == (LOG_ODDS_BINS,)
    assert (np.diff(centres) > 0).all()
    assert log_odds_bin(centres).tolist() == list(range(LOG_ODDS_BINS))


@given(p=st.floats(2.0**-29, 1 - 2.0**-20))
def test_a_centre_is_near_in_odds(p: float) -> None:
    """Sixteen bins an octave: the smaller of p and 1 - p is off by at most one part in 32 of the octave's start."""
    centre = log_odds_centres()[log_odds_bin(np.array([p]))[0]]
    tail, own = min(p, 1 - p), centre if p < 0.5 else 1 - centre
    assert abs(own - tail) <= tail / 32 * 1.0001


def test_the_ends_have_bins_of_their_own() -> None:
    p = np.array([0.0, 0.4999999, 0.5, 1.0])
    assert log_odds_bin(p).tolist() == [
        0,
        LOG_ODDS_BINS // 2 - 1,
        LOG_ODDS_BINS // 2,
        LOG_ODDS_BINS - 1,
    ]


# ------------------------------------------------------------------------------------------ hashes


def test_mix_loses_nothing() -> None:
    out = mix(np.arange(100_000, dtype=np.uint64))
    assert len(np.unique(out)) == 100_000
    low = np.bincount((out & np.uint64(7)).astype(int), minlength=8) / 100_000
    assert np.abs(low - 1 / 8).max() < 0.01, "low bits look random"


@given(rows=hnp.arrays(np.float64, (6, 3), elements=st.floats(-5, 5)), seed=st.integers(0, 5))
def test_row_hash_follows_the_rows(rows: Any, seed: int) -> None:
    rows[0] = rows[5]
    kinds = np.arange(6) % 2
    kinds[0] = kinds[5]
    hashed = row_hash(rows, kinds, seed=seed)
    assert hashed[0] == hashed[5]
    order = np.random.default_rng(seed).permutation(6)
    assert row_hash(rows[order], kinds[order], seed=seed).tolist() == hashed[order].tolist()


def test_row_hash_tells_rows_columns_and_seeds_apart() -> None:
    rows = np.random.default_rng(0).random((5000, 2))
    assert len(np.unique(row_hash(rows))) == 5000
    assert (row_hash(rows) != row_hash(rows[:, ::-1])).all(), "swapped columns"
    assert (row_hash(rows) != row_hash(rows, seed=1)).all()
    assert (
        row_hash(rows[:, 0], rows[:, 1].round()) != row_hash(rows[:, 0], rows[:, 1].round() + 1)
    ).all()


# ------------------------------------------------------------------------------------------ softmax, ragged rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("temperature", [0.25, 1.0, 4.0])
def test_softmax_is_scipys(dtype: Any, temperature: float) -> None:
    z = (np.random.default_rng(1).standard_normal((20, 7)) * 30).astype(dtype)
    before = z.copy()
    got = softmax(z, temperature)
    assert got.dtype == dtype
    assert (z == before).all()
    want = scipy.special.softmax(z.astype(np.float64) / temperature, axis=1)
    np.testing.assert_allclose(got, want, atol=2e-6 if dtype is np.float32 else 1e-14)
    assert np.isfinite(softmax(np.array([[1e4, -1e4]]))).all()


ROWS = st.lists(st.lists(st.floats(-50, 0), max_size=4), max_size=8)


@given(rows=ROWS, data=st.data())
def test_ragged_rows_are_what_lists_say(rows: list[list[float]], data: st.DataObject) -> None:
    ragged = Ragged.from_rows(rows)

    def back(r: Ragged) -> list[list[float]]:
        return [r.values[a:b].tolist() for a, b in zip(r.offsets[:-1], r.offsets[1:], strict=True)]

    assert back(ragged) == rows
    assert len(ragged) == len(rows)
    assert ragged.lengths.tolist() == [len(r) for r in rows]
    assert ragged.sums().tolist() == pytest.approx([sum(r) for r in rows])
    assert ragged.minima().tolist() == [min(r, default=0.0) for r in rows]
    index = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    taken = ragged.take(np.array(index, dtype=np.intp))
    assert back(taken) == [rows[i] for i in index]
    assert back(Ragged.concat([taken, ragged])) == [rows[i] for i in index] + rows


def test_a_token_of_probability_zero_spoils_its_own_row_only() -> None:
    """Sums by differences of a running sum would make NaN of every later row."""
    ragged = Ragged.from_rows([[-1.0], [-0.5, -np.inf], [], [-2.0, -1.0]])
    assert ragged.sums().tolist() == [-1.0, -np.inf, 0.0, -3.0]
    assert ragged.minima().tolist() == [-1.0, -np.inf, 0.0, -2.0]


def test_a_long_ragged_array_keeps_its_digits() -> None:
    """Forty thousand rows in single precision: each sum is exact, whatever stands before it."""
    rows = np.full((40_000, 3), np.float32(-0.1))
    ragged = Ragged(rows.ravel(), np.arange(0, 120_001, 3))
    assert np.ptp(ragged.sums()) == 0
    assert ragged.sums()[-1] == pytest.approx(3 * float(np.float32(-0.1)), abs=1e-12)


class Tensor:
    """Looks like a torch tensor on a device: numpy cannot read it before detach().cpu()."""

    def __init__(self, values: Any, ready: bool = False) -> None:
        self.values, self.ready = values, ready

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return Tensor(self.values, ready=True)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if not self.ready:
            raise TypeError("can't convert a tensor that requires grad")
        return np.asarray(self.values, dtype=dtype)


def test_as_numpy_takes_what_users_have() -> None:
    import pandas as pd
    import polars as pl

    values = [0.25, 0.5]
    for held in (
        values,
        tuple(values),
        np.array(values),
        pd.Series(values),
        pl.Series(values),
        Tensor(values),
    ):
        assert as_numpy(held).tolist() == values
    array = np.array(values)
    assert as_numpy(array) is array, "no copy"


@pytest.mark.parametrize("shape", [(1,), (2,), (201,), (500, 7), (6, 2, 3)])
def test_quantiles_are_numpys(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    values, shares = rng.normal(size=shape), [0.0, 0.025, 0.5, *rng.random(5), 1.0]
    np.testing.assert_array_equal(quantiles(values, shares), np.quantile(values, shares, axis=0))
