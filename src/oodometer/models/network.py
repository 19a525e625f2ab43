"""What the torch classifiers share: encode, train in batches, ask in batches, save weights and options."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..arrays import Array, Ragged
from ..errors import InputError
from ..store import write_atomic
from .base import Progress, SequenceClassifier, Text, check_labels, check_texts
from .batches import padded, sorted_batches
from .checkpoint import read_tensors, write_tensors
from .torch_library import choose_device
from .torch_library import torch as load_torch
from .training import Plan, fingerprint, train

__all__ = ["DESCRIPTION", "WEIGHTS", "NetworkClassifier", "read_description"]

DESCRIPTION, WEIGHTS = "oodometer_model.json", "weights.safetensors"


class NetworkClassifier(SequenceClassifier):
    """A classifier that is a torch network over token ids; a model says how to encode, build and score."""

    padding = 0
    least_width = 1

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
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train; see `SequenceClassifier.fit`."""
        torch = load_torch()
        texts = check_texts(texts)
        codes, self.classes = check_labels(labels, len(texts), classes)
        device = choose_device(self.device)
        self._learn_tokens(texts)
        sequences = self._encode(texts)
        torch.manual_seed(self.plan.seed)
        self.net = self._build().to(device)
        truth = torch.from_numpy(codes).to(device)

        def loss(batch: Array) -> Any:
            return torch.nn.functional.cross_entropy(self._batch(sequences, batch, device), truth[batch])

        name = fingerprint(
            {"kind": self.kind, "classes": self.classes, **self.options(), "start": self._start()},
            sequences.values,
            codes,
        )
        folder = None if checkpoint is None else Path(checkpoint)
        lengths = np.diff(sequences.offsets)
        train(self.net, loss, lengths, self.plan, name=name, checkpoint=folder, progress=progress)
        return self

    def logits(self, texts: Sequence[Text], *, progress: Progress | None = None) -> Array:
        """Logits of texts; see `SequenceClassifier.logits`."""
        self._must_be_fitted()
        torch = load_torch()
        device = choose_device(self.device)
        self.net.to(device).eval()
        sequences = self._encode(check_texts(texts))
        out = np.empty((len(texts), len(self.classes)), dtype=np.float32)
        batches = sorted_batches(np.diff(sequences.offsets), 2 * self.plan.batch_size)
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

    def _batch(self, sequences: Ragged, batch: Array, device: str) -> Any:
        torch = load_torch()
        ids, real = padded(sequences, batch, self.padding, least=self.least_width)
        return self._scores(self.net, torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device))


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
