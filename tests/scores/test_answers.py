"""Repeated answers and stated confidences against plain loops, SQuAD's own script, and every way to write a percent."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer.scores import (
    answer_agreement,
    normalized_answer,
    semantic_entropy,
    stated_confidence,
)

from ..snapshots import raises_snapshot


def of_squad(text: str) -> str:
    """`normalize_answer` of evaluate-v1.1.py."""
    bare = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@given(
    st.lists(
        st.sampled_from(
            ["the", "The", "a", "An", "Cat", "cat,", "(sat)", "on", "mat!", " ", "U.S."]
        ),
        min_size=1,
    )
)
def test_words_are_compared_as_in_squad(words: list[str]) -> None:
    text = " ".join(words)
    assert not of_squad(text) or normalized_answer(text) == of_squad(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1,000", "1000", True),
        ("$5.00", "5", True),
        ("3.5", "35", False),
        ("-3", "3", False),
        ("it is -3", "it is 3", False),
        ("50%", "50", False),
        ("A", "B", False),
        ("A.", "a", True),
        ("42.", "42", True),
        ("well-known", "wellknown", True),
    ],
)
def test_numbers_and_options_stay_apart(one: str, other: str, same: bool) -> None:
    assert (normalized_answer(one) == normalized_answer(other)) == same


@given(
    st.lists(
        st.tuples(st.sampled_from("qrs"), st.sampled_from(["x", "X.", "y", "", "the z"])),
        min_size=1,
        max_size=30,
    )
)
def test_agreement_is_that_of_a_loop(rows: list[tuple[str, str]]) -> None:
    questions, answers = [q for q, _ in rows], [a for _, a in rows]
    share, sure = answer_agreement(answers, questions)
    for row, (question, answer) in enumerate(rows):
        bare = [normalized_answer(a) or object() for q, a in rows if q == question]
        if len(bare) == 1:
            assert math.isnan(share[row])
            assert math.isnan(sure[row])
            continue
        counts = np.array([*Counter(bare).values()]) / len(bare)
        assert sure[row] == pytest.approx(
            1 + (counts * np.log(counts)).sum() / math.log(len(bare)), abs=1e-9
        )
        assert share[row] == pytest.approx(
            bare.count(normalized_answer(answer)) / len(bare) if answer else 0
        )


def test_sameness_may_be_a_function() -> None:
    answers, questions = ["one metre", "1 m", "two metres", "100 cm"], ["q"] * 4
    lengths = dict(zip(answers, (1, 1, 2, 1), strict=True))
    share, sure = answer_agreement(answers, questions, same=lambda a, b: lengths[a] == lengths[b])
    assert share.tolist() == [0.75, 0.75, 0.25, 0.75]
    assert sure[0] == pytest.approx(
        1 + (0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(4)
    )


@pytest.mark.parametrize(
    ("cells", "want"),
    [
        ([0.85, 1, 0], [0.85, 1, 0]),
        (["0.85", " .5 ", None, ""], [0.85, 0.5, math.nan, math.nan]),
        (["85%", "85 %", "85 percent", "Confidence: 85%."], [0.85] * 4),
        (["8/10", "85 out of 100", "0.5 %"], [0.8, 0.85, 0.005]),
        ([85, 100.0, 0, 1], [0.85, 1, 0, 0.01]),
        (["85", "90"], [0.85, 0.9]),
        (["High", "very low", "medium confidence", "N/A"], [0.7, 0.1, 0.5, math.nan]),
    ],
)
def test_stated_confidences(cells: list[Any], want: list[float]) -> None:
    assert stated_confidence(cells)[0].tolist() == pytest.approx(want, nan_ok=True)


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ([0.5, 85], 1),  # half of one percent, or a half?
        ([3, 9, 7], 1),  # percents, or tenths?
        (["85 %", "120 %"], 2),
        ([50, 101], 2),
        (["sure", "80 %"], 1),
        (["8/0"], 1),
        ([-0.5], 1),
    ],
)
def test_what_leaves_two_readings_is_refused(cells: list[Any], row: int) -> None:
    with raises_snapshot(InputError) as caught:
        stated_confidence(cells, "verbalized")
    assert (caught.value.row, caught.value.column) == (row, "verbalized")


def test_semantic_entropy_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    clusters, questions = rng.integers(3, size=60).tolist(), rng.integers(7, size=60).tolist()
    logs = -rng.exponential(size=60)
    for weights, found in (
        (np.ones(60), semantic_entropy(clusters, questions)),
        (np.exp(logs), semantic_entropy(clusters, questions, logs - 800)),
    ):
        for question in set(questions):
            rows = [i for i in range(60) if questions[i] == question]
            mass = [sum(weights[i] for i in rows if clusters[i] == c) for c in range(3)]
            p = np.array([m for m in mass if m]) / sum(mass)
            assert found[rows] == pytest.approx(-(p * np.log(p)).sum())
    sure = answer_agreement([f"a{c}" for c in clusters], questions)[1]
    sizes = np.bincount(questions)[questions]
    assert sure == pytest.approx(1 - semantic_entropy(clusters, questions) / np.log(sizes))
    with raises_snapshot(InputError):
        semantic_entropy([0], [0], [0.1])
