"""Pairs that are too long: the longer side is cut, the other one read whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oodometer_lab.models.text.network import counted_ids, cut_longer_side, room_of_each
from oodometer_lab.models.tokens import learn_wordpiece


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 40))
def test_the_longer_side_gives_way(first: int, second: int, room: int) -> None:
    """As a loop does that takes one token after the other from the longer side."""
    a, b = first, second
    while a + b > room:
        if a > b:
            a -= 1
        else:
            b -= 1
    kept_a, kept_b = (
        int(one[0]) for one in room_of_each(np.array([first]), np.array([second]), room)
    )
    assert kept_a + kept_b == a + b
    assert abs(kept_a - a) <= 1  # which of two equally long sides is cut first is left open
    if first + second <= room:
        assert (kept_a, kept_b) == (first, second)


def test_texts_are_cut_at_tokens(transformers: Any) -> None:
    from oodometer_lab.models.seq2seq import learn_words

    tokenizer = learn_words(["a b c d e f g h"])
    inputs, outputs = ["a b  c", "a", "a b c d e f"], ["d e f g  h a", "b c", "a b c d e f"]
    left, right, cut = cut_longer_side(tokenizer, inputs, outputs, 6)
    assert left == ["a b  c", "a", "a b c"]
    assert right == ["d e f", "b c", "a b c"]
    assert cut == 2
    assert inputs[2] == "a b c d e f"  # the lists that were given stay as they are


def test_ids_of_a_pair_are_cut_by_the_same_rule(transformers: Any) -> None:
    """The tokenizer's own truncation, which a classifier uses, and ours, for models that read one text."""
    tokenizer = learn_wordpiece(["a b c d e f g h"], 200, 64)
    sides = [
        ["a " * i for i in range(1, 10) for _ in range(9)],
        ["b " * j for _ in range(9) for j in range(1, 10)],
    ]
    rows, cut = counted_ids(tokenizer, list(zip(*sides, strict=True)), 9)
    first, second, same = cut_longer_side(tokenizer, sides[0], sides[1], 6)
    assert cut == same > 0
    for row in range(81):
        expected = tokenizer(first[row], second[row])["input_ids"]
        assert rows.values[rows.offsets[row] : rows.offsets[row + 1]].tolist() == expected


def test_an_empty_side(transformers: Any) -> None:
    from oodometer_lab.models.seq2seq import learn_pieces

    tokenizer = learn_pieces(["abc"], 300)
    left, right, cut = cut_longer_side(tokenizer, ["", "xyz"], ["abcdef", ""], 2)
    assert (left[0], right[1], cut) == ("", "", 2)
    assert len(right[0]) < 6
    assert left[1] == "xy"
