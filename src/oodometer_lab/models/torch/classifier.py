"""Torch classifier: what all networks share that classify examples: train, ask in one pass, save weights, load."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from oodometer.arrays import Array, softmax

from ...datasets import Dataset
from ..artifacts import WEIGHTS, fingerprint
from ..base import Answers, Classifier, Dev, Folder, Progress, Request, class_codes
from .batches import Asking, only_dropout, reading, sorted_batches
from .library import choose_device
from .library import torch as load_torch
from .training import (
    Hooks,
    LengthBatches,
    TrainingConfig,
    autocast,
    load_weights,
    read_tensors,
    train,
    weights,
    write_tensors,
)


class TorchClassifier(Classifier):
    """A classifier that is a torch network; a layer for a modality says how examples become tensors."""

    asking_tokens = 0
    """Padded tokens of a batch that is asked; 0: twice those of training."""

    def __init__(
        self, *, training: TrainingConfig | None = None, device: str | None = None
    ) -> None:
        self.training = training or TrainingConfig()
        self.device = device
        self.net: Any = None

    @abstractmethod
    def _learn(self, inputs: Any) -> None:
        """Learn from the training inputs what encoding needs (a vocabulary, means), where the model learns it."""

    @abstractmethod
    def _encode(self, inputs: Any) -> Any:
        """Inputs as numbers; ``lengths``, int64, say what each sample costs."""

    @abstractmethod
    def _build(self) -> Any:
        """The torch module, its weights drawn by torch's seed."""

    @abstractmethod
    def _tensors(self, encoded: Any, batch: Array, device: str) -> tuple[Any, ...]:
        """What the network reads of the samples at some positions."""

    _scores: Callable[..., Any]
    """Logits, a tensor of shape (sample, class), by a network of what `_tensors` gives: (net, *tensors)."""

    @abstractmethod
    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> Any:
        """An augmented copy of each input; row i draws by ``(*seed, i)`` or by its content."""

    @abstractmethod
    def _write_encoding(self, folder: Path) -> None:
        """Write what `_learn` learnt."""

    @abstractmethod
    def _read_encoding(self, folder: Path) -> None:
        """Read it back."""

    def _arrays(self, encoded: Any) -> tuple[Array, ...]:
        """All numbers of encoded inputs, which name the data in a fingerprint."""
        return (encoded.values,)

    def _start(self) -> str:
        """A name of the weights that training starts from, where they are given."""
        return ""

    def _prepare(self, encoded: Any, truth: Array) -> None:
        """Look at all that is to be learnt, before training; for a loss that needs more than the classes."""

    def _loss(self, encoded: Any, batch: Array, truth: Any, device: str) -> Any:
        """The loss of a batch in training; ``truth`` is that of all samples."""
        functional = load_torch().nn.functional
        scores = self._scores(self.net, *self._tensors(encoded, batch, device)).float()
        return functional.cross_entropy(scores, truth[batch])

    def _units(self, encoded: Any) -> int:
        """How many rows the network is asked about: one a sample, or a ranker's one a candidate."""
        return len(encoded.lengths)

    def _gathered(self, encoded: Any, answers: tuple[Array, ...]) -> tuple[Array, ...]:
        """What the network said of its rows, as logits (sample, class) and features (sample, feature)."""
        return answers

    def _answers(self, encoded: Any, fields: dict[str, Any]) -> Answers:
        """The fields of the answers as answers."""
        return Answers(self.classes, **fields)

    def _asking_batches(self, encoded: Any) -> list[Array]:
        """Batches twice as large as those of training, which must hold gradients too; the longest first."""
        tokens = self.asking_tokens or 2 * (self.training.batch_tokens or 0)
        return sorted_batches(encoded.lengths, 2 * self.training.batch_size, tokens)

    def _fit(
        self, data: Dataset, truth: Array, dev: Dev, checkpoint: Folder, progress: Progress | None
    ) -> None:
        torch = load_torch()
        device = choose_device(self.device)
        inputs = self._inputs(data)
        self._learn(inputs)
        held_out = None if dev is None else (self._encode(self._inputs(dev[0])), dev[1])
        encoded = self._encode(inputs)
        torch.manual_seed(self.training.seed)
        self.net = self._build().to(device)
        about = {
            "kind": self.kind,
            "classes": self.classes,
            **self.options(),
            "start": self._start(),
        }
        name = fingerprint(about, *self._arrays(encoded), truth)
        self._optimize(
            encoded,
            truth,
            held_out,
            name,
            None if checkpoint is None else Path(checkpoint),
            progress,
        )

    def fit_further(
        self,
        data: Dataset | Sequence[Any],
        targets: Any = None,
        *,
        training: TrainingConfig | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on from the weights that the model has; its classes, and how it encodes inputs, stay as they are.

        data, targets, checkpoint, progress : As for `fit`; targets are among the model's classes.
        training : How to train from here on; by default as before.

        Raises `UsageError` before `fit`, `InputError` for targets that are not among the classes.
        """
        self._must_be_fitted()
        dataset = self._data(data, targets)
        truth = class_codes(dataset.targets, len(dataset), self.classes)[0]
        self.training = training or self.training
        encoded = self._encode(self._inputs(dataset))
        self.net = self.net.to(choose_device(self.device))
        # A checkpoint of a training that began elsewhere is not taken for this one's.
        start = [weight.detach().float().cpu().numpy() for weight in weights(self.net).values()]
        about = {"kind": self.kind, "classes": self.classes, **self.options(), "further": True}
        name = fingerprint(about, *start, *self._arrays(encoded), truth)
        self._optimize(
            encoded, truth, None, name, None if checkpoint is None else Path(checkpoint), progress
        )
        return self

    def _optimize(
        self,
        encoded: Any,
        truth: Array,
        held_out: tuple[Any, Array] | None,
        name: str,
        folder: Path | None,
        progress: Progress | None,
    ) -> None:
        """Train the network on encoded data, from the weights that it has."""
        device = choose_device(self.device)
        answers = load_torch().from_numpy(truth).to(device)
        self._prepare(encoded, truth)
        dev_loss: Callable[[], float] | None = None
        if held_out is not None:
            name = fingerprint({"name": name, "dev": True}, *self._arrays(held_out[0]), held_out[1])
            dev_loss = partial(self._mean_loss, *held_out, device)
        batches = LengthBatches(encoded.lengths, self.training)
        loss = partial(self._loss, encoded, truth=answers, device=device)
        train(
            self.net,
            loss,
            batches,
            self.training,
            name=name,
            checkpoint=folder,
            hooks=Hooks(progress),
            dev_loss=dev_loss,
        )

    def _mean_loss(self, encoded: Any, truth: Array, device: str) -> float:
        functional = load_torch().nn.functional
        answers, total = load_torch().from_numpy(truth).to(device), 0.0
        with Asking(self._asking_batches(encoded), len(truth)) as asking:
            for batch in asking:
                scores = self._scores(self.net, *self._tensors(encoded, batch, device)).float()
                total += float(functional.cross_entropy(scores, answers[batch], reduction="sum"))
        return total / len(truth)

    def _fitted(self) -> bool:
        return self.net is not None and bool(self.classes)

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """Logits, and what else is requested; see `Classifier.ask`.

        The inputs are asked as they are, then views of them; with dropout as they are only for their features.
        """
        request = request or Request()
        self._must_be_fitted()
        samples, device = self._inputs(inputs), choose_device(self.device)
        self.net.to(device).eval()
        cast = autocast(self.training.precision, device.partition(":")[0])
        plain = int(not request.dropout or request.features)
        turns = plain + request.views + request.dropout
        out: dict[str, Any] = {}
        views: list[Array] = []
        # of the probabilities with dropout; of their distances from the mean, summed
        mean = squares = np.zeros(0)
        encoded = self._encode(samples)
        for turn in range(turns):
            mode, number = reading(self.net, request.features and not turn), turn - plain
            if number >= 0 and request.dropout:
                draw = (request.seed * 1_000_003 + number) * 1_000_003 + request.first_row
                mode = only_dropout(self.net, draw)
            elif number >= 0:
                seed = (request.seed, number, request.first_row)
                encoded = self._encode(self._view(samples, seed, request.augmentation))

            def tell(done: int, units: int, turn: int = turn) -> None:
                if progress is not None:
                    progress(
                        turn * len(samples) + done * len(samples) // units, turns * len(samples)
                    )

            with (
                mode as features,
                Asking(self._asking_batches(encoded), self._units(encoded), tell) as asking,
            ):
                for batch in asking:
                    with cast():
                        logits = self._scores(self.net, *self._tensors(encoded, batch, device))
                    asking.take(logits, *features())
            answers = self._gathered(encoded, asking.found)
            if turn < plain:
                out = dict(zip(("logits", "features"), answers, strict=False))
            elif not request.dropout:
                views.append(answers[0].argmax(1))
            else:
                p = softmax(answers[0].astype(np.float64))
                views.append(p.argmax(1))
                if number == 0:
                    mean, squares = p, np.zeros_like(p)
                else:
                    away = p - mean  # the recurrence of Welford (1962)
                    mean = mean + away / len(views)
                    squares = squares + away * (p - mean)
        if views:
            out["views"] = np.stack(views)
        if request.dropout:  # the mean of the passes in place of the logits
            probabilities = mean.astype(np.float32)
            out |= {
                "logits": None,
                "probabilities": probabilities,
                "variance": squares / request.dropout,
            }
        return self._answers(encoded, out)

    @property
    def parameters(self) -> int:
        """Number of parameters, buffers such as fixed word vectors included."""
        self._must_be_fitted()
        tensors = {id(tensor): tensor for tensor in [*self.net.parameters(), *self.net.buffers()]}
        return sum(int(tensor.numel()) for tensor in tensors.values() if tensor.is_floating_point())

    def _write(self, folder: Path) -> dict[str, Any]:
        write_tensors(folder / WEIGHTS, weights(self.net), {})
        self._write_encoding(folder)
        return {"classes": list(self.classes)}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        model = cls(**about["options"])
        model.classes = tuple(about["classes"])
        model._read_encoding(folder)
        model.net = model._build()
        load_weights(model.net, read_tensors(folder / WEIGHTS)[0])
        model.net.eval()
        return model
