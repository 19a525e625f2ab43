"""Pieces: a vocabulary learnt from pairs of input and output, in which a word looks the same on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..models.tokenizer_training import MARKS, train_byte_pieces, with_marks
from ..models.torch.library import transformers as load_transformers


def learn_pair_pieces(texts: Iterable[str], size: int, max_length: int) -> Any:
    """A tokenizer of about ``size`` pieces of words; a pair becomes [CLS] input [SEP] output [SEP].

    Words end at white space and at punctuation, so that ``baby`` of a sentence and of ``agent(baby)`` is one word; case
    counts; pieces are built of bytes, so every text can be spelled. White space itself is not seen. The same texts give
    the same pieces. Source: Sennrich et al. (2016) for byte-pair encoding.
    """
    load_transformers()
    from tokenizers import pre_tokenizers

    before = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),  # marks where a word starts
        ]
    )
    least = len(MARKS) + len(pre_tokenizers.ByteLevel.alphabet())
    return with_marks(train_byte_pieces(texts, max(size, least), MARKS, before, min_frequency=2), max_length)
