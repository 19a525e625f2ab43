"""Pieces: a vocabulary learnt from pairs of input and output, in which a word looks the same on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..models.torch.library import transformers as load_transformers

__all__ = ["learn_pair_pieces"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def learn_pair_pieces(texts: Iterable[str], size: int, max_length: int) -> Any:
    """A tokenizer of about ``size`` pieces of words; a pair becomes [CLS] input [SEP] output [SEP].

    Words end at white space and at punctuation, so that ``baby`` of a sentence and of ``agent(baby)`` is one word; case
    counts; pieces are built of bytes, so every text can be spelled. White space itself is not seen. The same texts give
    the same pieces. Source: Sennrich et al. (2016) for byte-pair encoding.
    """
    library = load_transformers()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),  # marks where a word starts
        ]
    )
    inner.decoder = decoders.ByteLevel()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=max(size, len(SPECIAL) + len(letters)),
        special_tokens=list(SPECIAL),
        initial_alphabet=letters,
        min_frequency=2,
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    marks = [(name, inner.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    return library.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=max_length,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
