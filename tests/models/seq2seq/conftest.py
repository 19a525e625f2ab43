"""Sequence models under test: a small parsing task, a T5 that learns it, an untrained T5 and BART on the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer_lab.models.seq2seq import EncoderDecoder
from oodometer_lab.models.torch.training import TrainingConfig

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox")
SIZES = {"d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 1, "num_heads": 4, "dropout_rate": 0.0}
LEARNS = TrainingConfig(epochs=30, batch_size=16, learning_rate=5e-3, warmup=0.1)
QUICK = TrainingConfig(epochs=3, batch_size=16, learning_rate=5e-3, warmup=0.1)

Pairs = tuple[list[str], list[str]]


def parse(text: str) -> str:
    """The last word is the head, those before it its arguments.

    >>> parse("ant bee cat")
    'CAT ( ANT , BEE )'
    """
    *arguments, head = text.upper().split()
    return " ".join([head, "(", " , ".join(arguments), ")"]).replace("  ", " ")


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    """240 sentences of one to three words and their parses."""
    rng = np.random.default_rng(0)
    inputs = [" ".join(rng.choice(WORDS, size=rng.integers(1, 4)).tolist()) for _ in range(240)]
    return inputs, [parse(one) for one in inputs]


@pytest.fixture(scope="session")
def trained(transformers: Any, pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that parses most sentences; load it, so that no test changes another's."""
    inputs, outputs = pairs
    model = EncoderDecoder(config=SIZES, training=LEARNS, max_output_length=24).fit(
        inputs[:200], outputs[:200]
    )
    return model.save(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def model(trained: Path) -> EncoderDecoder:
    """That model."""
    return EncoderDecoder.load(trained)


@pytest.fixture(scope="session")
def tiny_t5(transformers: Any, pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained T5 with a SentencePiece-like vocabulary that lacks { } < and holds § ¶ ß, as a hub would give it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = [
        *pairs[0],
        *pairs[1],
        "§ ¶ ß x§x x¶x xßx abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789",
    ]
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>"
    )
    inner.train_from_iterator(texts, trainer)
    learnt = [
        piece
        for piece in sorted(inner.get_vocab(), key=inner.get_vocab().__getitem__)
        if piece != "<unk>"
    ]
    scored = [
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        *((one, -5.0 - i / 50) for i, one in enumerate(learnt)),
    ]
    tokenizer = transformers.T5Tokenizer(vocab=scored, extra_ids=4)
    transformers.set_seed(0)
    config = transformers.T5Config(**SIZES, vocab_size=len(tokenizer) + 6, decoder_start_token_id=0)
    return saved(
        transformers.T5ForConditionalGeneration(config), tokenizer, tmp_path_factory.mktemp("t5")
    )


@pytest.fixture(scope="session")
def tiny_bart(transformers: Any, pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained BART over bytes, published with habits of decoding that a parser must not have."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    inner.train_from_iterator([*pairs[0], *pairs[1]], trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        mask_token="<mask>", cls_token="<s>", sep_token="</s>",
    )  # fmt: skip
    transformers.set_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=48, dropout=0.0,
        init_std=0.2,
    )  # fmt: skip
    net = transformers.BartForConditionalGeneration(config)
    net.generation_config.no_repeat_ngram_size = 1
    net.generation_config.min_length = 12
    net.generation_config.num_beams = 3
    net.generation_config.early_stopping = True
    return saved(net, tokenizer, tmp_path_factory.mktemp("bart"))


def saved(net: Any, tokenizer: Any, folder: Path) -> Path:
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=["tiny_t5", "tiny_bart"])
def source(request: pytest.FixtureRequest) -> str:
    """Both, one after the other."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def stop_at() -> Callable[[int], Callable[[int, int], None]]:
    """Progress that interrupts after a step."""

    def make(step: int) -> Callable[[int, int], None]:
        def progress(done: int, total: int) -> None:
            if done == step:
                raise KeyboardInterrupt

        return progress

    return make
