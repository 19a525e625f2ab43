"""Regression: a discriminator of how right an output is: it predicts a metric in [0, 1], such as token F1 or BLEU."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array, as_numpy
from ..errors import InputError
from ..models.base import Progress
from ..models.text.encoder import Encoder
from ..models.torch.training import TrainingConfig
from .base import CLASSES, MODEL, Dev, Discriminator, check_pairs, class_log_odds
from .pair_encoder import pair_encoder


def token_f1(outputs: Sequence[str], golds: Sequence[str]) -> Array:
    """F1 = 2 c / (|output| + |gold|), c = tokens that both have, counted as often as they occur in both.

    Tokens stand between white space, case counts; order does not. Two empty texts have F1 = 1. float32, shape
    (sample,). Raises `InputError` where the lengths differ. Source: Rajpurkar et al. (2016), without their
    normalisation of English.

    >>> token_f1(["a b c", "a a", ""], ["c b a", "a b", "a"]).round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.array([_f1(*pair) for pair in _pairs(outputs, golds)], dtype=np.float32)


def sentence_bleu(outputs: Sequence[str], golds: Sequence[str], *, order: int = 4) -> Array:
    """BLEU = min(1, exp(1 - |gold| / |output|)) (prod_n p_n)^(1/N), p_n = share of the output's n-grams in gold.

    N is the smaller of ``order`` and the length of the output; the i-th precision that is 0 becomes 1 / (2^i times its
    number of n-grams), as in mteval. 0 where no word is shared, 1 where both are empty. Tokens stand between white
    space, case counts. float32, shape (sample,). Raises `InputError` where the lengths differ.
    Source: Papineni et al. (2002); smoothing: Chen and Cherry (2014), method 3.

    >>> print(sentence_bleu(["the cat sat", "the cat", "a"], ["the cat sat", "the cat sat", "b"]).round(3))
    [1.    0.607 0.   ]
    """
    return np.array([_bleu(*pair, order) for pair in _pairs(outputs, golds)], dtype=np.float32)


def _pairs(outputs: Sequence[str], golds: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    if len(outputs) != len(golds):
        expected = f"{len(outputs)} gold texts, one an output"
        raise InputError(expected, got=str(len(golds)), remedy="give as many golds as outputs", column="gold")
    return [(output.split(), gold.split()) for output, gold in zip(outputs, golds, strict=True)]


def _f1(output: list[str], gold: list[str]) -> float:
    if not output and not gold:
        return 1.0
    return 2 * (Counter(output) & Counter(gold)).total() / (len(output) + len(gold))


def _bleu(output: list[str], gold: list[str], order: int) -> float:
    if not output or not gold:
        return float(output == gold)
    total, zeros, highest = 0.0, 0, min(order, len(output))
    for n in range(1, highest + 1):
        shared = (_grams(output, n) & _grams(gold, n)).total()
        if shared == 0 and n == 1:
            return 0.0
        zeros += shared == 0
        total += math.log((shared or 0.5**zeros) / (len(output) - n + 1))
    return math.exp(min(0.0, 1 - len(gold) / len(output)) + total / highest)


def _grams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


@final
class RegressionDiscriminator(Discriminator):
    """s(input, output) = sigmoid(z_1 - z_0) predicts a metric y in [0, 1]; loss -y log s - (1 - y) log(1 - s).

    The loss is smallest at s = E[y], so the mean of the predictions estimates the mean of the metric, as the mean of
    P(Correct) estimates accuracy. `fit` takes the metric of each pair (see `token_f1`, `sentence_bleu`) in place of the
    verdicts, `probabilities` gives the predictions, `judge` says which are at least 0.5.

    Parameters
    ----------
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
        self._made: dict[str, Any] = {"source": source, "config": None if config is None else dict(config)}
        self._made |= {"vocab_size": vocab_size, "max_length": max_length}
        self.max_length, self.training, self.device = max_length, training, device
        self.model = self._encoder()
        self.training = self.model.training

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**self._made, "training": asdict(self.model.training)}

    def fit(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        correct: Sequence[Any],
        *,
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on pairs and the metric of each output, ``correct``, in [0, 1]; see `Discriminator.fit`."""
        given, found = check_pairs(inputs, outputs)
        targets = _targets(correct, len(given))
        if (targets == targets[0]).all():
            remedy = "add outputs of earlier checkpoints (a smaller K) or of another model"
            got = f"{targets[0, 1]:g} for all of them"
            raise InputError("outputs of different quality", got=got, column="correct", remedy=remedy)
        held: Any = None
        if dev is not None:
            dev_inputs, dev_outputs = check_pairs(dev[0], dev[1])
            held = list(zip(dev_inputs, dev_outputs, strict=True)), _targets(dev[2], len(dev_inputs))
        self.model = self._encoder(given, found)
        pairs = list(zip(given, found, strict=True))
        self.model.fit(pairs, targets, classes=CLASSES, dev=held, checkpoint=checkpoint, progress=progress)
        self._count_truncated(self.model.truncated, len(given), self.max_length)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """The predicted metric of each pair, float32, shape (sample,). `UsageError` before training."""
        from scipy.special import expit

        self._must_be_fitted()
        given, found = check_pairs(inputs, outputs)
        logits = self.model.logits(list(zip(given, found, strict=True)), progress=progress)
        self._count_truncated(self.model.truncated, len(given), self.max_length)
        return np.asarray(expit(class_log_odds(logits, 0, 1)).astype(np.float32))

    @property
    def parameters(self) -> int:
        """Number of parameters of the encoder."""
        return self.model.parameters

    def _fitted(self) -> bool:
        return bool(self.model.classes)

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.save(folder / MODEL)
        return {}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        training = TrainingConfig(**about["options"]["training"])
        judge = cls(**{**about["options"], "training": training})
        judge.model = Encoder.load(folder / MODEL)
        judge.model.training = training
        return judge

    def _encoder(self, *texts: Sequence[str]) -> Encoder:
        found = pair_encoder(**self._made, training=self.training, device=self.device, texts=texts)
        assert isinstance(found, Encoder)
        return found


def _targets(values: Sequence[Any], rows: int) -> Array:
    """The metric as a distribution over (wrong, right), float32, shape (sample, 2)."""
    try:
        array = np.asarray(as_numpy(values), dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array([_number(one) for one in values])
    if array.shape != (rows,):
        raise InputError(
            f"{rows} values, one a pair", got=f"shape {array.shape}", remedy="give one a pair", column="correct"
        )
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        remedy = "divide per cent by 100; drop rows without gold"
        expected = "a metric between 0 and 1"
        raise InputError(expected, got=repr(list(values)[row])[:60], column="correct", row=row + 1, remedy=remedy)
    return np.stack([1 - array, array], axis=1).astype(np.float32)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
