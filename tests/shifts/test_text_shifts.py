"""Shifts of texts and dialogues: each rule by hand, nested draws, and what of a text stays as it is."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from oodometer.errors import InputError, UsageError
from oodometer_lab.shifts.dialogue import InsufficientContext, ShortContext
from oodometer_lab.shifts.text import (
    Casing,
    Dropped,
    ImportantWords,
    KnownWords,
    ShiftedText,
    TypingErrors,
    UnknownWords,
    Vocabulary,
)
from oodometer_lab.shifts.text.words import exchanged, is_piece, plain_words, words_of

from ..snapshots import raises_snapshot

MEANINGS = {
    "big": ["great", "large", "grown-up", "mature", "bad", "prominent"],
    "2": ["two", "II"],
    "two": ["2", "deuce"],
    "deuce": ["two", "five"],
    "he": ["helium"],
    "helium": ["He"],
    "computer": ["data_processor", "calculator", "computing_machine"],
    "machine": ["engine"],
    "don": ["assume"],
    "s": ["sulfur"],
    "house": ["dwelling", "abode"],
}


def made(cls: Any, training: str = "", **options: Any) -> Any:
    return cls(
        Vocabulary.of(["x", training]), synonyms=lambda word: MEANINGS.get(word, []), **options
    )


def only(shift: Any, text: str) -> str | None:
    """What becomes of a text of one word."""
    found = shift.apply([text], 1)
    return None if isinstance(found, Dropped) else found.turns[0]


def test_rule_1_numbers_are_not_exchanged_and_stand_for_nothing() -> None:
    assert only(made(UnknownWords), "2") is None
    assert only(made(UnknownWords), "two") is None
    assert only(made(UnknownWords, function_words=True), "Two") is None
    assert only(made(KnownWords, "two five"), "deuce") is None


def test_function_words_stay_unless_the_paper_is_asked_for() -> None:
    assert only(made(UnknownWords), "He") is None
    assert only(made(KnownWords, "he"), "helium") is None
    assert only(made(UnknownWords, function_words=True), "He") == "Helium"


def test_rule_2_synonyms_of_several_words_are_left_out() -> None:
    assert only(made(UnknownWords), "computer") == "calculator"
    assert only(made(UnknownWords, "a calculator"), "computer") is None


def test_rule_3_what_occurs_in_training_is_known() -> None:
    assert only(made(UnknownWords, "Engine!"), "machine") is None
    assert only(made(KnownWords, "Engine!"), "machine") == "engine"
    assert only(made(KnownWords), "machine") is None
    assert only(made(KnownWords, "engine engine", least=2), "machine") == "engine"
    assert only(made(KnownWords, "engine engine", least=3), "machine") is None


def test_rule_4_the_farthest_in_edit_distance() -> None:
    found = only(made(UnknownWords), "big")
    assert found == max(
        ["great", "large", "mature", "bad", "prominent"],
        key=lambda o: Levenshtein.distance("big", o),
    )
    assert only(made(UnknownWords, "prominent"), "big") == "mature"


def test_the_first_of_the_alphabet_where_several_are_as_far() -> None:
    shift = UnknownWords(
        Vocabulary({"x": 1}), synonyms=lambda word: ["zzz", "yyy"] if word == "abc" else []
    )
    assert only(shift, "abc") == "yyy"


def test_another_word_is_taken_where_one_has_no_synonym() -> None:
    for row in range(20):
        found = made(UnknownWords).apply(["the big of and to is"], "1/6", row=row)
        assert found == ShiftedText(("the prominent of and to is",), 6, 1)


def test_texts_without_enough_such_words_are_dropped() -> None:
    shift = made(UnknownWords)
    assert shift.apply(["the big house of"], 0.75).why == "too few words that can be exchanged"
    assert shift.apply(["the big house"], 0.3).why == "too short to change"


def test_contractions_stay_whole_unless_their_pieces_are_asked_for() -> None:
    text = "Don't, it 's"
    assert [word.text for word in words_of(text)] == ["Don", "'", "t", ",", "it", "'", "s"]
    assert isinstance(made(UnknownWords).apply([text], "1/7"), Dropped)
    assert made(UnknownWords, pieces=True).apply([text], "2/7").turns == ("Assume't, it 'sulfur",)
    assert not is_piece(words_of("the class' s"), 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940, \u0939\u0948",
            ["\u0939\u093f\u0928\u094d\u0926\u0940", ",", "\u0939\u0948"],
        ),  # Hindi
        ("cafe\u0301 n\u0303o", ["cafe\u0301", "n\u0303o"]),  # accents that are written apart
        ("caf\u00e9 it\u2019s", ["caf\u00e9", "it", "\u2019", "s"]),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
        ),  # Persian, with a joiner
        ("\u2764\ufe0f!", ["\u2764\ufe0f", "!"]),
        ("\u0301a", ["\u0301", "a"]),  # a mark of nothing
        (
            "\u6211\u559c\u6b22\u8fd9\u90e8",
            ["\u6211\u559c\u6b22\u8fd9\u90e8"],
        ),  # Chinese is not divided
    ],
)
def test_combining_marks_belong_to_their_word(text: str, expected: list[str]) -> None:
    words = words_of(text)
    assert [word.text for word in words] == plain_words(text) == expected
    assert [text[word.start : word.end] for word in words] == expected


@given(st.text(st.characters(max_codepoint=0x2FF), max_size=60))
def test_texts_without_marks_are_words_as_ever(text: str) -> None:
    assert plain_words(text) == re.findall(r"\w+|[^\w\s]", text)


def test_case_spaces_and_marks_stay() -> None:
    found = made(UnknownWords).apply(["  The  BIG,\tBig\nhouse. "], "3/6")
    assert found.turns == ("  The  PROMINENT,\tProminent\ndwelling. ",)


def test_importance_takes_a_fifth_from_the_least_to_the_most() -> None:
    text = "a b c d e f g"
    weights = {"a": 5.0, "b": 1.0, "c": 3.0, "d": 2.0, "e": 6.0, "f": 4.0, "g": 0.0}
    shift = ImportantWords(
        Vocabulary.of([text]),
        synonyms=lambda word: [f"{word}x"],
        function_words=True,
        importance=lambda turns: np.array([weights[w.text] for t in turns for w in words_of(t)]),
    )
    changed = [
        {
            old
            for old, new in zip(
                text.split(), shift.apply([text], one).turns[0].split(), strict=True
            )
            if old != new
        }
        for one in (1, 2, 3, 4, 5)
    ]
    assert changed == [{"g"}, {"b"}, {"d", "c"}, {"f"}, {"a", "e"}]
    assert shift.apply(["a b c d"], 1).why == "fewer than five words that can be exchanged"


@pytest.mark.parametrize("weights", [np.ones(3), np.full(5, np.nan)])
def test_importance_of_another_form_is_refused(weights: Any) -> None:
    shift = ImportantWords(
        Vocabulary.of(["x"]), synonyms=lambda word: [f"{word}x"], importance=lambda turns: weights
    )
    with raises_snapshot(InputError):
        shift.apply(["a b c d e"], 1)


def test_a_stronger_shift_changes_what_a_milder_one_changed() -> None:
    shift = UnknownWords(
        Vocabulary({"x": 1}), synonyms=lambda word: [f"{word}{word}"], function_words=True
    )
    text = " ".join("abcdefghij")
    before: set[int] = set()
    for severity in ("0.1", "0.3", "0.6", "1"):
        new = shift.apply([text], severity, seed=4, row=7).turns[0].split()
        changed = {
            i for i, (old, now) in enumerate(zip(text.split(), new, strict=True)) if old != now
        }
        assert before < changed
        assert len(changed) == int(Fraction(severity) * 10)
        before = changed


@given(
    text=st.text(max_size=60), severity=st.sampled_from(["0.2", "0.5", "1"]), seed=st.integers(0, 9)
)
def test_whatever_is_not_a_word_stays(text: str, severity: str, seed: int) -> None:
    for shift in (Casing(), TypingErrors()):
        found = shift.apply([text], severity, seed=seed)
        if isinstance(found, ShiftedText):
            assert found.targets == int(Fraction(severity) * len(words_of(text)))
            assert re.sub(r"\w", "", found.turns[0]) == re.sub(r"\w", "", text)


def test_a_typing_error_is_one_edit() -> None:
    seen = set()
    for row in range(200):
        new = TypingErrors().apply(["word"], 1, row=row).turns[0]
        assert new != "word"
        assert new[0] == "w"
        assert Levenshtein.distance("word", new) <= 2
        seen.add(new)
    assert {"wrd", "wor", "wod", "wrod", "wodr", "woord", "worrd", "wordd"} <= seen
    assert isinstance(TypingErrors().apply(["is"], 1), Dropped)


def test_words_are_exchanged_by_their_places() -> None:
    text = "to be, to be"
    words = words_of(text)
    assert exchanged(text, {words[3]: "not"}) == "to be, not be"
    assert exchanged(text, {}) == text


SIX = ("a", "b", "c", "d", "e", "f", "g")


@pytest.mark.parametrize(
    ("severity", "left"), [("0", 6), ("1/6", 5), ("2/6", 4), (0.5, 3), ("0.99", 1), ("5/6", 1)]
)
def test_the_first_turns_are_missing(severity: Any, left: int) -> None:
    found = InsufficientContext(turns=6).apply(SIX, severity)
    assert found.turns == SIX[-left:]
    assert (found.words, found.targets) == (6, 6 - left)


def test_contexts_that_are_too_short_are_dropped() -> None:
    assert InsufficientContext(turns=6).apply(SIX[:5], "1/6").why == "fewer than 6 turns"
    assert InsufficientContext().apply(SIX[:2], "1/3").why == "too few turns to delete one"
    assert InsufficientContext().apply(SIX[:2], 0).turns == SIX[:2]
    assert ShortContext().apply(SIX, 6).why == "not 6 turns"


@pytest.mark.parametrize(
    ("shift", "severity"),
    [
        *((Casing(), severity) for severity in (0, 1.1, "-0.2", "half", "1/0", True, float("nan"))),
        *((InsufficientContext(), severity) for severity in (1, -0.1)),
        *((ShortContext(), severity) for severity in (0, 1.5)),
        *((ImportantWords(), severity) for severity in (6, 0.2)),
    ],
)
def test_severities_that_are_none(shift: Any, severity: Any) -> None:
    with raises_snapshot(UsageError):
        shift.check_severity(severity)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UnknownWords().apply(["big"], 1),
        lambda: ImportantWords(Vocabulary({"x": 1})).apply(["a b c d e"], 1),
        lambda: KnownWords(least=0),
        lambda: InsufficientContext(turns=1),
    ],
)
def test_what_a_shift_lacks(make: Any) -> None:
    with raises_snapshot(UsageError):
        make()
