"""Shifts of training data: exact shares, seeds, no change of what was given; every fault in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oodometer.errors import InputError, UsageError
from oodometer_lab.datasets import Dataset, cifar10, mnist
from oodometer_lab.shifts.training import dominoes, flip_labels, measurement_noise, under_sample

from ...snapshots import raises_snapshot

RNG = np.random.default_rng(0)


def images(
    rows: int = 60, size: int = 8, classes: int = 3, channels: int = 3, seed: int = 0
) -> Dataset:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(256, size=(rows, size, size, channels), dtype=np.uint8)
    ids = tuple(f"r{i}" for i in range(rows))
    return Dataset(
        "toy",
        pixels,
        tuple((np.arange(rows) % classes).tolist()),
        ids=ids,
        source="here",
        modality="image",
    )


def flat(levels: Any, targets: Any, size: int, name: str) -> Dataset:
    """Grey images of one level each, so that a level tells which image it is."""
    pixels = (
        np.zeros((len(levels), size, size, 1), np.uint8)
        + np.array(levels, np.uint8)[:, None, None, None]
    )
    return Dataset(name, pixels, tuple(targets), modality="image")


# ---------------------------------------------------------------- label noise


@given(
    st.lists(st.sampled_from("abcde"), min_size=2, max_size=60),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_a_share_of_the_labels_is_wrong_and_no_other(
    labels: list[str], rate: float, seed: int
) -> None:
    if len(set(labels)) < 2:
        labels = ["a", "b", *labels]
    data = Dataset("toy", tuple(range(len(labels))), tuple(labels))
    found, rows = flip_labels(data, rate, seed)
    assert rows.tolist() == [i for i, one in enumerate(found.targets) if one != labels[i]]
    assert len(rows) == round(rate * len(labels))
    assert set(found.targets) <= set(labels)
    assert data.targets == tuple(labels)
    assert flip_labels(data, rate, seed).data == found


def test_flips_are_uniform_over_the_other_classes() -> None:
    data = images(30_000, size=1, classes=5)
    found, rows = flip_labels(data, 0.5, seed=3)
    before, after = np.array(data.targets)[rows], np.array(found.targets)[rows]
    assert stats.chisquare(np.bincount((after - before) % 5, minlength=5)[1:]).pvalue > 0.001
    assert stats.chisquare(np.bincount(before, minlength=5)).pvalue > 0.001
    assert found.ids == data.ids
    assert found.inputs is data.inputs
    assert flip_labels(data, 0.5, seed=4).rows.tolist() != rows.tolist()


# ---------------------------------------------------------------- measurement noise


def test_noise_has_the_spread_that_was_asked_for() -> None:
    grey = replace(images(200), inputs=np.full((200, 16, 16, 3), 128, np.uint8))
    change = measurement_noise(grey, seed=1).inputs.astype(float) - 128
    assert abs(change.mean()) < 0.2
    assert change.std() == pytest.approx(0.07 * 255, rel=0.01)
    assert (
        stats.kstest(
            change.ravel()[:5000] + RNG.uniform(-0.5, 0.5, 5000), "norm", (0, 0.07 * 255)
        ).pvalue
        > 0.001
    )
    pairs = np.corrcoef(change.reshape(200, -1)[:, :40])
    assert np.abs(pairs - np.eye(200)).max() < 0.75, "every image has its own noise"


def test_the_blur_is_a_gaussian_one() -> None:
    """A white pixel on black becomes the products of the weights exp(-d^2 / 2 sigma^2), cut at two pixels."""
    dot = np.zeros((1, 7, 7, 1), np.uint8)
    dot[0, 3, 3] = 255
    found = measurement_noise(
        Dataset("dot", dot, (0,), modality="image"), blur=0.5, noise=0
    ).inputs[0, :, :, 0]
    weights = np.array(
        [math.exp(-(d**2) / (2 * 0.5**2)) if abs(d) <= 2 else 0 for d in range(-3, 4)]
    )
    weights /= weights.sum()
    np.testing.assert_allclose(found, 255 * np.outer(weights, weights), atol=0.51)


def test_noise_does_not_depend_on_batches_or_axes() -> None:
    data = images(1100, size=4)
    before = data.inputs.copy()
    whole = measurement_noise(data, seed=5)
    np.testing.assert_array_equal(data.inputs, before)
    first = measurement_noise(data.take(range(700)), seed=5)
    np.testing.assert_array_equal(first.inputs, whole.inputs[:700])
    assert (measurement_noise(data, seed=6).inputs != whole.inputs).mean() > 0.8
    grey = replace(data, inputs=data.inputs[..., 0])
    assert measurement_noise(grey).inputs.shape == (1100, 4, 4)
    same = measurement_noise(data, blur=0, noise=0)
    np.testing.assert_array_equal(same.inputs, before)
    assert (same.targets, same.ids, same.modality) == (data.targets, data.ids, "image")


# ---------------------------------------------------------------- under-sampling


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.floats(0, 1), st.integers(0, 99))
def test_a_share_of_a_class_is_left_out(labels: list[int], share: float, seed: int) -> None:
    data = Dataset(
        "toy",
        tuple(range(len(labels) + 1)),
        (*labels, 9),
        ids=tuple(map(str, range(len(labels) + 1))),
    )
    wanted = sorted(set(labels))[:2]
    found = under_sample(data, wanted, share, seed)
    assert list(found.inputs) == sorted(found.inputs)
    assert list(map(int, found.ids)) == list(found.inputs)
    for one in {*labels, 9}:
        before = labels.count(one) if one != 9 else 1
        gone = round(share * before) if one in wanted else 0
        assert found.targets.count(one) == before - gone
    assert under_sample(data, wanted[::-1], share, seed) == found


# ---------------------------------------------------------------- dominoes

SIMPLE = flat(range(100, 150), [i % 5 for i in range(50)], 2, "digits")
COMPLEX = flat([i % 7 for i in range(4000)], [i % 5 for i in range(4000)], 4, "photos")


def shown(found: Dataset) -> Any:
    """The class of the simple half, read off its level."""
    return (found.inputs[:, 1, 1, 0].astype(int) - 100) % 5


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95, 1.0])
def test_the_simple_half_shows_the_class_as_often_as_asked(correlation: float) -> None:
    found = dominoes(SIMPLE, COMPLEX, correlation, seed=1)
    paired = shown(found) == np.array(found.targets)
    assert stats.binomtest(int(paired.sum()), len(paired), correlation).pvalue > 0.001
    assert found.targets == COMPLEX.targets
    np.testing.assert_array_equal(found.inputs[:, 4:], COMPLEX.inputs)
    if correlation < 1:
        apart = (shown(found) - np.array(found.targets))[~paired] % 5
        assert stats.chisquare(np.bincount(apart, minlength=5)[1:]).pvalue > 0.001
    assert stats.chisquare(np.bincount(found.inputs[:, 1, 1, 0] - 100, minlength=50)).pvalue > 0.001


def test_randomised_halves_tell_nothing() -> None:
    found = dominoes(SIMPLE, COMPLEX, randomized=True, seed=2)
    table = np.zeros((5, 5))
    np.add.at(table, (shown(found), np.array(found.targets)), 1)
    assert stats.chi2_contingency(table).pvalue > 0.001
    assert stats.chisquare(table.sum(1)).pvalue > 0.001


def test_images_come_together_in_size_and_channels() -> None:
    grey, coloured = images(10, size=5, channels=1), images(12, size=8)
    before = grey.inputs.copy(), coloured.inputs.copy()
    found = dominoes(grey, coloured, seed=0)
    assert found.inputs.shape == (12, 16, 8, 3)
    np.testing.assert_array_equal(found.inputs[:, 8:], coloured.inputs)
    upper = found.inputs[:, :8]
    assert not upper[:, 0].any()
    assert not upper[:, 6:].any()
    assert {one.tobytes() for one in upper[:, 1:6, 1:6, 2]} <= {
        one.tobytes() for one in grey.inputs[..., 0]
    }
    np.testing.assert_array_equal(upper[..., 0], upper[..., 2])
    np.testing.assert_array_equal(before[0], grey.inputs)
    np.testing.assert_array_equal(before[1], coloured.inputs)
    assert dominoes(grey, coloured, 0.5, seed=7) == dominoes(grey, coloured, 0.5, seed=7)
    assert dominoes(grey, coloured, 0.5, seed=7) != dominoes(grey, coloured, 0.5, seed=8)


def test_classes_pair_by_name_or_by_order() -> None:
    digits = flat([10, 20, 30], [0, 1, 2], 1, "digits")
    few = flat([1, 2], [2, 0], 1, "photos")  # one class is missing, as frogs are in STL10
    assert dominoes(digits, few).inputs[:, 0, 0, 0].tolist() == [30, 10]
    named = flat([1, 2, 3], ["dog", "cat", "emu"], 1, "photos")
    assert dominoes(digits, named).inputs[:, 0, 0, 0].tolist() == [20, 10, 30]
    two = flat([1, 2], ["dog", "cat"], 1, "photos")
    with raises_snapshot(InputError):
        dominoes(digits, two)


# ---------------------------------------------------------------- faults

EMPTY = Dataset("none", np.zeros((0, 4, 4, 3), np.uint8), (), modality="image")
TEXTS = Dataset("texts", ("a", "b"), (0, 1))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: flip_labels(images(), -0.1), UsageError),
        (lambda: flip_labels(images(), math.nan), UsageError),
        (lambda: flip_labels(images(), True), UsageError),
        (lambda: flip_labels(EMPTY, 0.1), InputError),
        (lambda: flip_labels(images(classes=1), 0.1), InputError),
        (lambda: flip_labels(replace(images(), targets=()), 0.1), InputError),
        (lambda: flip_labels(replace(images(2), targets=np.eye(2)), 0.1), InputError),
        (lambda: flip_labels(replace(images(2), targets=("a", 1)), 0.1), InputError),
        (lambda: flip_labels(images(), 0.1, seed=-1), UsageError),
        (lambda: under_sample(images(), 5), UsageError),
        (lambda: under_sample(images(), [0], 1.2), UsageError),
        (lambda: under_sample(images(), [0, 1, 2], 1.0), InputError),
        (lambda: measurement_noise(TEXTS), InputError),
        (lambda: measurement_noise(EMPTY), InputError),
        (lambda: measurement_noise(images(), noise=-1), UsageError),
        (lambda: measurement_noise(images(), blur=math.inf), UsageError),
        (lambda: dominoes(images(), images(), 1.01), UsageError),
        (lambda: dominoes(EMPTY, images()), InputError),
        (lambda: dominoes(images(), TEXTS), InputError),
        (lambda: dominoes(images(channels=2), images()), InputError),
        (lambda: dominoes(images(classes=1), images(classes=1), 0.5), InputError),
    ],
)  # fmt: skip
def test_faults_are_one_line(call: Callable[[], Any], kind: type[Exception]) -> None:
    with raises_snapshot(kind) as found:
        call()
    assert "\n" not in str(found.value)


def test_near_names_are_offered() -> None:
    data = Dataset("toy", tuple("abc"), ("automobile", "bird", "cat"))
    with raises_snapshot(UsageError):
        under_sample(data, ["automobil"])


def test_real_images(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    photos, digits = cifar10("test"), mnist("test")
    assert len(flip_labels(photos, 0.05).rows) == 500
    assert (
        np.bincount(under_sample(photos, [1, 2]).targets).tolist() == [1000, 800, 800] + [1000] * 7
    )
    found = dominoes(digits, photos, 0.95)
    assert found.inputs.shape == (10_000, 64, 32, 3)
    assert not found.inputs[:, :2].any(), "a digit has a margin of two black rows"
    change = measurement_noise(photos.take(range(500))).inputs.astype(float) - photos.inputs[:500]
    assert 12 < change.std() < 25
