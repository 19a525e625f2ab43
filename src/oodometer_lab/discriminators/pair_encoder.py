"""Pair encoder: the untrained encoder that reads an input and an output side by side, pretrained or from scratch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import UsageError
from oodometer.results import percent

from ..models.artifacts import fingerprint, keep, trained_as
from ..models.base import Progress
from ..models.text.encoder import Encoder, TokenEncoder
from ..models.text.network import counted_ids
from ..models.tokens import MARKS, train_byte_pieces, with_marks
from ..models.torch.batches import padded
from ..models.torch.library import choose_device
from ..models.torch.library import torch as load_torch
from ..models.torch.library import transformers as load_transformers
from ..models.torch.training import Hooks, LengthBatches, TrainingConfig, train
from .base import check_pairs


def learn_pair_pieces(texts: Iterable[str], size: int, max_length: int) -> Any:
    """A tokenizer of about ``size`` pieces of bytes; words end at white space and punctuation, so that ``baby`` of a
    sentence and of ``agent(baby)`` is one. Source: Sennrich et al. (2016) for byte-pair encoding.
    """
    load_transformers()
    from tokenizers import pre_tokenizers

    before = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.ByteLevel(
                add_prefix_space=True, use_regex=False
            ),  # marks where a word starts
        ]
    )
    smallest = len(MARKS) + len(pre_tokenizers.ByteLevel.alphabet())
    return with_marks(
        train_byte_pieces(texts, max(size, smallest), MARKS, before, min_frequency=2), max_length
    )


HEADS: Mapping[str, type[Encoder | TokenEncoder]] = {"mark": Encoder, "tokens": TokenEncoder}
"""What a verdict is read from: the mark before the pair, or every token of the output."""

SMALL: Mapping[str, Any] = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 512,
}
"""Sizes of an encoder that learns on one CPU core in minutes."""

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def pair_encoder(
    source: str | None,
    config: Mapping[str, Any] | None,
    *,
    vocab_size: int,
    max_length: int,
    training: TrainingConfig | None,
    device: str | None,
    head: str = "mark",
    texts: Sequence[Sequence[str]] = (),
) -> Encoder | TokenEncoder:
    """An encoder of a pretrained ``source``, or of the sizes in ``config`` with pieces learnt from ``texts``. What
    ``config`` leaves open is chosen so that a small one learns at all: weights of standard deviation 1 /
    sqrt(hidden_size), no dropout.
    """
    if head not in HEADS:
        raise UsageError(f"expected a head of {' or '.join(HEADS)}, got {head!r}")
    if training is None and source is None:
        training = TrainingConfig(
            epochs=10, batch_size=64, learning_rate=1e-3, weight_decay=0.01, warmup=0.1
        )
    tokenizer = None
    if config is not None:
        config = sizes_of(config)
        tokenizer = learn_pair_pieces(chain(*texts), vocab_size, max_length) if texts else None
    return HEADS[head](
        source,
        config=config,
        vocab_size=vocab_size,
        max_length=max_length,
        tokenizer=tokenizer,
        training=training,
        device=device,
    )


def sizes_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of an encoder from scratch with what they leave open."""
    return {"initializer_range": config.get("hidden_size", 768) ** -0.5, **NO_DROPOUT, **config}


TRAINING = TrainingConfig(
    epochs=20, batch_size=64, learning_rate=1e-3, weight_decay=0.01, warmup=0.1
)
# Shares of the tokens that are chosen: of the input, of the output those that the input has too, and the others, such
# as tags and brackets. The others are what a judge must know; how to copy is hard to learn and says less.
SHARES = (0.1, 0.1, 0.5)
HIDDEN, EXCHANGED = 0.8, 0.1  # of the chosen tokens; the rest stay as they are


@dataclass(frozen=True)
class PretrainingOptions:
    """How an encoder is pretrained.

    vocab_size, max_length, device : as for `ClassifierDiscriminator`. training : how to train.
    """

    vocab_size: int = 8_000
    max_length: int = 512
    training: TrainingConfig = TRAINING
    device: str | None = None


def pretrain(
    inputs: Sequence[str],
    outputs: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    config: Mapping[str, Any],
    options: PretrainingOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Path:
    """Train an encoder from scratch to fill gaps in right pairs; the folder is then a ``source`` of judges.

    In each pass tokens are chosen anew: half of those of the output that the input does not have (tags, brackets), and
    a tenth of all others. Of the chosen 80 % are hidden, 10 % exchanged, 10 % left; the loss is their cross-entropy,
    minimised as `TrainingConfig` says. Judges that differ by seed then start from the same weights, as in the paper.

    inputs, outputs : Texts of right pairs, such as the gold ones of the training set.
    folder : Where the encoder and its tokenizer are written, in transformers' own format; it appears whole or not at
        all. A folder of the very same training is kept.
    config : As for `ClassifierDiscriminator`.
    options, more : How to train. Fields of `PretrainingOptions` may also be given by name: ``pretrain(...,
        max_length=64)``.
    checkpoint, progress : Folder from which an interrupted training goes on; called with (steps done, steps).

    Raises `InputError` for texts that are none. Source: Devlin et al. (2019).

    >>> pretrain(["a b"], [None], "encoder", config={})
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column output: expected a text, got None; leave the row out or give the text
    """
    input_texts, texts = check_pairs(inputs, outputs)
    how = replace(options or PretrainingOptions(), **more)
    path, device = Path(folder), choose_device(how.device)
    tokenizer = learn_pair_pieces([*input_texts, *texts], how.vocab_size, how.max_length)
    sequences, cut = counted_ids(
        tokenizer, list(zip(input_texts, texts, strict=True)), how.max_length
    )
    settings = {**sizes_of(config), "vocab_size": how.vocab_size, "max_length": how.max_length}
    name = fingerprint({"pretraining": settings}, sequences.values, sequences.offsets)
    training_name = how.training.fingerprint(name)
    if trained_as(path) == training_name:
        return path
    if cut:
        warnings.warn(
            f"{cut} of {len(texts)} pairs ({percent(cut / len(texts))}) are longer than {how.max_length} tokens and "
            "lose the end of their longer side; raise `max_length`",
            stacklevel=2,
        )
    load_torch().manual_seed(how.training.seed)
    # the untrained encoder, its weights drawn by torch's seed
    library = load_transformers()
    sizes = {
        "model_type": "bert",
        "vocab_size": len(tokenizer),
        "max_position_embeddings": how.max_length,
        "pad_token_id": int(tokenizer.pad_token_id),
    }
    base = library.AutoModel.from_config(
        library.AutoConfig.for_model(**{**sizes, **sizes_of(config)})
    )
    gaps = _Gaps(base, tokenizer, sequences, device)
    batches, state = (
        LengthBatches(sequences.lengths, how.training),
        None if checkpoint is None else Path(checkpoint),
    )
    train(
        gaps.net,
        gaps.loss,
        batches,
        how.training,
        name=name,
        checkpoint=state,
        hooks=Hooks(progress),
    )

    def write(part: Path) -> None:
        base.save_pretrained(part)
        tokenizer.save_pretrained(part)

    keep(path, training_name, write)
    return path


@final
class _Gaps:
    """The task: tokens of pairs are hidden, and a head on the encoder says which they were."""

    def __init__(self, base: Any, tokenizer: Any, sequences: Ragged, device: str) -> None:
        torch = load_torch()
        self.tokenizer, self.sequences, self.device = tokenizer, sequences, device
        head = torch.nn.Linear(base.config.hidden_size, len(tokenizer))
        self.net = torch.nn.ModuleDict({"base": base, "head": head}).to(device)
        self.typed = getattr(base.config, "type_vocab_size", 0) > 1
        self.special = torch.tensor(sorted(tokenizer.all_special_ids), device=device)
        self.parts = _parts(sequences, int(tokenizer.sep_token_id))
        self.shares = torch.tensor(SHARES, device=device)

    def loss(self, batch: Array) -> Any:
        """Mean cross-entropy of the chosen tokens of a batch, chosen anew in each call."""
        torch, device, tokenizer = load_torch(), self.device, self.tokenizer
        ids, real = padded(self.sequences, batch, int(tokenizer.pad_token_id))
        true, mask = torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)
        what = torch.from_numpy(padded(self.parts, batch, 0)[0]).to(device)
        chosen = torch.rand(true.shape, device=device) < self.shares[what]
        chosen = chosen & mask & ~torch.isin(true, self.special)
        fate = torch.rand(true.shape, device=device)
        seen = torch.where(chosen & (fate < HIDDEN), tokenizer.mask_token_id, true)
        random_ids = torch.randint(len(self.special), len(tokenizer), true.shape, device=device)
        seen = torch.where(
            chosen & (fate >= HIDDEN) & (fate < HIDDEN + EXCHANGED), random_ids, seen
        )
        types = {"token_type_ids": (what > 0).long()} if self.typed else {}
        states = self.net["base"](
            input_ids=seen, attention_mask=mask.long(), **types
        ).last_hidden_state
        # of the whole vocabulary, so only where a token was chosen
        scores = self.net["head"](states[chosen])
        total = torch.nn.functional.cross_entropy(scores, true[chosen], reduction="sum")
        return total / chosen.sum().clamp(min=1)


def _parts(sequences: Ragged, separator: int) -> Ragged:
    """Where each token stands: 0 in the input, 1 in the output and the input has it too, 2 in the output alone."""
    out = np.zeros(len(sequences.values), dtype=np.int64)
    for start, stop in pairwise(sequences.offsets.tolist()):
        ids = sequences.values[start:stop]
        first = int(np.argmax(ids == separator)) + 1
        out[start + first : stop] = np.where(np.isin(ids[first:], ids[:first]), 1, 2)
    return Ragged(out, sequences.offsets)
