"""Frozen encoder: a pretrained transformer whose weights stay; a linear layer reads the mean of its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError, needed
from oodometer.store.artifact_cache import content_of, made_anew

from ...datasets import Dataset
from ..artifacts import WEIGHTS, fingerprint
from ..base import (
    Answers,
    Classifier,
    Dev,
    Folder,
    Progress,
    Request,
    Text,
    check_texts,
    only_shift,
)
from ..torch.batches import Asking, padded, sorted_batches
from ..torch.library import choose_device, load_pretrained
from ..torch.library import torch as load_torch
from ..torch.training import read_tensors, write_tensors
from .network import counted_ids, with_words_dropped


@final
class FrozenEncoder(Classifier):
    """Logits W m + b of m, the mean over word pieces of an encoder's last states; only W and b are trained.

    W and b are those of a logistic regression with an L2 penalty (scikit-learn) on m, standardised; they are convex to
    find, so no seed matters. A checkpoint keeps the states, which take nearly all of the time.

    source : hub name or path of the encoder and its tokenizer.
    max_length : word pieces that are read; a longer text loses its middle.
    layers : how many layers are read, from the first on; by default all.
    batch_size, device : how and where states are computed.

    Source: Reimers and Gurevych (2019) for the mean of states as the vector of a text.

    >>> from oodometer_lab.models import FrozenEncoder
    >>> FrozenEncoder("a-path").max_length
    256
    """

    kind, arguments = "frozen-encoder", ("source", "max_length", "batch_size", "layers")

    def __init__(
        self,
        source: str,
        *,
        max_length: int = 256,
        batch_size: int = 64,
        layers: int | None = None,
        device: str | None = None,
    ) -> None:
        self.source, self.max_length, self.batch_size, self.device = (
            source,
            max_length,
            batch_size,
            device,
        )
        self.layers = layers
        self._kept: Folder = None
        self.net: Any = None
        self.tokenizer: Any = None
        self.weights: Array = np.empty((0, 0), dtype=np.float32)
        self.bias: Array = np.empty(0, dtype=np.float32)

    def _fit(
        self, data: Dataset, truth: Array, dev: Dev, checkpoint: Folder, progress: Progress | None
    ) -> None:
        library = needed(
            "sklearn.linear_model", "a frozen encoder", extra="hf", package="scikit-learn"
        )
        if truth.ndim == 2:
            raise UsageError("a frozen encoder learns classes, got distributions; use Encoder")
        if len(np.unique(truth)) < 2:
            raise InputError(
                "rows of at least two classes",
                got="one",
                remedy="give rows of more",
                column="label",
            )
        states = self.states(self._inputs(data), checkpoint=checkpoint, progress=progress)
        centre, spread = states.mean(0), states.std(0) + 1e-6
        fitted = library.LogisticRegression(max_iter=1000).fit((states - centre) / spread, truth)
        weights, bias = fitted.coef_, fitted.intercept_
        if len(weights) == 1:  # two classes: one column, which is the difference of the two logits
            weights, bias = np.vstack([0 * weights, weights]), np.array([0.0, bias[0]])
        full = np.zeros((len(self.classes), weights.shape[1]))
        shift = np.full(len(self.classes), -30.0)  # a class that no row had is all but impossible
        full[fitted.classes_], shift[fitted.classes_] = weights, bias
        self.weights = (full / spread).astype(np.float32)
        self.bias = (shift - (full / spread) @ centre).astype(np.float32)

    def keep_states(self, folder: Folder) -> None:
        """Keep the states of all layers in a folder: models that read other layers of the same source share them."""
        self._kept, self.net = folder, None

    def states(
        self, texts: Sequence[Text], *, checkpoint: Folder = None, progress: Progress | None = None
    ) -> Array:
        """Mean state of each text, float32, shape (sample, dimension); also useful as ``features`` of a record."""
        torch = load_torch()
        self._open()
        device = choose_device(self.device)
        self.net.to(device)
        sequences = counted_ids(self.tokenizer, check_texts(texts), self.max_length)[0]
        batches = sorted_batches(sequences.lengths, self.batch_size)
        folder, deep = None, self._kept is not None
        where = self._kept or checkpoint
        if where is not None:  # one file a batch, in a folder named after settings and texts
            settings = {**self.options(), "files": content_of(self.source)} | (
                {"layers": "each"} if deep else {}
            )
            folder = Path(where) / fingerprint(settings, sequences.values)
            folder.mkdir(parents=True, exist_ok=True)
        with Asking(batches, len(texts), progress) as asking:
            for index, batch in enumerate(asking, 1):
                path = None if folder is None else folder / f"{index:06d}.safetensors"
                part = None
                if path is not None and path.is_file():  # states that were computed before
                    try:
                        part = read_tensors(path)[0]["states"].numpy()
                    except (InputError, LookupError):
                        made_anew(path, "the states stored there are damaged or of another version")
                if part is None:
                    ids, real = padded(sequences, batch, int(self.tokenizer.pad_token_id))
                    mask = torch.from_numpy(real).to(device)
                    outputs = self.net(
                        input_ids=torch.from_numpy(ids).to(device),
                        attention_mask=mask.long(),
                        output_hidden_states=deep,
                    )
                    last = torch.stack(outputs.hidden_states) if deep else outputs.last_hidden_state
                    summed = (last * mask[:, :, None]).sum(-2)
                    part = (summed / mask.sum(1, keepdim=True)).float().cpu().numpy()
                    if path is not None:
                        write_tensors(path, {"states": torch.from_numpy(part)}, {})
                asking.take(part[-1 if self.layers is None else self.layers] if deep else part)
        return asking.found[0]

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """Logits, and the states as features; see `Classifier.ask`."""
        request = request or Request()
        self._must_be_fitted()
        if request.dropout:
            raise UsageError(
                "a frozen encoder has no dropout: every pass would say the same; leave it out"
            )
        only_shift(request.augmentation, "texts")
        samples = self._inputs(inputs)
        states = self.states(samples, progress=progress)
        logits = states @ self.weights.T + self.bias
        views = self._views(
            samples, request, lambda texts: self.states(texts) @ self.weights.T + self.bias
        )
        return Answers(
            self.classes, logits, features=states if request.features else None, views=views
        )

    def _view(self, inputs: Any, seed: Sequence[int], _: str) -> list[Text]:
        return with_words_dropped(inputs, seed)

    @property
    def parameters(self) -> int:
        """Number of parameters of the encoder and the layer."""
        self._must_be_fitted()
        self._open()
        return (
            sum(int(parameter.numel()) for parameter in self.net.parameters())
            + self.weights.size
            + self.bias.size
        )

    def _fitted(self) -> bool:
        return len(self.bias) > 0

    def _write(self, folder: Path) -> dict[str, Any]:
        """The layer alone; the encoder stays where ``source`` says."""
        torch = load_torch()
        tensors = {"weights": torch.from_numpy(self.weights), "bias": torch.from_numpy(self.bias)}
        write_tensors(folder / WEIGHTS, tensors, {})
        return {"classes": list(self.classes)}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The layer; the encoder is opened when it is first asked."""
        model = cls(**about["options"])
        tensors, _ = read_tensors(folder / WEIGHTS)
        model.classes = tuple(about["classes"])
        model.weights, model.bias = tensors["weights"].numpy(), tensors["bias"].numpy()
        return model

    def _open(self) -> None:
        if self.net is None:
            self.tokenizer = load_pretrained("AutoTokenizer", self.source)
            self.net = load_pretrained("AutoModel", self.source).eval()
            if self.layers is not None:
                every = self.net.encoder.layer
                if not 1 <= self.layers <= len(every):
                    raise UsageError(
                        f"expected layers from 1 to {len(every)} of this encoder, got {self.layers}"
                    )
                self.net.encoder.layer = every if self._kept is not None else every[: self.layers]
