"""KernelSHAP: Shapley values by brute force, the values of the packages `shap` and `captum`."""

from __future__ import annotations

import math
import warnings
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from oodometer_lab.attributions import KernelShap, Words
from oodometer_lab.attributions.black_box import Absence
from oodometer_lab.attributions.kernel_shap import shapley_subsets

WEIGHTS = np.random.default_rng(3).normal(size=40)
LONG = " ".join(f"w{i}" for i in range(24))


def game(texts: list[Any]) -> np.ndarray[Any, Any]:
    """A function with interactions: words w0, w1, ... by their numbers, neighbours together, and the separator."""
    scores = []
    for one in texts:
        plain = one if isinstance(one, str) else " ".join(one)
        there = {int(word[1:]) for word in plain.split()}
        score = sum(WEIGHTS[i] for i in there) + sum(
            0.8 * (-1) ** i for i in there if i + 1 in there
        )
        scores.append(score - 0.4 * (not isinstance(one, str)))
    p = 1 / (1 + np.exp(-np.array(scores) / 3))
    return np.stack([1 - p, p], axis=1)


def value(words: Words, here: Any) -> float:
    present = np.zeros((1, words.features), dtype=bool)
    present[0, list(here)] = True
    return float(game(Absence().texts(words, present))[0, 1])


@pytest.mark.parametrize("text", ["w1", "w1 w2", "w0 w1 w2 w3 w4 w5", ("w0 w1 w2", "w3 w1")])
def test_few_words_have_their_shapley_values(text: Any) -> None:
    """By the definition: the mean over all orders of what a word adds when it comes."""
    words = Words(text)
    (found,) = KernelShap(samples=2**words.features).explain(game, [words], targets=[1])
    by_hand = np.zeros(words.features)
    orders = list(permutations(range(words.features)))
    values = {
        here: value(words, here)
        for size in range(words.features + 1)
        for here in combinations(range(words.features), size)
    }
    for order in orders:
        for at, feature in enumerate(order):
            before = tuple(sorted(order[:at]))
            by_hand[feature] += values[tuple(sorted((*before, feature)))] - values[before]
    by_hand /= len(orders)
    ours = [*found.values, *([found.separator] if words.is_pair else [])]
    assert ours == pytest.approx(by_hand, abs=1e-9)
    assert found.base == pytest.approx(value(words, ()))
    assert sum(ours) == pytest.approx(found.probability - found.base, abs=1e-12)


@pytest.fixture(scope="module")
def shap() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap", reason="needs the package shap, of the extra dev")


def by_the_package(shap: Any, words: Words, samples: int, seed: int = 0) -> Any:
    """`shap.KernelExplainer` of a function of which features are there."""

    def ask(present: Any) -> Any:
        return game(Absence().texts(words, np.asarray(present) > 0.5))[:, 1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap.KernelExplainer(ask, np.zeros((1, words.features)), seed=seed)
        return explainer.shap_values(
            np.ones((1, words.features)), nsamples=samples, l1_reg="num_features(99)", silent=True
        )[0]


@pytest.mark.parametrize("text", ["w0 w1 w2 w3 w4 w5 w6 w7 w8 w9", ("w0 w1 w2 w3", "w3 w1 w7")])
def test_the_exact_case_is_that_of_the_package(shap: Any, text: Any) -> None:
    words = Words(text)
    (found,) = KernelShap(samples=2**words.features).explain(game, [words], targets=[1])
    ours = [*found.values, *([found.separator] if words.is_pair else [])]
    assert ours == pytest.approx(by_the_package(shap, words, 2**words.features), abs=1e-6)


def test_samples_are_as_near_to_the_package_as_another_seed(shap: Any) -> None:
    words = Words(LONG)
    np.random.seed(0)  # noqa: NPY002 - the package draws from the state of numpy
    ours = np.array(
        [
            KernelShap(samples=400, seed=i).explain(game, [words], targets=[1])[0].values
            for i in range(5)
        ]
    )
    theirs = np.array([by_the_package(shap, words, 400, seed) for seed in range(5)])
    own, other = ours.std(axis=0, ddof=1).mean(), theirs.std(axis=0, ddof=1).mean()
    far = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    assert far.mean() < 2 * math.hypot(own, other) / math.sqrt(5)
    assert own < 1.3 * other  # no noisier
    assert np.corrcoef(ours[0], theirs[0])[0, 1] > 0.97


@pytest.mark.parametrize(
    ("features", "budget"), [(2, 2), (5, 30), (12, 24), (12, 200), (13, 8190), (30, 60), (40, 300)]
)
def test_subsets_come_with_their_complements(features: int, budget: int) -> None:
    present, weights = shapley_subsets(features, budget, np.random.default_rng(0))
    assert len(present) in (budget, budget - 1)
    sizes = present.sum(axis=1)
    assert ((sizes > 0) & (sizes < features)).all()
    held = [tuple(row) for row in present.tolist()]
    assert sorted(held) == sorted(tuple(not one for one in row) for row in held)
    whole = sum((features - 1) / (size * (features - size)) for size in range(1, features))
    asked_all = len(present) == 2**features - 2 or set(sizes) >= {1, features - 1}
    assert asked_all
    if budget > 2 * features:
        assert weights.sum() == pytest.approx(whole)
    ones = present[(sizes == 1) | (sizes == features - 1)]
    assert len(np.unique(ones, axis=0)) == min(
        2 * features, 2**features - 2
    )  # a word is never without its own subset


def test_too_few_samples_ask_for_each_word_alone_at_least() -> None:
    asked: list[Any] = []

    def model(texts: list[Any]) -> Any:
        asked.extend(texts)
        return game(texts)

    (found,) = KernelShap(samples=2).explain(model, [LONG], targets=[1])
    assert len(asked) == 2 * 24 + 2
    assert found.values.sum() == pytest.approx(found.probability - found.base)
    (more,) = KernelShap(samples=4000).explain(game, [LONG], targets=[1])
    assert np.corrcoef(found.values, more.values)[0, 1] > 0.9


def test_the_fit_is_perfect_for_a_sum_and_not_for_a_product() -> None:
    def linear(texts: list[Any]) -> Any:
        return [[1 - 0.1 * len(one.split()), 0.1 * len(one.split())] for one in texts]

    def both(texts: list[Any]) -> Any:
        return [[0.1, 0.9] if "a" in one and "b" in one else [0.9, 0.1] for one in texts]

    texts = ["a b c d"]
    assert KernelShap().explain(linear, texts, targets=[1])[0].fit == pytest.approx(1)
    assert KernelShap().explain(both, texts)[0].fit < 0.9
    assert KernelShap().explain(both, texts)[0].values == pytest.approx([0.4, 0.4, 0, 0])
    assert np.isnan(KernelShap().explain(linear, ["a"])[0].fit)
