"""Words, vocabularies, batches and checks: what needs no torch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer.errors import InputError
from oodometer_lab.models.base import check_texts, class_codes
from oodometer_lab.models.tokens import PAIR, Vocabulary, ends, words
from oodometer_lab.models.torch.batches import length_batches, padded, ragged, sorted_batches

from ..snapshots import raises_snapshot


@pytest.mark.parametrize(
    ("whole", "split"),
    [
        ("I can't; they've gone!", "i ca n't ; they 've gone !"),
        ("It's 10<br /><br />out of 10?", "it 's 10 out of 10 ?"),
        ("Don't WON'T isn't", "do n't wo n't is n't"),
        ("the boy's isn't", "the boy 's is n't"),
        ("naïve café", "naïve café"),
    ],
)
def test_a_text_and_its_treebank_form_give_the_same_words(whole: str, split: str) -> None:
    assert words(whole) == words(split)
    assert words(whole)


def test_words_by_hand() -> None:
    assert words("Can't stop, won't stop!") == ["ca", "n't", "stop", "wo", "n't", "stop", "!"]
    assert words(("a man", "eats")) == ["a", "man", PAIR, "eats"]
    assert words("") == []


@given(st.text())
def test_words_of_any_text_are_words_of_themselves(text: str) -> None:
    found = words(text)
    assert all(found)
    assert [one for one in words(" ".join(found)) if one != PAIR] == [
        one for one in found if one != PAIR
    ]


def test_vocabulary_by_hand() -> None:
    known = Vocabulary.learn([["b", "a", "b"], ["c", "a"]], most=2)
    assert known.words == ("a", "b")  # equal counts by the alphabet
    assert known.encode([["a", "c", "b"], []]).values.tolist() == [2, 1, 3]
    rows = known.rows_of(("b", "z"), np.array([[1.0, 2.0], [9.0, 9.0]]))
    assert rows.tolist() == [[0, 0], [0, 0], [0, 0], [1, 2]]


@given(st.lists(st.integers(), max_size=40), st.integers(4, 12))
def test_a_long_sequence_loses_its_middle(row: list[int], longest: int) -> None:
    found = ends(row, longest)
    assert len(found) == min(len(row), longest)
    assert found[: longest // 4] == row[: longest // 4]
    assert found[-1:] == row[-1:]


@given(
    hnp.arrays(np.int64, st.integers(1, 60), elements=st.integers(0, 9)),
    st.integers(1, 7),
    st.integers(0, 3),
)
def test_batches_hold_every_position_once(lengths: np.ndarray, size: int, epoch: int) -> None:
    for batches in (length_batches(lengths, size, 0, epoch), sorted_batches(lengths, size)):
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
        assert max(map(len, batches)) <= size


def test_batches_follow_seed_and_epoch() -> None:
    lengths = np.arange(40)

    def flat(seed: int, epoch: int) -> list[int]:
        return np.concatenate(length_batches(lengths, 8, seed, epoch)).tolist()

    assert flat(0, 0) == flat(0, 0)
    assert flat(0, 0) != flat(0, 1)
    assert flat(0, 0) != flat(1, 0)


@given(st.lists(st.lists(st.integers(2, 9), max_size=6), min_size=1, max_size=8), st.integers(1, 8))
def test_padding_against_a_loop(rows: list[list[int]], least: int) -> None:
    index = np.arange(len(rows))[::-1]
    ids, real = padded(ragged(rows), index, 0, least=least)
    width = max(least, max(map(len, rows)))
    for got, mask, i in zip(ids.tolist(), real.tolist(), index.tolist(), strict=True):
        assert got == rows[i] + [0] * (width - len(rows[i]))
        assert mask == [True] * len(rows[i]) + [False] * (width - len(rows[i]))


def test_labels_and_texts_that_are_none() -> None:
    with raises_snapshot(InputError):
        check_texts("one string")
    with pytest.raises(InputError, match="row 1"):
        check_texts([("a", "b", "c")])  # type: ignore[list-item]
    with raises_snapshot(InputError):
        class_codes([1], 2, None)
    with raises_snapshot(InputError):
        class_codes([1, 1], 2, None)
    with raises_snapshot(InputError):
        class_codes([1, 7], 2, (0, 1))
    with raises_snapshot(InputError):
        class_codes([1, "1"], 2, None)  # type: ignore[list-item]
    codes, classes = class_codes(np.array([1, 0]), 2, (1, 0))  # type: ignore[arg-type]
    assert (codes.tolist(), classes) == ([0, 1], (1, 0))
