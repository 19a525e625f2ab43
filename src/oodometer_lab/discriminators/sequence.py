"""Sequence models as judges: an encoder-decoder that answers Correct or Incorrect, or one that scores the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np

from oodometer.arrays import Array

from ..models.artifacts import fingerprint
from ..models.base import Answers, Progress
from ..models.seq2seq import EncoderDecoder
from ..models.seq2seq.decoding import IGNORED, token_scores
from ..models.seq2seq.encoder_decoder import load_tokenizer, new_tokens
from ..models.text.network import cut_longer_side
from ..models.torch.batches import Asking, padded, token_batches
from ..models.torch.library import torch as load_torch
from ..models.torch.training import Best, TrainingConfig
from .base import CLASSES, Learnt, TrainedDiscriminator, check_pairs, check_verdicts, log_odds

BETWEEN = " | "
CPU_TOKENS = 2_048  # of a batch on a CPU: 1.7 times as fast as 16,384, whose values do not stay in its caches


@final
class GenerativeDiscriminator(TrainedDiscriminator):
    """An encoder-decoder: m = log p("Correct") - log p("Incorrect") given the pair, then `base.probability`.

    Nothing is generated: both answers to the pair are scored. Give ``source`` or ``config``, not both.

    source : hub name or path of an encoder-decoder, such as ``google-t5/t5-base``.
    config : sizes of a T5 from scratch, as for `EncoderDecoder`; {} takes the small ones.
    tokens, vocab_size, stand_ins : as for `EncoderDecoder`.
    max_length : tokens of a pair that are read; a longer pair loses the end of its longer side.
    batch_tokens : padded tokens of a batch when the judge is asked; on a CPU at most 2,048, which its caches hold.
    share : the share of correct outputs that P holds for; 0.5 favours neither verdict, None is the training's.
    training, device : how and where to train; members of an ensemble differ by ``training.seed``.

    With ``dev`` the weights of the smallest dev loss stay and a temperature is fitted. Source: Yao and Koller (2024).

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
            vocab_size=vocab_size,
            max_length=max_length,
            max_output_length=16,
            config=config,
            tokens=tokens,
            stand_ins=stand_ins,
            batch_tokens=batch_tokens,
            training=training,
            device=device,
        )
        self.max_length = max_length

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        arguments = self.model.options()
        arguments.pop("max_output_length")
        return {**arguments, "share": self.share, "training": asdict(self.model.training)}

    def _train(
        self, learnt: Learnt, dev: Learnt | None, checkpoint: Path | None, progress: Progress | None
    ) -> int:
        inputs, outputs, correct = learnt
        if self.model.source is not None:
            tokenizer = load_tokenizer(self.model.source)
        else:  # one that counts as that of the training does
            joined = [
                f"{text}{BETWEEN}{output}" for text, output in zip(inputs, outputs, strict=True)
            ]
            tokenizer = new_tokens(joined, CLASSES, self.model.tokens, self.model.vocab_size)
        texts, cut = self._texts(inputs, outputs, tokenizer)
        answers = [CLASSES[int(verdict)] for verdict in correct]
        best = None
        if dev is not None:
            held_out, right = self._texts(dev[0], dev[1], tokenizer)[0], dev[2]
            name = fingerprint({**self.options(), "texts": texts, "held": held_out}, correct, right)

            def loss() -> float:
                odds = log_odds(self._logits(held_out, None))
                return float(np.logaddexp(0, np.where(right, -1, 1) * odds).mean())

            best = Best(lambda: self.model.net, loss, name=name, folder=checkpoint)
            progress = best.watching(progress)
        self.model.fit(texts, answers, checkpoint=checkpoint, progress=progress)
        if best is not None:
            best.restore()
        return cut

    def _asking(self) -> Callable[..., Answers]:
        return self._answer

    def _answer(self, pairs: list[tuple[str, str]], *, progress: Progress | None = None) -> Answers:
        inputs, outputs = ([pair[part] for pair in pairs] for part in (0, 1))
        texts, self._long = self._texts(inputs, outputs, self.model.tokenizer)
        return Answers(CLASSES, self._logits(texts, progress))

    def _cut(self) -> int:
        return self._long

    def _texts(
        self, inputs: list[str], outputs: list[str], tokenizer: Any
    ) -> tuple[list[str], int]:
        """Pairs as the texts that the encoder reads, and how many were too long."""
        room = self.model.max_length - len(tokenizer(BETWEEN)["input_ids"]) - 1
        inputs, outputs, cut = cut_longer_side(tokenizer, inputs, outputs, room)
        return [
            f"{text}{BETWEEN}{output}" for text, output in zip(inputs, outputs, strict=True)
        ], cut

    def _logits(self, texts: list[str], progress: Progress | None) -> Array:
        """log p(Incorrect) and log p(Correct) of each text, shape (sample, 2): the encoder reads it once."""
        torch = load_torch()
        codec, device = self.model.ready()
        net = self.model.net
        read, written = codec.read(texts), codec.written(CLASSES)
        labels, _ = padded(written, np.arange(len(CLASSES)), IGNORED)
        answers = torch.from_numpy(labels).to(device)
        order = np.argsort(-read.lengths, kind="stable")
        budget = (
            self.model.batch_tokens if device != "cpu" else min(self.model.batch_tokens, CPU_TOKENS)
        )
        batches = token_batches(read.lengths + answers.numel(), order, budget)
        with Asking(batches, len(texts), progress) as asking:
            for batch in asking:
                ids, real = padded(read, batch, codec.padding)
                mask = torch.from_numpy(real).to(device).long()
                tokens = torch.from_numpy(ids).to(device)
                states = net.get_encoder()(input_ids=tokens, attention_mask=mask, return_dict=True)
                states.last_hidden_state = states.last_hidden_state.repeat_interleave(
                    len(CLASSES), 0
                )
                mask = mask.repeat_interleave(len(CLASSES), 0)
                scores = token_scores(
                    net, answers.repeat(len(batch), 1), encoder_outputs=states, attention_mask=mask
                )
                asking.take(scores.sum(1).reshape(len(batch), len(CLASSES)))
        return asking.found[0]

    @classmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        judge = cls(**options)
        training, device = judge.model.training, judge.model.device
        judge.model = EncoderDecoder.load(folder)
        judge.model.training, judge.model.device = training, device
        return judge


NOTHING = "."  # scored in the place of an empty output, which is no sequence


@final
class LikelihoodDiscriminator(TrainedDiscriminator):
    """P(Correct) = p(output | input) of a sequence model that is not the judged one, such as one of half the data.

    It needs no wrong outputs to learn from: `fit` trains the model on the pairs that are correct. From 0.5 on it
    accepts what this model would say itself. Long outputs have small P, right ones too; so set its threshold on
    labelled outputs (`fit_thresholds`), as ATC does with confidence. Where the judged model and this one lack the same
    knowledge, they are wrong together, and this judge does not see it.

    model : an `EncoderDecoder`, trained or not.

    Source: Garg et al. (2022) for the threshold; disagreement of two trainings as a sign of error: Jiang et al. (2022).

    >>> LikelihoodDiscriminator(EncoderDecoder(config={})).judge(["a b"], ["A B"])
    Traceback (most recent call last):
    oodometer.errors.UsageError: the likelihood model has not been trained; call fit first or load a saved one
    """

    kind = "likelihood"

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model, self.max_length = model, model.max_length

    def options(self) -> dict[str, Any]:
        """Arguments of the model's constructor."""
        return {**self.model.options(), "training": asdict(self.model.training)}

    def _targets(self, correct: Sequence[Any], rows: int, *, dev: bool) -> Array:
        return check_verdicts(correct, rows, one_class=True)  # all may be correct

    def _train(
        self, learnt: Learnt, dev: Learnt | None, checkpoint: Path | None, progress: Progress | None
    ) -> int:
        """Train the model on the correct pairs alone."""

        def right(pairs: Learnt) -> tuple[list[str], list[str]]:
            rows = np.flatnonzero(pairs[2])
            return [pairs[0][row] for row in rows], [pairs[1][row] for row in rows]

        held_out = right(dev) if dev is not None and dev[2].any() else None
        self.model.fit(*right(learnt), dev=held_out, checkpoint=checkpoint, progress=progress)
        return 0  # the model itself warns

    def _calibrate(self, targets: Array, dev: Learnt | None) -> None:
        """P is no odds."""

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """p(output | input), float32, shape (sample,); 0 for what the model cannot spell, and for an empty output."""
        self._must_be_fitted()
        inputs, outputs = check_pairs(inputs, outputs)
        filled = np.array([bool(output.strip()) for output in outputs])
        written = [output if output.strip() else NOTHING for output in outputs]
        totals = np.asarray(
            self.model.logprobs(inputs, written, progress=progress).sums(), dtype=np.float64
        )
        self._count_truncated(self.model.truncated, len(inputs), self.model.max_length)
        return np.where(filled, np.exp(np.minimum(totals, 0.0)), 0.0).astype(np.float32)

    def _fitted(self) -> bool:
        return self.model.net is not None

    def _write(self, folder: Path) -> dict[str, Any]:
        super()._write(folder)
        return {}

    @classmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        return cls(EncoderDecoder.load(folder))
