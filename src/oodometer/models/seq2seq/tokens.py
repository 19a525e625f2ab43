"""Tokens for a sequence model from scratch: whole words, or pieces of bytes, which spell all; learnt from texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tokenizer_training import train_byte_pieces, train_words, wrapped
from ..torch.library import transformers as load_transformers

PADDING, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL = (PADDING, END, UNKNOWN)  # at the numbers 0, 1 and 2, as T5 has them


def learn_words(texts: Iterable[str]) -> Any:
    """A tokenizer whose tokens are the words of the texts, parted by white space; ``</s>`` ends each text.

    Every word has a token, the most frequent first, equal counts by the alphabet. A word that no text holds becomes
    ``<unk>``.

    Returns a ``PreTrainedTokenizerFast`` of transformers.

    >>> found = learn_words(["a cat sees a cat", "( cat )"])
    >>> found("a cat ) dog")["input_ids"], found.decode([3, 4])
    ([4, 3, 6, 2, 1], 'cat a')
    """
    return _wrapped(train_words(texts, SPECIAL, UNKNOWN))


def learn_pieces(texts: Iterable[str], size: int) -> Any:
    """A tokenizer of at most ``size`` pieces of bytes; it spells any text, white space included.

    Pieces are the 256 bytes and the pairs of pieces that are merged, the most frequent pair first.

    Returns a ``PreTrainedTokenizerFast`` of transformers.

    Source: Sennrich, Haddow and Birch (2016); Radford et al. (2019) for bytes.

    >>> found = learn_pieces(["low lower lowest"] * 3, size=270)
    >>> found.decode(found("slow → {low}", add_special_tokens=False)["input_ids"])
    'slow → {low}'
    """
    load_transformers()
    from tokenizers import pre_tokenizers

    return _wrapped(train_byte_pieces(texts, size, SPECIAL, pre_tokenizers.ByteLevel(add_prefix_space=False)))


def _wrapped(inner: Any) -> Any:
    """The tokenizer as transformers' own, with the end token after each text."""
    return wrapped(
        inner,
        f"$A {END}",
        f"$A $B {END}",
        pad_token=PADDING,
        eos_token=END,
        unk_token=UNKNOWN,
        clean_up_tokenization_spaces=False,
    )
