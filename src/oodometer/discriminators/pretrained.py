"""Pretrained: a Hugging Face classifier that exists already, as a discriminator; nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array, softmax
from ..errors import InputError, UsageError
from ..models.base import Progress, Text
from ..models.text.encoder import Encoder
from ..models.torch.training import TrainingConfig
from .base import Discriminator, check_pairs


@final
class PretrainedDiscriminator(Discriminator):
    """P(Correct) = the sum of the probabilities that a classifier gives to its labels that mean Correct.

    A classifier with a single output is taken for a scorer, P = sigmoid of it.

    Parameters
    ----------
    source : hub name or path of a classifier of sequences and its tokenizer.
    correct : the label that means Correct, by name or number, or several of them; not read for a single output.
    template : how a pair is written as one text, with {input} and {output}; None gives the two as a pair.
    max_length : pieces that are read; of a longer pair the longer side loses its end.
    batch_size, device : how and where it is asked.

    >>> PretrainedDiscriminator("a-folder", correct="entailment", template="no holes")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a template with {input} and {output}, got 'no holes'
    """

    kind = "pretrained"

    def __init__(
        self,
        source: str,
        *,
        correct: str | int | Sequence[str | int] = 1,
        template: str | None = None,
        max_length: int = 512,
        batch_size: int = 64,
        device: str | None = None,
    ) -> None:
        if template is not None and not {"{input}", "{output}"} <= {
            hole for hole in ("{input}", "{output}") if hole in template
        }:
            raise UsageError(f"expected a template with {{input}} and {{output}}, got {template!r}")
        self.source, self.template, self.max_length = source, template, max_length
        self.correct = [correct] if isinstance(correct, str | int) else list(correct)
        self.batch_size, self.device = batch_size, device
        self.model: Encoder | None = None
        self._places: list[int] = []  # of the labels that mean Correct

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("source", "correct", "template", "max_length", "batch_size")
        return {name: getattr(self, name) for name in names}

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair, float32, shape (sample,); `InputError` where the label is not the classifier's."""
        from scipy.special import expit

        given, found = check_pairs(inputs, outputs)
        model = self._opened()
        texts: list[Text] = list(zip(given, found, strict=True))
        if self.template is not None:
            texts = [
                self.template.replace("{input}", "\0").replace("{output}", output).replace("\0", one)
                for one, output in zip(given, found, strict=True)
            ]
        out = model.logits(texts, progress=progress)
        self._count_truncated(model.truncated, len(given), model.max_length)
        p: Array = expit(out[:, 0]) if out.shape[1] == 1 else softmax(out)[:, self._places].sum(axis=1)
        return np.clip(p, 0, 1).astype(np.float32)

    @property
    def parameters(self) -> int:
        """Number of parameters of the classifier."""
        return self._opened().parameters

    def _write(self, folder: Path) -> dict[str, Any]:
        """Nothing but the options; the classifier stays where ``source`` says."""
        return {}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The classifier is opened when it is first asked."""
        return cls(**about["options"])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classifier's labels; `InputError` where one that should mean Correct is not among them."""
        return tuple(str(name) for name in self._opened().net.config.id2label.values())

    def _opened(self) -> Encoder:
        """The classifier, opened when it is first asked."""
        if self.model is None:
            model = Encoder.opened(self.source, max_length=self.max_length, device=self.device)
            # A classifier is asked in batches twice as large as those of its training.
            model.training = TrainingConfig(batch_size=max(1, self.batch_size // 2))
            self._places = self._places_of_correct(model)
            self.model = model
        return self.model

    def _places_of_correct(self, model: Encoder) -> list[int]:
        labels = {int(place): str(name) for place, name in model.net.config.id2label.items()}
        if len(labels) == 1:
            return [0]
        found = []
        for wanted in self.correct:
            at = [place for place, name in labels.items() if wanted == place or str(wanted).lower() == name.lower()]
            if not at:
                raise InputError(
                    f"a label of the classifier that means Correct, of {', '.join(labels.values())}",
                    got=repr(wanted),
                    remedy="name one of them with correct=",
                    file=self.source,
                )
            found += at
        return sorted(set(found))
