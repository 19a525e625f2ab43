"""Word pieces: a vocabulary learnt from texts, for an encoder that is trained from scratch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import Text, joined
from ..torch.library import transformers as load_transformers

__all__ = ["learn_wordpiece"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MOST_LETTERS = 500  # the rest are unknown


def learn_wordpiece(texts: Sequence[Text], size: int, max_length: int) -> Any:
    """A tokenizer of at most ``size`` word pieces, lower case, with the marks [CLS] text [SEP] of BERT.

    Source: Devlin et al. (2019).
    """
    library = load_transformers()
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    # The trainer numbers the single letters in the order of a hash, which changes from run to run, and breaks ties by
    # number; letters that are named beforehand keep their order, so the same texts give the same pieces.
    plain = [joined(text) for text in texts]
    letters = sorted({letter for text in plain for letter in inner.normalizer.normalize_str(text) if letter.strip()})
    named = [*SPECIAL, *letters[:MOST_LETTERS], *(f"##{letter}" for letter in letters[:MOST_LETTERS])]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=named, show_progress=False)
    inner.train_from_iterator(plain, trainer)
    pieces = Tokenizer(models.WordPiece(inner.get_vocab(), unk_token="[UNK]"))
    pieces.normalizer, pieces.pre_tokenizer, pieces.decoder = (
        inner.normalizer,
        inner.pre_tokenizer,
        inner.decoder,
    )
    pieces.add_special_tokens(list(SPECIAL))
    marks = [(name, pieces.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    return library.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        model_max_length=max_length,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
