"""What the torch classifiers share: encode, train in batches, ask in batches, save weights and options."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...arrays import Array, Ragged
from ...errors import InputError
from ...store import write_atomic
from ..base import Progress, SequenceClassifier, Text, check_labels, check_texts
from ..torch.batches import padded, sorted_batches, token_batches
from ..torch.best import Best
from ..torch.checkpoint import read_tensors, write_tensors
from ..torch.library import choose_device
from ..torch.library import torch as load_torch
from ..torch.training import Plan, fingerprint, train

__all__ = ["DESCRIPTION", "WEIGHTS", "NetworkClassifier", "read_description"]

DESCRIPTION, WEIGHTS = "oodometer_model.json", "weights.safetensors"


class NetworkClassifier(SequenceClassifier):
    """A classifier that is a torch network over token ids; a model says how to encode, build and score."""

    padding = 0
    least_width = 1
    truncated = 0
    """Texts of the last call that were too long and were cut, where a model counts them."""

    def __init__(self, *, plan: Plan | None = None, device: str | None = None) -> None:
        self.plan = plan or Plan()
        self.device = device
        self.net: Any = None

    # ---------------------------------------------------------------- what a model defines

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Arguments of the constructor that `load` must give again, ready for JSON."""

    @abstractmethod
    def _learn_tokens(self, texts: Sequence[Text]) -> None:
        """Learn the vocabulary from the training texts, where the model has one of its own."""

    @abstractmethod
    def _encode(self, texts: Sequence[Text]) -> Ragged:
        """Token ids of each text."""

    @abstractmethod
    def _build(self) -> Any:
        """The torch module, its weights drawn by torch's seed."""

    @abstractmethod
    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        """Logits, shape (sample, class), of padded ids (sample, position) and the mask of real positions."""

    @abstractmethod
    def _save_tokens(self, folder: Path) -> None:
        """Write what `_learn_tokens` learnt."""

    @abstractmethod
    def _load_tokens(self, folder: Path) -> None:
        """Read it back."""

    def _start(self) -> str:
        """A name of the weights that training starts from, where they are given."""
        return ""

    # ---------------------------------------------------------------- the contract

    def fit(
        self,
        texts: Sequence[Text],
        labels: Sequence[int] | Sequence[str],
        *,
        classes: Sequence[int | str] | None = None,
        dev: tuple[Sequence[Text], Sequence[Any]] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train; see `SequenceClassifier.fit`. Of ``dev``, texts and labels, the smallest loss chooses the weights."""
        texts = check_texts(texts)
        codes, named = check_labels(labels, len(texts), classes)
        held = None
        if dev is not None:
            held = check_texts(dev[0]), check_labels(dev[1], len(dev[0]), named)[0]
        return self._fit(texts, codes, named, held, checkpoint, progress)

    def fit_soft(
        self,
        texts: Sequence[Text],
        targets: Array,
        *,
        classes: Sequence[int | str],
        dev: tuple[Sequence[Text], Array] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on a distribution over classes for each text: the cross-entropy -sum_k y_k log p_k.

        ``targets`` has the shape (sample, class), its rows sum to 1; with rows of 0 and 1 this is `fit`. Raises
        `InputError` for other shapes and values.
        """
        texts, named = check_texts(texts), tuple(classes)
        held = None
        if dev is not None:
            held = check_texts(dev[0]), _check_targets(dev[1], len(dev[0]), len(named))
        return self._fit(
            texts, _check_targets(targets, len(texts), len(named)), named, held, checkpoint, progress
        )

    def _fit(
        self,
        texts: list[Text],
        truth: Array,
        classes: tuple[int | str, ...],
        dev: tuple[list[Text], Array] | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: Progress | None,
    ) -> Self:
        """Train on class positions, shape (sample,), or on distributions, shape (sample, class)."""
        torch = load_torch()
        self.classes = classes
        device = choose_device(self.device)
        self._learn_tokens(texts)
        held = None if dev is None else (self._encode(dev[0]), dev[1])
        sequences = self._encode(texts)
        torch.manual_seed(self.plan.seed)
        self.net = self._build().to(device)
        answers = torch.from_numpy(truth).to(device)

        self._prepare(sequences, truth)

        def loss(batch: Array) -> Any:
            return self._loss(sequences, batch, answers, device)

        about = {"kind": self.kind, "classes": self.classes, **self.options(), "start": self._start()}
        name = fingerprint(about, sequences.values, truth)
        folder = None if checkpoint is None else Path(checkpoint)
        lengths = np.diff(sequences.offsets)
        if held is None:
            train(self.net, loss, lengths, self.plan, name=name, checkpoint=folder, progress=progress)
            return self
        name = fingerprint({"name": name, "dev": True}, held[0].values, held[1])
        best = Best(lambda: self.net, lambda: self._mean_loss(*held, device), name=name, folder=folder)
        told = best.watching(progress)
        train(self.net, loss, lengths, self.plan, name=name, checkpoint=folder, progress=told)
        best.restore()
        return self

    def _prepare(self, sequences: Ragged, truth: Array) -> None:
        """Look at all that is to be learnt, before training; for a loss that needs more than the classes."""

    def _loss(self, sequences: Ragged, batch: Array, answers: Any, device: str) -> Any:
        """The loss of a batch in training; ``answers`` are those of all sequences."""
        torch = load_torch()
        return torch.nn.functional.cross_entropy(self._batch(sequences, batch, device), answers[batch])

    def _mean_loss(self, sequences: Ragged, truth: Array, device: str) -> float:
        """Mean cross-entropy of labelled sequences."""
        torch = load_torch()
        answers, total = torch.from_numpy(truth).to(device), 0.0
        with torch.inference_mode():
            for batch in self._asking_batches(sequences):
                scores = self._batch(sequences, batch, device).float()
                total += float(torch.nn.functional.cross_entropy(scores, answers[batch], reduction="sum"))
        return total / len(truth)

    def logits(self, texts: Sequence[Text], *, progress: Progress | None = None) -> Array:
        """Logits of texts; see `SequenceClassifier.logits`."""
        self._must_be_fitted()
        torch = load_torch()
        device = choose_device(self.device)
        self.net.to(device).eval()
        sequences = self._encode(check_texts(texts))
        out = np.empty((len(texts), len(self.classes)), dtype=np.float32)
        batches = self._asking_batches(sequences)
        with torch.inference_mode():
            for done, batch in enumerate(batches, 1):
                out[batch] = self._batch(sequences, batch, device).float().cpu().numpy()
                if progress is not None:
                    progress(done, len(batches))
        return out

    @property
    def parameters(self) -> int:
        """Number of parameters, buffers such as fixed word vectors included."""
        self._must_be_fitted()
        held = {id(one): one for one in [*self.net.parameters(), *self.net.buffers()]}
        return sum(int(one.numel()) for one in held.values() if one.is_floating_point())

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write weights, tokens and options to a folder."""
        self._must_be_fitted()
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        self._save_tokens(home)
        write_tensors(home / WEIGHTS, dict(self.net.state_dict()), {})
        about = {"kind": self.kind, "classes": list(self.classes), "options": self.options()}
        write_atomic(home / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        return home

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a saved model; `InputError` where the folder holds none of this kind."""
        home = Path(folder)
        about = read_description(home)
        if about["kind"] != cls.kind:
            raise InputError(
                f"a saved {cls.kind} model",
                got=f"kind {about['kind']!r}",
                remedy="use load_model",
                file=str(home),
            )
        model = cls(**about["options"])
        model.classes = tuple(about["classes"])
        model._load_tokens(home)
        model.net = model._build()
        model.net.load_state_dict(read_tensors(home / WEIGHTS)[0])
        model.net.eval()
        return model

    def _asking_batches(self, sequences: Ragged) -> list[Array]:
        """Batches twice as large as those of training, which must hold gradients too; the longest first."""
        lengths = np.diff(sequences.offsets)
        if self.plan.batch_tokens is None:
            return sorted_batches(lengths, 2 * self.plan.batch_size)
        return token_batches(lengths, np.argsort(-lengths, kind="stable"), 2 * self.plan.batch_tokens)

    def _batch(self, sequences: Ragged, batch: Array, device: str) -> Any:
        torch = load_torch()
        ids, real = padded(sequences, batch, self.padding, least=self.least_width)
        return self._scores(self.net, torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device))


def _check_targets(targets: Array, rows: int, classes: int) -> Array:
    """Distributions over classes, float32, shape (sample, class), rows summing to 1."""
    array = np.asarray(targets, dtype=np.float32)
    if array.shape != (rows, classes):
        raise InputError(
            f"targets of the shape ({rows}, {classes})", got=f"shape {array.shape}",
            remedy="give one distribution over the classes a text", column="targets",
        )  # fmt: skip
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-3))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            "a distribution that sums to 1", got=str(array[row].tolist())[:60], remedy="divide it by its sum",
            row=row + 1, column="targets",
        )  # fmt: skip
    return array


def read_description(folder: Path) -> dict[str, Any]:
    """What a saved folder says about its model; `InputError` where it is none."""
    path = folder / DESCRIPTION
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(about, dict) and {"kind", "classes", "options"} <= set(about):
            return about
        got = "another content"
    except OSError:
        got = "no such file"
    except ValueError:
        got = "no JSON"
    raise InputError(
        "a model saved by oodometer", got=got, remedy="name the folder that save wrote", file=str(path)
    )
