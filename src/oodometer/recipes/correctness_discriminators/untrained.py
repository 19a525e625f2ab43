"""Untrained: a small BART with weights drawn by a seed and tokens learnt from texts, in a folder to start from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...models.seq2seq import learn_pieces, learn_words
from ...models.torch_library import torch, transformers

__all__ = ["write_untrained"]


def write_untrained(
    folder: Path, texts: Iterable[str], config: Mapping[str, Any], *, tokens: str = "words", pieces: int = 8_000,
    seed: int = 0,
) -> Path:  # fmt: skip
    """Write a BART and its tokenizer as a hub folder; `EncoderDecoder(source=...)` trains it.

    A T5 knows where two of its tokens stand only relative to one another; from scratch it takes long to find the input
    word that an output token belongs to. BART's positions are learnt for input and output alike, and two cores find the
    word in a minute. ``config`` are arguments of transformers' ``BartConfig``.

    Source: Lewis et al. (2020).
    """
    library = transformers()
    tokenizer = learn_words(texts) if tokens == "words" else learn_pieces(texts, pieces)
    marks = {
        "pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.eos_token_id,
        "eos_token_id": tokenizer.eos_token_id, "decoder_start_token_id": tokenizer.pad_token_id,
        "forced_eos_token_id": None,
    }  # fmt: skip
    torch().manual_seed(seed)
    net = library.BartForConditionalGeneration(
        library.BartConfig(**{**config, **marks, "vocab_size": len(tokenizer)})
    )
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    net.save_pretrained(part)
    tokenizer.save_pretrained(part)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(part, folder)
    return folder
