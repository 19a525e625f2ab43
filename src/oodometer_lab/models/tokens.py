"""Tokens: words in the manner of the Penn Treebank and their numbers; tokenizers learnt for transformers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, Ragged

from .base import Text, joined
from .torch.batches import ragged
from .torch.library import transformers as load_transformers

PAIR = "<pair>"  # stands between the parts of a pair
_TAG = re.compile(r"<[a-z/][^>]{0,40}>")
_PART = re.compile(r"<pair>|n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]+?(?=n't\b)|[^\W\d_]+|\d+|[!?]")


def words(text: Text) -> list[str]:
    """Lower-case words, numbers, ! and ?, without mark-up; clitics apart: "does n't" and "doesn't" are the same."""
    parts = (text,) if isinstance(text, str) else text
    return _PART.findall(f" {PAIR} ".join(_TAG.sub(" ", part.lower()) for part in parts))


@final
class Vocabulary:
    """Words and their numbers: 0 is padding, 1 any word that is not known, the rest from the most frequent on.

    >>> v = Vocabulary.learn([["a", "b"], ["a"]], most=1)
    >>> v.encode([["a", "b", "a"]]).values.tolist(), len(v)
    ([2, 1, 2], 3)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.words = tuple(names)
        self._place = {word: index for index, word in enumerate(self.words, 2)}

    def __len__(self) -> int:
        return len(self.words) + 2

    @classmethod
    def learn(
        cls, texts: Iterable[Sequence[str]], *, most: int = 30_000, least_count: int = 1
    ) -> Vocabulary:
        """The ``most`` frequent words that occur at least ``least_count`` times; equal counts by the alphabet."""
        counts = Counter(chain.from_iterable(texts))
        order = sorted((-count, word) for word, count in counts.items() if count >= least_count)
        return cls([word for _, word in order[:most]])

    def encode(self, texts: Sequence[Sequence[str]], *, max_length: int | None = None) -> Ragged:
        """Numbers of the words of each text; a text longer than ``max_length`` loses its middle (see `ends`)."""
        find = self._place.get
        rows = [[find(word, 1) for word in text] for text in texts]
        return ragged(rows if max_length is None else [ends(row, max_length) for row in rows])

    def rows_of(self, names: Sequence[str], vectors: Array) -> Array:
        """A matrix (word, dimension) in the order of this vocabulary; rows of words without a vector are 0."""
        row_of = {word: i for i, word in enumerate(names)}
        at = np.array([row_of.get(word, -1) for word in self.words], dtype=np.int64)
        out = np.zeros((len(self), vectors.shape[1]), dtype=np.float32)
        out[2:][at >= 0] = vectors[at[at >= 0]]
        return out


def ends(row: list[int], max_length: int) -> list[int]:
    """The first quarter and the rest from the end of a sequence that is too long. Source: Sun et al. (2019), who find
    that the two ends of a review say more than its beginning.
    """
    if len(row) <= max_length:
        return row
    head = max_length // 4
    return row[:head] + row[len(row) - (max_length - head) :]


MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The special tokens of BERT, at the numbers 0 to 4."""


def train_byte_pieces(
    texts: Iterable[str], size: int, special: Sequence[str], before: Any, *, min_frequency: int = 0
) -> Any:
    """Bytes and merged pairs of pieces, at most ``size``, the most frequent first; ``before`` parts texts in words."""
    load_transformers()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer, inner.decoder = before, decoders.ByteLevel()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        special_tokens=list(special),
        initial_alphabet=letters,
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return inner


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
    inner.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=marks
    )
    return load_transformers().PreTrainedTokenizerFast(tokenizer_object=inner, **options)


PADDING, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL = (PADDING, END, UNKNOWN)  # at the numbers 0, 1 and 2, as T5 has them


def learn_words(texts: Iterable[str]) -> Any:
    """A tokenizer whose tokens are the words of the texts, parted by white space; ``</s>`` ends each text.

    Every word has a token, the most frequent first, equal counts by the alphabet. A word that no text holds becomes
    ``<unk>``. Returns a ``PreTrainedTokenizerFast`` of transformers.

    >>> found = learn_words(["a cat sees a cat", "( cat )"])
    >>> found("a cat ) dog")["input_ids"], found.decode([3, 4])
    ([4, 3, 6, 2, 1], 'cat a')
    """
    load_transformers()
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    inner = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(
        vocab_size=2**31, min_frequency=1, special_tokens=list(SPECIAL), show_progress=False
    )
    # A special token in a text is no word, and white space is what Python takes for it.
    plain = (" ".join(word for word in text.split() if word not in SPECIAL) for text in texts)
    inner.train_from_iterator(plain, trainer)
    return _wrapped(inner)


def learn_pieces(texts: Iterable[str], size: int) -> Any:
    """A tokenizer of at most ``size`` pieces of bytes; it spells any text, white space included.

    Pieces are the 256 bytes and the pairs of pieces that are merged, the most frequent pair first. Returns a
    ``PreTrainedTokenizerFast`` of transformers. Source: Sennrich, Haddow and Birch (2016); Radford et al. (2019) for
    bytes.

    >>> found = learn_pieces(["low lower lowest"] * 3, size=270)
    >>> found.decode(found("slow → {low}", add_special_tokens=False)["input_ids"])
    'slow → {low}'
    """
    load_transformers()
    from tokenizers import pre_tokenizers

    return _wrapped(
        train_byte_pieces(texts, size, SPECIAL, pre_tokenizers.ByteLevel(add_prefix_space=False))
    )


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


MOST_LETTERS = 500  # the rest are unknown


def learn_wordpiece(texts: Sequence[Text], size: int, max_length: int) -> Any:
    """A tokenizer of at most ``size`` word pieces, lower case, with the marks of BERT. Source: Devlin et al. (2019)."""
    plain = [joined(text) for text in texts]
    load_transformers()
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    # The trainer numbers the single letters in the order of a hash, which changes from run to run, and breaks ties by
    # number; letters that are named beforehand keep their order, so the same texts give the same pieces.
    seen = {
        letter
        for text in plain
        for letter in inner.normalizer.normalize_str(text)
        if letter.strip()
    }
    letters_used = sorted(seen)[:MOST_LETTERS]
    named = [*MARKS, *letters_used, *(f"##{letter}" for letter in letters_used)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=named, show_progress=False)
    inner.train_from_iterator(plain, trainer)
    # the letters are not special there
    pieces = Tokenizer(models.WordPiece(inner.get_vocab(), unk_token="[UNK]"))
    pieces.normalizer, pieces.pre_tokenizer, pieces.decoder = (
        inner.normalizer,
        inner.pre_tokenizer,
        inner.decoder,
    )
    pieces.add_special_tokens(list(MARKS))
    return with_marks(pieces, max_length)
