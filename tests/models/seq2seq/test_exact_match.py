"""Exact match and its cleaners: by hand, and the properties that make them safe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer_lab.models.seq2seq import close_brackets, composed, exact_match, squeeze

from ...snapshots import raises_snapshot

texts = st.text(alphabet="ab(){}[],=; *\t", max_size=30)


def test_by_hand() -> None:
    outputs = [
        "eat ( agent = * cat )",
        "eat(agent=* cat)",
        "eat ( agent = * cat",
        "eat ( agent = cat )",
        "",
    ]
    golds = ["eat ( agent = * cat )"] * 5
    assert exact_match(outputs, golds).tolist() == [True, False, False, False, False]
    assert exact_match(outputs, golds, clean=squeeze).tolist() == [True, True, False, False, False]
    whole = composed(close_brackets, squeeze)
    assert exact_match(outputs, golds, clean=whole).tolist() == [True, True, True, False, False]


def test_white_space_alone_makes_no_difference_but_case_does() -> None:
    assert exact_match([" a\t b ", "a b", "ab"], ["a b", "A b", "a b"]).tolist() == [
        True,
        False,
        False,
    ]


def test_no_rows() -> None:
    found = exact_match([], [])
    assert found.dtype == bool
    assert found.shape == (0,)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", ""),
        ("a", "a"),
        ("( [ {", "( [ { } ] )"),
        ("( a ]", "( a ] )"),
        ("a )", "a )"),
        (") (", ") ( )"),
        ("( [ )", "( [ ) ] )"),
    ],
)
def test_close_brackets_by_hand(text: str, closed: str) -> None:
    assert close_brackets(text) == closed


@given(texts)
def test_cleaners_change_nothing_the_second_time(text: str) -> None:
    for clean in (squeeze, close_brackets, composed(close_brackets, squeeze)):
        assert clean(clean(text)) == clean(text)


@given(texts)
def test_squeeze_keeps_every_letter(text: str) -> None:
    assert squeeze(text).replace(" ", "") == "".join(text.split())


def test_bad_rows_are_named() -> None:
    with raises_snapshot(InputError):
        exact_match(["a", "b"], ["a"])
    with raises_snapshot(InputError):
        exact_match(["a", "b"], ["a", None])  # type: ignore[list-item]
    with raises_snapshot(InputError):
        exact_match([3], ["a"])  # type: ignore[list-item]
