"""The row sample: the same rows in any order of batches, and whether or not the size of the data set is known."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.inference.row_sample import RowSample, key_bound, scramble
from oodometer.predictions import Predictions


def data(rows: int) -> Predictions:
    rng = np.random.default_rng(rows)
    return Predictions.from_probabilities(rng.dirichlet([1.0, 1.0], rows))


def pieces(record: Predictions, length: int, rows_in_all: int | None) -> list[RowSample]:
    return [
        RowSample.of(replace(one, rows_in_all=rows_in_all), ["probabilities"], 200) for one in record.batches(length)
    ]


@pytest.mark.parametrize("length", [700, 4096])
def test_it_is_the_same_where_the_size_is_known(length: int) -> None:
    record = data(20_000)
    plain, known = pieces(record, length, None), pieces(record, length, 20_000)
    joined, other = reduce(add, plain), reduce(add, known)
    assert (joined.keys == other.keys).all()
    assert (joined["probabilities"] == other["probabilities"]).all()
    assert joined.seen == other.seen == 20_000
    assert sum(map(len, known)) < 0.7 * sum(map(len, plain))


def test_it_holds_the_rows_of_the_smallest_keys() -> None:
    record = data(20_000)
    found = reduce(add, pieces(record, 4096, 20_000))
    rows = np.sort(np.argsort(scramble(np.arange(20_000)))[:200])
    want = record.probabilities[rows]
    got = found.arrays["probabilities"]
    assert sorted(map(tuple, got.tolist())) == sorted(map(tuple, want.tolist()))


def test_what_was_kept_of_a_small_data_set_serves_one_that_has_grown() -> None:
    record = data(80_000)
    old, new = pieces(record.slice(0, 20_000), 5000, 20_000), pieces(record, 5000, 80_000)
    mixed = reduce(add, [*old, *new[4:]])
    assert (mixed.keys == reduce(add, new).keys).all()
    assert len(old[0]) > len(new[0])


def test_rows_that_are_picked_no_longer_know_of_the_whole() -> None:
    record = replace(data(1000), rows_in_all=100_000)
    assert record.take(np.arange(10)).rows_in_all is None
    assert record.slice(0, 10).rows_in_all is None
    assert Predictions.concat([record, record]).rows_in_all is None


@given(st.integers(1, 20_000), st.integers(1, 10**12))
def test_enough_rows_lie_below_the_bound(limit: int, rows: int) -> None:
    bound = key_bound(limit, rows)
    if bound is not None:
        expected = rows * float(bound) / 2.0**64
        assert expected - 8 * expected**0.5 >= limit
    if rows <= 200_000:
        below = rows if bound is None else int((scramble(np.arange(rows)) < bound).sum())
        assert below >= min(limit, rows)
