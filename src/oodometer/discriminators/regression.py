"""Regression: a discriminator of how right an output is: it predicts a metric in [0, 1], such as token F1 or BLEU."""

from __future__ import annotations

import os
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
from .base import Dev, Discriminator, check_pairs
from .pair_encoder import pair_encoder
from .trained import CLASSES, MODEL, class_log_odds


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
        self.source, self.config = source, None if config is None else dict(config)
        self.vocab_size, self.max_length, self.training, self.device = (
            vocab_size,
            max_length,
            training,
            device,
        )
        self.model = self._encoder()
        self.training = self.model.training

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "source": self.source,
            "config": self.config,
            "vocab_size": self.vocab_size,
            "max_length": self.max_length,
            "training": asdict(self.model.training),
        }

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
            raise InputError(
                "outputs of different quality",
                got=f"{targets[0, 1]:g} for all of them",
                column="correct",
                remedy="add outputs of earlier checkpoints (a smaller K) or of another model",
            )
        held: Any = None
        if dev is not None:
            dev_inputs, dev_outputs = check_pairs(dev[0], dev[1])
            held = list(zip(dev_inputs, dev_outputs, strict=True)), _targets(dev[2], len(dev_inputs))
        self.model = self._encoder(given, found)
        self.model.fit(
            list(zip(given, found, strict=True)),
            targets,
            classes=CLASSES,
            dev=held,
            checkpoint=checkpoint,
            progress=progress,
        )
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
        predicted: Array = expit(class_log_odds(logits, 0, 1)).astype(np.float32)
        return predicted

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
        found = pair_encoder(
            self.source,
            self.config,
            vocab_size=self.vocab_size,
            max_length=self.max_length,
            training=self.training,
            device=self.device,
            texts=texts,
        )
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
            f"{rows} values, one a pair",
            got=f"shape {array.shape}",
            remedy="give one a pair",
            column="correct",
        )
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InputError(
            "a metric between 0 and 1",
            got=repr(list(values)[row])[:60],
            column="correct",
            row=row + 1,
            remedy="divide per cent by 100; drop rows without gold",
        )
    return np.stack([1 - array, array], axis=1).astype(np.float32)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
