"""Generative: an encoder-decoder reads "input | output" and answers Correct or Incorrect, as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np

from ..arrays import Array
from ..models.artifacts import fingerprint
from ..models.base import Answers, Progress
from ..models.seq2seq import EncoderDecoder
from ..models.seq2seq.decoding import IGNORED, token_scores
from ..models.seq2seq.pretrained import load_tokenizer, new_tokens
from ..models.text.network import cut_longer_side
from ..models.torch.batches import Asking, padded, token_batches
from ..models.torch.library import torch as load_torch
from ..models.torch.training import Best, TrainingConfig
from .base import CLASSES, TrainedDiscriminator, class_log_odds

BETWEEN = " | "
CPU_TOKENS = 2_048  # of a batch on a CPU: 1.7 times as fast as 16,384, whose values do not stay in its caches


@final
class GenerativeDiscriminator(TrainedDiscriminator):
    """An encoder-decoder: m = log p("Correct") - log p("Incorrect") given the pair, then `odds.probability`.

    Nothing is generated: the encoder reads the pair once, and both answers are scored against it. Give ``source`` or
    ``config``, not both.

    Parameters
    ----------
    source : hub name or path of an encoder-decoder, such as ``google-t5/t5-base``.
    config : sizes of a T5 from scratch, as for `EncoderDecoder`; {} takes the small ones.
    tokens, vocab_size, stand_ins : as for `EncoderDecoder`.
    max_length : tokens of a pair that are read; a longer pair loses the end of its longer side.
    batch_tokens : padded tokens of a batch when the judge is asked; on a CPU at most 2,048, which its caches hold.
    share : the share of correct outputs that P holds for; 0.5 favours neither verdict, None is the training's.
    training, device : how and where to train; members of an ensemble differ by ``training.seed``.

    With ``dev`` the weights of the smallest dev loss are kept and one temperature is fitted. Source: Yao and Koller
    (2024).

    >>> GenerativeDiscriminator(config={}).options()["max_length"]
    512
    """

    kind = "generative"
    _long = 0  # pairs of the last call that were cut

    def __init__(
        self,
        source: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        tokens: Literal["words", "pieces"] = "words",
        vocab_size: int = 8_000,
        max_length: int = 512,
        stand_ins: Mapping[str, str] | Literal["auto"] | None = "auto",
        batch_tokens: int = 16_384,
        share: float | None = 0.5,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(share=share)
        self.model: EncoderDecoder = EncoderDecoder(
            source,
            config=config,
            tokens=tokens,
            vocab_size=vocab_size,
            max_length=max_length,
            max_output_length=16,
            stand_ins=stand_ins,
            batch_tokens=batch_tokens,
            training=training,
            device=device,
        )

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        own = self.model.options()
        own.pop("max_output_length")
        return {**own, "share": self.share, "training": asdict(self.model.training)}

    @property
    def max_length(self) -> int:
        """Tokens of a pair that are read."""
        return self.model.max_length

    def _train(
        self,
        inputs: list[str],
        outputs: list[str],
        correct: Array,
        dev: tuple[list[str], list[str], Array] | None,
        checkpoint: Path | None,
        progress: Progress | None,
    ) -> int:
        tokenizer = self._tokenizer_for(inputs, outputs)
        texts, cut = self._texts(inputs, outputs, tokenizer)
        answers = [CLASSES[int(one)] for one in correct]
        if dev is None:
            self.model.fit(texts, answers, checkpoint=checkpoint, progress=progress)
            return cut
        held, right = self._texts(dev[0], dev[1], tokenizer)[0], dev[2]
        name = fingerprint({**self.options(), "texts": texts, "held": held}, correct, right)

        def loss() -> float:
            odds = class_log_odds(self._logits(held, None), 0, 1)
            return float(np.logaddexp(0, np.where(right, -1, 1) * odds).mean())

        best = Best(lambda: self.model.net, loss, name=name, folder=checkpoint)
        self.model.fit(texts, answers, checkpoint=checkpoint, progress=best.watching(progress))
        best.restore()
        return cut

    def _asking(self) -> Callable[..., Answers]:
        return self._ask

    def _ask(self, pairs: list[tuple[str, str]], *, progress: Progress | None = None) -> Answers:
        inputs, outputs = ([pair[part] for pair in pairs] for part in (0, 1))
        texts, self._long = self._texts(inputs, outputs, self.model.tokenizer)
        return Answers(CLASSES, self._logits(texts, progress))

    def _cut(self) -> int:
        return self._long

    def _tokenizer_for(self, inputs: list[str], outputs: list[str]) -> Any:
        """The tokenizer that the training will use, or one that counts as it does."""
        if self.model.source is not None:
            return load_tokenizer(self.model.source)
        texts = [f"{given}{BETWEEN}{output}" for given, output in zip(inputs, outputs, strict=True)]
        return new_tokens(texts, CLASSES, self.model.tokens, self.model.vocab_size)

    def _texts(self, inputs: list[str], outputs: list[str], tokenizer: Any) -> tuple[list[str], int]:
        """Pairs as the texts that the encoder reads, and how many were too long."""
        room = self.model.max_length - len(tokenizer(BETWEEN)["input_ids"]) - 1
        inputs, outputs, cut = cut_longer_side(tokenizer, inputs, outputs, room)
        return [f"{given}{BETWEEN}{output}" for given, output in zip(inputs, outputs, strict=True)], cut

    def _logits(self, texts: list[str], progress: Progress | None) -> Array:
        """log p(Incorrect) and log p(Correct) of each text, shape (sample, 2): the encoder reads it once."""
        torch = load_torch()
        codec, device = self.model.ready()
        net = self.model.net
        read, written = codec.read(texts), codec.written(CLASSES)
        labels, _ = padded(written, np.arange(len(CLASSES)), IGNORED)
        answers = torch.from_numpy(labels).to(device)
        order = np.argsort(-read.lengths, kind="stable")
        most = self.model.batch_tokens if device != "cpu" else min(self.model.batch_tokens, CPU_TOKENS)
        batches = token_batches(read.lengths + answers.numel(), order, most)
        with Asking(batches, len(texts), progress) as asking:
            for batch in asking:
                ids, real = padded(read, batch, codec.padding)
                mask = torch.from_numpy(real).to(device).long()
                states = net.get_encoder()(
                    input_ids=torch.from_numpy(ids).to(device), attention_mask=mask, return_dict=True
                )
                states.last_hidden_state = states.last_hidden_state.repeat_interleave(len(CLASSES), 0)
                found = token_scores(
                    net,
                    answers.repeat(len(batch), 1),
                    encoder_outputs=states,
                    attention_mask=mask.repeat_interleave(len(CLASSES), 0),
                )
                asking.take(found.sum(1).reshape(len(batch), len(CLASSES)))
        (out,) = asking.found
        return out

    @classmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        judge = cls(**options)
        training, device = judge.model.training, judge.model.device
        judge.model = EncoderDecoder.load(folder)
        judge.model.training, judge.model.device = training, device
        return judge
