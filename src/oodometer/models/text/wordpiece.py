"""Word pieces: a vocabulary learnt from texts, for an encoder that is trained from scratch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import Text, joined
from ..tokenizer_training import train_word_pieces, with_marks

MOST_LETTERS = 500  # the rest are unknown


def learn_wordpiece(texts: Sequence[Text], size: int, max_length: int) -> Any:
    """A tokenizer of at most ``size`` word pieces, lower case, with the marks [CLS] text [SEP] of BERT.

    Source: Devlin et al. (2019).
    """
    return with_marks(train_word_pieces([joined(text) for text in texts], size, MOST_LETTERS), max_length)
