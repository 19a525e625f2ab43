"""Absence: what a text is without some of its words, by hand and for any text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import UsageError
from oodometer_lab.attributions import KernelShap, Lime, Words
from oodometer_lab.attributions.black_box import Absence

from ..snapshots import raises_snapshot


def without(text: Any, *absent: int, mask: str | None = None) -> Any:
    """The text without the features at some places."""
    words = Words(text)
    present = np.ones((1, words.features), dtype=bool)
    present[0, list(absent)] = False
    return Absence(mask).texts(words, present)[0]


@pytest.mark.parametrize(
    ("text", "absent", "expected"),
    [
        ("a man eats.", [1], "a eats."),
        ("a man eats.", [2], "a man."),
        ("a man eats.", [0, 1, 2, 3], ""),
        ("  a  man eats. ", [], "  a  man eats. "),  # to the character
        ("  a  man eats. ", [0], "man eats."),
        ("don't go", [1], "don t go"),  # not "dont"
        ("don't go", [0], "'t go"),
        ("(so) it is", [0], "so) it is"),
        ("so (it) is", [1], "so it) is"),
        ("so-so-so", [1, 2, 3], "so so"),
        ("", [], ""),
    ],
)
def test_words_are_removed(text: str, absent: list[int], expected: str) -> None:
    assert without(text, *absent) == expected


@pytest.mark.parametrize(
    ("mask", "absent", "expected"),
    [
        ("[MASK]", [1], "a [MASK] doesn't."),
        ("[MASK]", [5], "a man doesn't[MASK]"),
        ("[MASK]", [3], "a man doesn[MASK]t."),
        ("UNK", [3], "a man doesn UNK t."),  # a mask of letters keeps apart
        ("UNK", [3, 4], "a man doesn UNK UNK."),
    ],
)
def test_words_are_masked(mask: str, absent: list[int], expected: str) -> None:
    assert without("a man doesn't.", *absent, mask=mask) == expected


def test_the_separator_of_a_pair_is_the_last_feature() -> None:
    pair = ("a man eats", "he eats")
    assert without(pair, 5) == "a man eats he eats"
    assert without(pair, 0, 3) == ("man eats", "eats")
    assert without(pair, 3, 4, 5) == "a man eats"
    assert without(pair, 0, 1, 2, 5) == "he eats"
    assert without(pair, *range(5)) == ("", "")
    assert without(pair, 2, 5, mask="[MASK]") == "a man [MASK] he eats"
    assert without(("", "he eats"), 1) == ("", "he")


@given(st.text(max_size=30), st.text(max_size=20), st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_left_are_the_words_that_are_present(
    first: str, second: str, seed: int, paired: bool
) -> None:
    words = Words((first, second) if paired else first)
    present = np.random.default_rng(seed).random((5, words.features)) < 0.5
    for text, row in zip(Absence().texts(words, present), present, strict=True):
        many = len(words.words)
        left = Words(text)
        assert left.words == tuple(
            word for word, here in zip(words.words, row, strict=False) if here
        )
        if paired and row[-1]:
            assert left.parts.tolist() == words.parts[row[:many]].tolist()
        else:
            assert not left.is_pair


def test_many_rows_are_the_same_as_one_by_one() -> None:
    words = Words(("it's a well-known film", "isn't it?"))
    present = np.random.default_rng(0).random((50, words.features)) < 0.6
    for absence in (Absence(), Absence("<mask>"), Absence("x")):
        whole = absence.texts(words, present)
        assert whole == [absence.texts(words, row[None])[0] for row in present]


def test_options() -> None:
    own = SimpleNamespace(tokenizer=SimpleNamespace(mask_token="<mask>"))
    assert Absence.of("remove", own) == Absence()  # type: ignore[arg-type]
    assert Absence.of("mask", own) == Absence("<mask>")  # type: ignore[arg-type]
    assert Absence.of("...", len) == Absence("...")
    for wrong, model in (("mask", len), (" ", len), (5, len), (None, len)):
        with pytest.raises(UsageError, match="mask"):
            Absence.of(wrong, model)  # type: ignore[arg-type]
    for mask in ("", 5):
        with pytest.raises(UsageError, match="mask"):
            Absence(mask)  # type: ignore[arg-type]
    for made in (Lime, KernelShap):
        for absent in (5, None, " "):
            with raises_snapshot(UsageError):
                made(absent=absent)  # type: ignore[arg-type]


@pytest.mark.parametrize("feature", ["x", 1.0, True, 2, -1, [0]])
def test_a_feature_that_is_no_position(feature: Any) -> None:
    with raises_snapshot(UsageError):
        Words("a b", feature)


def test_words_with_combining_marks_stay_whole() -> None:
    hindi = "\u0939\u093f\u0928\u094d\u0926\u0940"
    assert Words((f"{hindi} film", "cafe\u0301.")).words == (hindi, "film", "cafe\u0301", ".")
    assert without(f"a {hindi} film", 1) == "a film"
    assert without(f"so,{hindi}", 1) == f"so {hindi}"
