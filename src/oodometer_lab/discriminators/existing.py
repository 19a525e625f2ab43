"""Judges that exist already: a rule, any function of (input, output), and a classifier from the hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array, softmax
from oodometer.errors import InputError, UsageError

from ..models.base import Progress, Text
from ..models.text.encoder import Encoder
from ..models.torch.training import TrainingConfig
from .base import Discriminator


@final
class PretrainedDiscriminator(Discriminator):
    """P(Correct) = the sum of the probabilities that a classifier gives to its labels that mean Correct.

    A classifier with a single output is taken for a scorer, P = sigmoid of it.

    source : hub name or path of a classifier of sequences and its tokenizer.
    correct : the label that means Correct, by name or number, or several of them; not read for a single output.
    template : how a pair is written as one text, with {input} and {output}; None gives the two as a pair.
    max_length : pieces that are read; of a longer pair the longer side loses its end.
    batch_size, device : how and where it is asked.

    >>> PretrainedDiscriminator("a-folder", correct="entailment", template="no holes")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a template with {input} and {output}, got 'no holes'
    """

    kind, arguments = "pretrained", ("source", "correct", "template", "max_length", "batch_size")

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
        if template is not None and not ("{input}" in template and "{output}" in template):
            raise UsageError(f"expected a template with {{input}} and {{output}}, got {template!r}")
        self.source, self.template, self.max_length = source, template, max_length
        self.correct = [correct] if isinstance(correct, str | int) else list(correct)
        self.batch_size, self.device = batch_size, device
        self.model: Encoder | None = None
        self._columns: list[int] = []  # of the labels that mean Correct

    def _ask(self, inputs: list[str], outputs: list[str], progress: Progress | None) -> Array:
        from scipy.special import expit

        model = self._opened()
        texts: list[Text] = list(zip(inputs, outputs, strict=True))
        if self.template is not None:
            texts = [
                self.template.replace("{input}", "\0")
                .replace("{output}", output)
                .replace("\0", text)
                for text, output in zip(inputs, outputs, strict=True)
            ]
        out = model.logits(texts, progress=progress)
        self._count_truncated(model.truncated, len(inputs), model.max_length)
        p: Array = (
            expit(out[:, 0]) if out.shape[1] == 1 else softmax(out)[:, self._columns].sum(axis=1)
        )
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
            labels = {int(number): str(name) for number, name in model.net.config.id2label.items()}
            columns: set[int] = set()
            for label in self.correct if len(labels) > 1 else ():
                matching = {
                    at
                    for at, name in labels.items()
                    if label == at or str(label).lower() == name.lower()
                }
                if not matching:
                    expected = f"a label of the classifier that means Correct, of {', '.join(labels.values())}"
                    remedy = "name one of them with correct="
                    raise InputError(expected, got=repr(label), remedy=remedy, file=self.source)
                columns |= matching
            self.model, self._columns = model, sorted(columns)
        return self.model


@final
class RuleDiscriminator(Discriminator):
    """P(Correct) = function(input, output), a number in [0, 1] or a verdict; nothing is trained.

    The function is asked pair by pair, in order. A rule is code, so it cannot be saved: write its votes into a
    predictions file instead (`Panel.vote`), where they are as good as any judge's.

    function : gives True, False or a probability; a judge that answers "no opinion" says 0.5.
    name : how the rule is called in messages.

    Raises `InputError` naming the row where the function gives anything else.

    >>> same_length = RuleDiscriminator(lambda given, found: len(given.split()) == len(found.split()))
    >>> same_length.judge(["a b", "a b"], ["A B", "A"]).tolist()
    [True, False]
    """

    kind, arguments = "rule", ("name",)

    def __init__(self, function: Callable[[str, str], Any], *, name: str | None = None) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", "rule"))

    def _ask(self, inputs: list[str], outputs: list[str], progress: Progress | None) -> Array:
        out = np.empty(len(inputs), dtype=np.float32)
        for row, (text, output) in enumerate(zip(inputs, outputs, strict=True)):
            answer = self.function(text, output)
            try:
                value = float("nan") if isinstance(answer, str) else float(answer)
            except (TypeError, ValueError):
                value = float("nan")
            if not 0 <= value <= 1:
                expected = f"true, false or a probability from {self.name}"
                raise InputError(
                    expected,
                    got=repr(answer)[:60],
                    remedy="let the rule answer every pair",
                    row=row + 1,
                )
            out[row] = value
            if progress is not None:
                progress(row + 1, len(inputs))
        return out

    @property
    def parameters(self) -> int:
        """None: 0."""
        return 0

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Raise `UsageError`: code is not saved."""
        raise UsageError(
            f"the rule {self.name} is code and cannot be saved; save its votes in a predictions file"
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Raise `UsageError`: code is not read from a folder."""
        raise UsageError("a rule cannot be loaded; make it again from its function")
