"""LIME: the values are those of the package `lime` on the same samples, and near them on its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from oodometer.errors import UsageError
from oodometer.store.artifact_cache import checksum
from oodometer_lab.attributions import Lime, Words
from oodometer_lab.attributions.black_box import Absence
from oodometer_lab.shifts.text.words import words_of

from ..snapshots import raises_snapshot

TEXT = "this is a good film , and not a dull story at all !"  # no mask comes to touch a word
PAIR = ("a good man eats.", "he is good")
WEIGHTS = {"good": 1.5, "dull": -1.0, "not": -0.5, "film": 0.3, "he": 0.7}


def present_in(method: Lime, words: Words) -> Any:
    """Which words are present in each text that is asked, shape (subset, word)."""
    rng = np.random.default_rng([method.seed, int(checksum(*words.texts), 16)])
    return method._subsets(words.features, rng)[0]


def known_words(texts: list[Any]) -> np.ndarray[Any, Any]:
    """A function that is no linear model: words, two of them together, and the separator."""
    scores = []
    for one in texts:
        plain = one if isinstance(one, str) else " ".join(one)
        words = [word.text for word in words_of(plain)]
        score = sum(WEIGHTS.get(word, 0.02) for word in words) - 1.0
        scores.append(
            score + 1.2 * ("not" in words and "dull" in words) + 0.6 * (not isinstance(one, str))
        )
    p = 1 / (1 + np.exp(-np.array(scores)))
    return np.stack([1 - p, p], axis=1)


@pytest.fixture(scope="module")
def lime() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("lime", reason="needs the package lime, of the extra dev")
        import lime.lime_base
        import lime.lime_text
    return lime


def kernel(distance: Any, width: float) -> Any:
    """That of the package, from its source."""
    return np.sqrt(np.exp(-(distance**2) / width**2))


@pytest.mark.parametrize("text", [TEXT, PAIR])
@pytest.mark.parametrize(("width", "alpha"), [(25.0, 1.0), (10.0, 0.3)])
def test_the_same_samples_give_the_values_of_the_package(
    lime: Any, text: Any, width: float, alpha: float
) -> None:
    method = Lime(samples=200, kernel_width=width, alpha=alpha)
    words = Words(text)
    (found,) = method.explain(known_words, [words])
    present = present_in(method, words)
    data = present.astype(float)
    import sklearn.linear_model
    import sklearn.metrics

    distances = sklearn.metrics.pairwise_distances(data, data[:1], metric="cosine").ravel() * 100
    base = lime.lime_base.LimeBase(lambda d: kernel(d, width))
    asked = known_words(Absence().texts(words, present))
    ridge = sklearn.linear_model.Ridge(alpha=alpha, fit_intercept=True)
    _, theirs, fit, _ = base.explain_instance_with_data(
        data, asked, distances, found.target, 99, feature_selection="none", model_regressor=ridge
    )
    ours = [*found.values, *([found.separator] if words.is_pair else [])]
    assert ours == pytest.approx([value for _, value in sorted(theirs)], abs=1e-9)
    assert found.fit == pytest.approx(fit, abs=1e-9)
    assert found.probability == asked[0, found.target]
    assert np.isnan(found.base)
    assert np.isnan(found.separator) == (not words.is_pair)


def test_how_many_words_are_absent_is_drawn_evenly() -> None:
    words = Words(TEXT)
    method = Lime(samples=4001)
    present = present_in(method, words)
    assert present[0].all()
    absent = words.features - present[1:].sum(axis=1)
    counts = np.bincount(absent, minlength=words.features + 1)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 4000 / words.features).max() < 5 * np.sqrt(4000 / words.features)
    assert (
        np.abs(present[1:].mean(axis=0) - present[1:].mean()).max() < 0.05
    )  # every word as often as another


def test_a_constant_function_has_no_values_and_no_fit() -> None:
    (found,) = Lime(samples=20).explain(lambda texts: [[0.3, 0.7]] * len(texts), ["one two three"])
    assert found.values == pytest.approx(0, abs=1e-12)
    assert np.isnan(found.fit)


def test_seeds_and_texts_draw_apart() -> None:
    def draws(text: str, seed: int) -> list[Any]:
        method = Lime(samples=30, seed=seed)
        words = Words(text)
        return present_in(method, words).tolist()  # type: ignore[no-any-return]

    assert draws("a b c d", 0) == draws("a b c d", 0)
    assert draws("a b c d", 0) != draws("a b c d", 1)
    assert draws("a b c d", 0) != draws("a b c e", 0)


@pytest.mark.parametrize("name", ["kernel_width", "alpha"])
@pytest.mark.parametrize("value", ["a", None, True, 0, -1.0, float("nan"), float("inf")])
def test_options_that_are_no_numbers_above_0(name: str, value: Any) -> None:
    with raises_snapshot(UsageError):
        Lime(**{name: value})
    with pytest.raises(UsageError, match="seed"):
        Lime(seed=-1)
