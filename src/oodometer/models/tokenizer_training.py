"""Tokenizer training: words, word pieces and byte pieces learnt by the library tokenizers, wrapped for transformers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .torch.library import transformers as load_transformers

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The special tokens of BERT, at the numbers 0 to 4."""


def train_words(texts: Iterable[str], special: Sequence[str], unknown: str) -> Any:
    """Words that white space parts, behind the special ones: the most frequent first, equal counts by the alphabet."""
    load_transformers()
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    inner = Tokenizer(models.WordLevel(unk_token=unknown))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(
        vocab_size=2**31, min_frequency=1, special_tokens=list(special), show_progress=False
    )
    # A special token in a text is no word, and white space is what Python takes for it.
    plain = (" ".join(word for word in text.split() if word not in special) for text in texts)
    inner.train_from_iterator(plain, trainer)
    return inner


def train_byte_pieces(
    texts: Iterable[str], size: int, special: Sequence[str], before: Any, *, min_frequency: int = 0
) -> Any:
    """Bytes and merged pairs of pieces, at most ``size``, the most frequent first; ``before`` parts texts in words."""
    load_transformers()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer, inner.decoder = before, decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return inner


def train_word_pieces(texts: Sequence[str], size: int, letters: int) -> Any:
    """Word pieces in lower case as of BERT, at most ``size``, of the first ``letters`` letters of the alphabet."""
    load_transformers()
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    # The trainer numbers the single letters in the order of a hash, which changes from run to run, and breaks ties by
    # number; letters that are named beforehand keep their order, so the same texts give the same pieces.
    seen = {letter for text in texts for letter in inner.normalizer.normalize_str(text) if letter.strip()}
    known = sorted(seen)[:letters]
    named = [*MARKS, *known, *(f"##{letter}" for letter in known)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=named, show_progress=False)
    inner.train_from_iterator(texts, trainer)
    pieces = Tokenizer(models.WordPiece(inner.get_vocab(), unk_token="[UNK]"))  # the letters are not special there
    pieces.normalizer, pieces.pre_tokenizer, pieces.decoder = inner.normalizer, inner.pre_tokenizer, inner.decoder
    pieces.add_special_tokens(list(MARKS))
    return pieces


def with_marks(inner: Any, max_length: int) -> Any:
    """The tokenizer as transformers' own; a text becomes [CLS] text [SEP], a pair [CLS] text [SEP] other [SEP]."""
    return wrapped(
        inner,
        "[CLS] $A [SEP]",
        "[CLS] $A [SEP] $B:1 [SEP]:1",
        model_max_length=max_length,
        **{f"{mark[1:-1].lower()}_token": mark for mark in MARKS},
    )


def wrapped(inner: Any, single: str, pair: str, **options: Any) -> Any:
    """The tokenizer as transformers' own, with special tokens where the patterns of a text and of a pair have them."""
    from tokenizers import processors

    ends = [part for part in single.split() if part != "$A"]
    marks = [(name, inner.token_to_id(name)) for name in ends]
    inner.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=marks)
    return load_transformers().PreTrainedTokenizerFast(tokenizer_object=inner, **options)
