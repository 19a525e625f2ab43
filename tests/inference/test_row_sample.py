"""Samples and orders of rows by content: neither their order nor how they are cut into batches means anything."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.arrays import Array
from oodometer.calibrators import Temperature
from oodometer.inference.row_sample import (
    RowSample,
    canonical_order,
    content_keys,
    content_sample,
    evenly,
    in_content_order,
)
from oodometer.predictions import Predictions

KINDS = {
    "all different": {},
    "rounded": {"digits": 1},
    "saturated": {"saturated": 0.5},
    "one row": {"saturated": 1.0},
}


def outputs(
    rows: int, seed: int = 0, *, digits: int | None = None, saturated: float = 0.0, classes: int = 3
) -> Array:
    """Probabilities, of which some repeat."""
    rng = np.random.default_rng([seed, rows])
    p = rng.dirichlet(np.ones(classes), rows)
    if digits is not None:
        p = np.round(p, digits)
        p[:, -1] = 1 - p[:, :-1].sum(axis=1)
    p[rng.random(rows) < saturated] = np.eye(classes)[0]
    return np.clip(p, 0, 1).astype(np.float32)


def cut(record: Predictions, edges: list[int], rows_in_all: int | None) -> list[Predictions]:
    ends = [0, *sorted(edges), record.rows]
    return [
        replace(record.slice(a, b), rows_in_all=rows_in_all)
        for a, b in itertools.pairwise(ends)
        if a < b
    ]


def sampled(parts: list[Predictions], limit: int) -> Array:
    return reduce(add, [RowSample.of(part, ["probabilities"], limit) for part in parts])[
        "probabilities"
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_neither_order_nor_batches_change_a_sample(
    kind: str, known: bool, data: st.DataObject
) -> None:
    record = Predictions.from_probabilities(outputs(4000, **KINDS[kind]))  # type: ignore[arg-type]
    in_all = record.rows if known else None
    edges = data.draw(st.lists(st.integers(0, 4000), max_size=6))
    limit = data.draw(st.sampled_from([50, 300, 5000]))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(record.rows)
    order = data.draw(st.sampled_from([order, np.lexsort(record.probabilities.T)]))  # type: ignore[union-attr]
    whole = sampled(cut(record, [], in_all), limit)
    parts = cut(record.take(order), edges, in_all)
    other = sampled(data.draw(st.permutations(parts)), limit)
    np.testing.assert_array_equal(other, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_has_the_shares_of_the_whole(kind: str) -> None:
    """Contents that repeat are there as often as they should be: all or none of them would be no sample."""
    p = outputs(200_000, **KINDS[kind])  # type: ignore[arg-type]
    for in_all in (None, len(p)):
        some = sampled(
            cut(Predictions.from_probabilities(p), list(range(0, 200_000, 40_000)), in_all), 4000
        )
        assert 3600 <= len(some) <= 4000
        for value in (0.2, 0.5, 0.999):
            own, of_all = (some[:, 0] > value).mean(), (p[:, 0] > value).mean()
            assert own == pytest.approx(of_all, abs=4 * 0.5 / np.sqrt(4000)), value
        assert some.mean(axis=0) == pytest.approx(p.mean(axis=0), abs=0.03)


def test_a_seed_draws_other_rows() -> None:
    record = Predictions.from_probabilities(outputs(3000))
    first, second = (content_sample(record, 500, seed) for seed in (0, 1))
    assert 40 < len(set(first.tolist()) & set(second.tolist())) < 130  # 500 of 3000, twice
    assert len(set(first.tolist())) == 500


@given(seed=st.integers(0, 999), count=st.sampled_from([20, 100, 400]))
@settings(max_examples=20, deadline=None)
def test_a_sample_of_a_record_is_in_an_order_of_content(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    record = Predictions.from_arrays(
        probabilities=outputs(300, digits=1),
        label=rng.integers(3, size=300),
        group=rng.choice(["a", "b"], 300),
    )
    other = record.take(rng.permutation(300))
    one, two = (r.take(content_sample(r, count, 3)) for r in (record, other))
    for name in ("probabilities", "label", "group"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": np.repeat([0.25, 0.5], 50), "correct": np.tile([0, 1], 50)},
        {"members": np.arange(300).reshape(3, 100) % 4, "label": np.arange(100) % 4},
        {
            "token_logprobs": [[-0.5] * (i % 7 + 1) + [-i / 100] for i in range(100)],
            "correct": [1, 0] * 50,
        },
        {"prediction": [0, 1] * 50, "label": [0, 1, 1, 1] * 25, "group": list("abcde") * 20},
        {
            "time": np.datetime64("2026-01-01") + np.arange(100),
            "correct": [1, 0] * 50,
            "confidence": [0.5] * 100,
        },
        {
            "features": np.arange(900.0).reshape(100, 9) % 7,
            "correct": [1, 0] * 50,
            "confidence": [0.5] * 100,
        },
    ],
)
def test_rows_are_ordered_by_all_that_they_hold(fields: dict[str, Any]) -> None:
    record = Predictions.from_arrays(**fields)
    shuffled = record.take(np.random.default_rng(1).permutation(100))
    one, two = in_content_order(record), in_content_order(shuffled)
    for name in fields:
        a, b = getattr(one, name), getattr(two, name)
        a, b = (a.values, b.values) if name == "token_logprobs" else (a, b)
        np.testing.assert_array_equal(a, b)
    assert sorted(canonical_order(record)) == list(range(100))


def test_the_numbering_of_classes_does_not_order_rows() -> None:
    p, label = outputs(500), np.random.default_rng(0).integers(3, size=500)
    turned = Predictions.from_probabilities(p[:, ::-1].copy(), label=2 - label)
    assert (
        canonical_order(Predictions.from_probabilities(p, label=label)) == canonical_order(turned)
    ).all()


def test_calibrated_rows_are_drawn_as_they_came() -> None:
    p = outputs(3000)
    record = Predictions.from_probabilities(
        p, label=np.random.default_rng(0).integers(3, size=3000)
    )
    calibrated = Temperature().fit(record)(record)
    assert (calibrated.probabilities != record.probabilities).any()
    for one in (calibrated, calibrated.slice(0, 2000), calibrated.take(np.arange(2000))):
        assert (content_keys(one) == content_keys(record)[: one.rows]).all()
    joined = Predictions.concat([calibrated.slice(0, 1000), calibrated.slice(1000, 3000)])
    assert (content_keys(joined) == content_keys(record)).all()


@given(total=st.integers(0, 500), count=st.integers(1, 500))
def test_places_are_spread_evenly(total: int, count: int) -> None:
    places = evenly(total, count)
    assert len(places) == min(total, count)
    assert len(places) == 0 or (places[0] >= 0 and places[-1] < total)
    assert len(np.unique(np.diff(places))) <= 2


def test_rows_keep_their_keys_when_they_are_calibrated_and_decided() -> None:
    record = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    keys = content_keys(record)
    calibrated = record.with_probabilities(np.array([[0.8, 0.2], [0.5, 0.5], [0.6, 0.4]]), "other")
    decided = calibrated.with_prediction(np.array([0, 0, 0], dtype=np.int32))
    assert (content_keys(decided) == keys).all()
