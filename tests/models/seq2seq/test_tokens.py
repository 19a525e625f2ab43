"""Tokens learnt from texts: words in a fixed order, pieces that spell everything, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer_lab.models.seq2seq import learn_pieces, learn_words

TEXTS = ["the cat sees the dog", "see ( agent = * cat , theme = * dog )", "the dog"]


def test_words_by_hand(transformers: Any) -> None:
    found = learn_words(TEXTS)
    # the: 3, dog: 3, cat 2, * 2, = 2, then once each by the alphabet; 0-2 are padding, end and unknown.
    words = [found.convert_ids_to_tokens(i) for i in range(len(found))]
    assert words == [
        "<pad>",
        "</s>",
        "<unk>",
        "dog",
        "the",
        "*",
        "=",
        "cat",
        "(",
        ")",
        ",",
        "agent",
        "see",
        "sees",
        "theme",
    ]
    assert found("the  mouse sees")["input_ids"] == [4, 2, 13, 1]
    assert (found.pad_token_id, found.eos_token_id, found.unk_token_id) == (0, 1, 2)


def test_marks_in_the_texts_are_no_words_of_their_own(transformers: Any) -> None:
    found = learn_words(["a <pad> b </s>"])
    assert len(found) == 5


def test_words_come_back_from_the_disk(transformers: Any, tmp_path: Path) -> None:
    learn_words(TEXTS).save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        ids = again(text)["input_ids"]
        assert ids == learn_words(TEXTS)(text)["input_ids"]
        assert again.decode(ids[:-1]) == text


@pytest.fixture(scope="module")
def pieces(transformers: Any) -> Any:
    return learn_pieces(TEXTS * 5, 300)


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_pieces_spell_everything(pieces: Any, text: str) -> None:
    if any(mark in text for mark in ("<pad>", "</s>", "<unk>")):
        return
    ids = pieces(text, add_special_tokens=False)["input_ids"]
    assert pieces.decode(ids, clean_up_tokenization_spaces=False) == text


def test_pieces_are_of_the_size_asked_for_and_end(pieces: Any) -> None:
    assert 259 < len(pieces) <= 300
    assert pieces("the cat")["input_ids"][-1] == pieces.eos_token_id == 1


def test_pieces_do_not_change_from_process_to_process(transformers: Any) -> None:
    """A hash seed must not decide which pieces a training sees."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from oodometer_lab.models.seq2seq import learn_pieces\n"
        f"print(sorted(learn_pieces({TEXTS * 5!r}, 300).get_vocab().items()))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120,
        env={"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1", "PATH": ""},
    ).stdout  # fmt: skip
    assert other == f"{sorted(learn_pieces(TEXTS * 5, 300).get_vocab().items())}\n"
