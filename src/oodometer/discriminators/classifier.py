"""Classifier: an encoder reads the pair (input, output) and a linear head says Correct or Incorrect; cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

from ..arrays import Array
from ..errors import UsageError
from ..models.base import Classifier, Progress, load_model
from ..models.text.frozen_encoder import FrozenEncoder
from ..models.text.network import TextClassifier
from ..models.torch.training import TrainingConfig
from .base import CLASSES, TrainedDiscriminator
from .pair_encoder import pair_encoder


@final
class ClassifierDiscriminator(TrainedDiscriminator):
    """P(Correct) by a classifier of pairs: log odds m = z_Correct - z_Incorrect, then `odds.probability`.

    Give one of ``source``, ``config`` and ``model``.

    Parameters
    ----------
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

    >>> from oodometer.discriminators import SMALL
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
        super().__init__(share=share)
        given = sum(one is not None for one in (source, config, model))
        if given != 1:
            raise UsageError(f"expected one of source, config and model, got {given}; config=SMALL needs no download")
        self._made: dict[str, Any] = {"source": source, "config": None if config is None else dict(config)}
        self._made |= {"head": head, "vocab_size": vocab_size, "max_length": max_length}
        self.device = device
        self._outside, self.training = model is not None, training
        self.model: Classifier = model if model is not None else self._encoder()
        self.training = getattr(self.model, "training", None)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor; of a ``model`` its kind and its own arguments."""
        model = None
        if self._outside:
            own = self.model.options() if isinstance(self.model, TextClassifier | FrozenEncoder) else {}
            model = {"kind": self.model.kind, **own}
        training = None if self.training is None else asdict(self.training)
        head = {name: self._made[name] for name in ("source", "config", "head")}
        return {**head, "model": model, **self._made, "share": self.share, "training": training}

    @property
    def max_length(self) -> int:
        """Pieces of a pair that are read."""
        return int(getattr(self.model, "max_length", None) or self._made["max_length"])

    def _encoder(self, *texts: Sequence[str]) -> Classifier:
        return pair_encoder(**self._made, training=self.training, device=self.device, texts=texts)

    def _train(
        self,
        inputs: list[str],
        outputs: list[str],
        correct: Array,
        dev: tuple[list[str], list[str], Array] | None,
        checkpoint: Path | None,
        progress: Progress | None,
    ) -> int:
        if not self._outside:
            self.model = self._encoder(inputs, outputs)
        pairs = list(zip(inputs, outputs, strict=True))
        labels = [CLASSES[int(one)] for one in correct]
        more: dict[str, Any] = {"classes": CLASSES, "checkpoint": checkpoint, "progress": progress}
        if dev is not None and isinstance(self.model, TextClassifier):
            more["dev"] = list(zip(dev[0], dev[1], strict=True)), [CLASSES[int(one)] for one in dev[2]]
        self.model.fit(pairs, labels, **more)
        return self._cut()

    @classmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        model: Any = load_model(folder)
        if options["training"] is not None:
            model.training = options["training"]
        if options.pop("model") is not None:
            return cls(model=model, max_length=options["max_length"], share=options["share"])
        judge = cls(**options)
        judge.model = model
        return judge
