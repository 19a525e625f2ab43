"""Small functions of attributions, each on its smallest case."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oodometer.attributions import Words
from oodometer.attributions.base import Asker, as_words, check_unicode, checked_probabilities, checked_targets
from oodometer.attributions.black_box import Absence, checked_absent, whole_number
from oodometer.attributions.factors.pair import aligned, control_word
from oodometer.attributions.kernel_shap import shapley_subsets
from oodometer.errors import InputError, UsageError


def test_words_that_are_absent_and_subsets() -> None:
    assert [example.features for example in as_words(["a film", ("a man eats", "he eats")])] == [2, 6]
    present = np.array([[True, False, True, True], [False, True, True, False]])
    assert Absence().texts(Words(("Don't", "")), present) == [("Don t", ""), "'t"]
    assert Absence("[MASK]").texts(Words("a film."), np.array([[True, False, True]])) == ["a [MASK]."]
    present, weights = shapley_subsets(3, 6, np.random.default_rng(0))
    assert (present.sum(axis=1).tolist(), weights.round(3).tolist()) == ([1, 1, 1, 2, 2, 2], [0.333] * 6)


def test_each_text_is_asked_once() -> None:
    texts: list[object] = []
    ask = Asker(lambda some: [texts.append(text) or [0.5, 0.5] for text in some])
    assert (ask(["a", "b", "a"]).shape, texts, ask.classes) == ((3, 2), ["a", "b"], 2)


def test_words_of_pairs() -> None:
    result = aligned(Words(("a good person, become bad?", "a bad person become good")))
    assert result == (((0, 7), (2, 9), (4, 10)), (1, 5), (8, 11))
    assert control_word(Words(("The man slept, in case the judge ran.", "The judge ran."))) == 4


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: as_words(["a film", " "]), InputError, "row 2: column text: expected a text with words, got . ."),
        (lambda: check_unicode({"text": "a \ud800"}, 1), InputError, "row 1: column text: .*got half a character"),
        (lambda: checked_probabilities([[0.2, 0.9]], 1), InputError, "sum to 1 for each text, got a row that sums"),
        (lambda: checked_targets([0, True], 2), InputError, "row 2: column target: .*a class from 0 on, got True"),
        (lambda: checked_absent(5), UsageError, "expected absent 'remove', 'mask' or the mask itself, got 5"),
        (lambda: whole_number("samples", 1.5, 2), UsageError, "samples to be a whole number from 2 on, got 1.5"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
