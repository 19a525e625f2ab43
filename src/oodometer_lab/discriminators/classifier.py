"""Classifier: an encoder reads (input, output) and says Correct or Incorrect, or predicts a metric of the output."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array, as_numpy
from oodometer.errors import InputError, UsageError

from ..models.base import Classifier, Progress, load_model
from ..models.text.frozen_encoder import FrozenEncoder
from ..models.text.network import TextClassifier
from ..models.torch.training import TrainingConfig
from .base import CLASSES, Learnt, TrainedDiscriminator
from .pair_encoder import pair_encoder


class EncoderDiscriminator(TrainedDiscriminator):
    """A discriminator whose network classifies pairs; ``made``: arguments of `pair_encoder`, or else a ``model``."""

    def __init__(
        self,
        options: dict[str, Any],
        training: TrainingConfig | None,
        device: str | None,
        *,
        model: Classifier | None = None,
        share: float | None = None,
    ) -> None:
        super().__init__(share=share)
        self._made, self.training, self.device, self._outside = (
            options,
            training,
            device,
            model is not None,
        )
        self.model: Classifier = model if model is not None else self._encoder()
        self.training = getattr(self.model, "training", None)
        self.max_length = int(getattr(self.model, "max_length", None) or options["max_length"])

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**self._made, "training": None if self.training is None else asdict(self.training)}

    def _encoder(self, *texts: Sequence[str]) -> Classifier:
        return pair_encoder(**self._made, training=self.training, device=self.device, texts=texts)

    def _train(
        self, learnt: Learnt, dev: Learnt | None, checkpoint: Path | None, progress: Progress | None
    ) -> int:
        if not self._outside:
            self.model = self._encoder(*learnt[:2])

        def labelled(pairs: Learnt) -> tuple[list[tuple[str, str]], Any]:
            targets = (
                pairs[2] if pairs[2].ndim == 2 else [CLASSES[int(verdict)] for verdict in pairs[2]]
            )
            return list(zip(*pairs[:2], strict=True)), targets

        # other classifiers have no weights to choose by a dev set
        more = (
            {"dev": labelled(dev)}
            if dev is not None and isinstance(self.model, TextClassifier)
            else {}
        )
        self.model.fit(
            *labelled(learnt), classes=CLASSES, checkpoint=checkpoint, progress=progress, **more
        )
        return int(self.model.truncated)

    @classmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        model: Any = load_model(folder)
        if options["training"] is not None:
            model.training = options["training"]
        if options.pop("model", None) is not None:
            return cls(model=model, max_length=options["max_length"], share=options["share"])  # type: ignore[call-arg]
        judge = cls(**options)
        judge.model = model
        return judge


@final
class ClassifierDiscriminator(EncoderDiscriminator):
    """P(Correct) by a classifier of pairs: log odds m = z_Correct - z_Incorrect, then `odds.probability`.

    Give one of ``source``, ``config`` and ``model``.

    source : hub name or path of a pretrained encoder, such as ``roberta-base``.
    config : sizes of an encoder from scratch, such as ``SMALL``, as for `Encoder`; its pieces are learnt from the
        pairs, so that a word is the same piece in the input and in the output.
    head : what the verdict is read from: "mark", the mark before the pair, as usual for pretrained encoders; or
        "tokens", every token of the output (`TokenEncoder`), which small encoders learn far better.
    model : any other classifier of sequences, not trained yet, such as `FrozenEncoder`.
    vocab_size : size of the vocabulary learnt with ``config``.
    max_length : pieces of a pair that are read; a longer pair loses the end of its longer side.
    share : the share of correct outputs that P holds for; 0.5 favours neither verdict, None is the training's.
    training, device : how and where to train; members of an ensemble differ by ``training.seed``.

    With ``dev`` the weights of the smallest dev loss are kept (for an encoder) and one temperature is fitted.
    Source: Yao and Koller (2024) for the task; Devlin et al. (2019) for pairs in an encoder.

    >>> from oodometer_lab.discriminators import SMALL
    >>> ClassifierDiscriminator(config=SMALL).max_length
    512
    >>> ClassifierDiscriminator()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected one of source, config and model, got 0; config=SMALL needs no download
    """

    kind = "classifier"

    def __init__(
        self,
        source: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        head: str = "mark",
        model: Classifier | None = None,
        vocab_size: int = 8_000,
        max_length: int = 512,
        share: float | None = 0.5,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        count = sum(argument is not None for argument in (source, config, model))
        if count != 1:
            raise UsageError(
                f"expected one of source, config and model, got {count}; config=SMALL needs no download"
            )
        options: dict[str, Any] = {
            "source": source,
            "config": None if config is None else dict(config),
            "head": head,
        }
        options |= {"vocab_size": vocab_size, "max_length": max_length}
        super().__init__(options, training, device, model=model, share=share)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor; of a ``model`` its kind and its own arguments."""
        model = None
        if self._outside:
            model_options = (
                self.model.options()
                if isinstance(self.model, TextClassifier | FrozenEncoder)
                else {}
            )
            model = {"kind": self.model.kind, **model_options}
        encoder = {name: self._made[name] for name in ("source", "config", "head")}
        options = super().options()
        training = options.pop("training")
        return {**encoder, "model": model, **options, "share": self.share, "training": training}


def token_f1(outputs: Sequence[str], golds: Sequence[str]) -> Array:
    """F1 = 2 c / (|output| + |gold|), c = tokens that both have, counted as often as they occur in both.

    outputs, golds : texts, one of each a sample; `InputError` where the lengths differ. Tokens stand between white
        space, case counts; order does not.

    Two empty texts have F1 = 1. float32, shape (sample,). Source: Rajpurkar et al. (2016), English as it is.

    >>> token_f1(["a b c", "a a", ""], ["c b a", "a b", "a"]).round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    f1 = []
    for output, gold in _split(outputs, golds):
        shared, both = (Counter(output) & Counter(gold)).total(), len(output) + len(gold)
        f1.append(2 * shared / both if both else 1.0)
    return np.array(f1, dtype=np.float32)


def sentence_bleu(outputs: Sequence[str], golds: Sequence[str], *, order: int = 4) -> Array:
    """BLEU = min(1, exp(1 - |gold| / |output|)) (prod_n p_n)^(1/N), p_n = share of the output's n-grams in gold.

    outputs, golds : texts, one of each a sample; `InputError` where the lengths differ. Tokens stand between white
        space, case counts.
    order : N is the smaller of it and the length of the output.

    The i-th precision that is 0 becomes 1 / (2^i times its number of n-grams), as in mteval. 0 where no word is shared,
    1 where both are empty. float32, shape (sample,). Source: Papineni et al. (2002); smoothing: Chen and Cherry (2014),
    method 3.

    >>> print(sentence_bleu(["the cat sat", "the cat", "a"], ["the cat sat", "the cat sat", "b"]).round(3))
    [1.    0.607 0.   ]
    """
    return np.array([_bleu(*pair, order) for pair in _split(outputs, golds)], dtype=np.float32)


def _split(outputs: Sequence[str], golds: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    if len(outputs) != len(golds):
        expected = f"{len(outputs)} gold texts, one an output"
        raise InputError(
            expected, got=str(len(golds)), remedy="give as many golds as outputs", column="gold"
        )
    return [(output.split(), gold.split()) for output, gold in zip(outputs, golds, strict=True)]


def _bleu(output: list[str], gold: list[str], order: int) -> float:
    if not output or not gold:
        return float(output == gold)
    total, zeros, highest = 0.0, 0, min(order, len(output))
    for n in range(1, highest + 1):
        grams = (
            Counter(zip(*(text[start:] for start in range(n)), strict=False))
            for text in (output, gold)
        )
        shared = (next(grams) & next(grams)).total()
        if shared == 0 and n == 1:
            return 0.0
        zeros += shared == 0
        total += math.log((shared or 0.5**zeros) / (len(output) - n + 1))
    return math.exp(min(0.0, 1 - len(gold) / len(output)) + total / highest)


@final
class RegressionDiscriminator(EncoderDiscriminator):
    """s(input, output) = sigmoid(z_1 - z_0) predicts a metric y in [0, 1]; loss -y log s - (1 - y) log(1 - s).

    The loss is smallest at s = E[y], so the mean of the predictions estimates the mean of the metric, as the mean of
    P(Correct) estimates accuracy. `fit` takes the metric of each pair (see `token_f1`, `sentence_bleu`) in place of the
    verdicts, `probabilities` gives the predictions, `judge` says which are at least 0.5.

    source : hub name or path of a pretrained encoder.
    config : sizes of an encoder from scratch, such as ``SMALL``.
    vocab_size, max_length, training, device : as for `ClassifierDiscriminator`.

    Source: Yao and Koller (2024), who propose metrics other than exact match.

    >>> RegressionDiscriminator()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name a pretrained encoder or give sizes
    """

    kind = "regression"

    def __init__(
        self,
        source: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        vocab_size: int = 8_000,
        max_length: int = 512,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "source": source,
            "config": None if config is None else dict(config),
        }
        super().__init__(
            options | {"vocab_size": vocab_size, "max_length": max_length}, training, device
        )

    def _targets(self, correct: Sequence[Any], rows: int, *, dev: bool) -> Array:
        """The metric as a distribution over (wrong, right), float32, shape (sample, 2)."""
        values = as_numpy(correct)
        if values.shape != (rows,):
            got, remedy = f"shape {values.shape}", "give one a pair"
            raise InputError(f"{rows} values, one a pair", got=got, remedy=remedy, column="correct")
        metric = np.empty(rows)
        for row, value in enumerate(values.tolist()):
            try:
                metric[row] = float(value)
            except (TypeError, ValueError):
                metric[row] = np.nan
            if not 0 <= metric[row] <= 1:
                got, remedy = (
                    repr(list(correct)[row])[:60],
                    "divide per cent by 100; drop rows without gold",
                )
                raise InputError(
                    "a metric between 0 and 1",
                    got=got,
                    column="correct",
                    row=row + 1,
                    remedy=remedy,
                )
        targets = np.stack([1 - metric, metric], axis=1).astype(np.float32)
        if not dev and (targets == targets[0]).all():
            got, remedy = (
                f"{targets[0, 1]:g} for all of them",
                "add outputs of earlier checkpoints (a smaller K) or of",
            )
            raise InputError(
                "outputs of different quality",
                got=got,
                column="correct",
                remedy=f"{remedy} another model",
            )
        return targets

    def _calibrate(self, targets: Array, dev: Learnt | None) -> None:
        self.trained_share = 0.5  # the odds are as they are

    def _write(self, folder: Path) -> dict[str, Any]:
        super()._write(folder)
        return {}
