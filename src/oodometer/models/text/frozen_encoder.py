"""Frozen encoder: a pretrained transformer whose weights stay; a linear layer reads the mean of its states."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...store import write_atomic
from ...store.kept import checksum, made_anew
from ..base import Progress, SequenceClassifier, Text, check_labels, check_texts
from ..hub import load_pretrained
from ..torch.batches import padded, sorted_batches
from ..torch.checkpoint import read_tensors, write_tensors
from ..torch.library import choose_device
from ..torch.library import torch as load_torch
from .encoder import piece_ids
from .network import DESCRIPTION, WEIGHTS, read_description

__all__ = ["FrozenEncoder"]

_SEAL = 24  # bytes of the checksum behind kept states


@final
class FrozenEncoder(SequenceClassifier):
    """Logits W m + b of m, the mean over word pieces of an encoder's last states; only W and b are trained.

    W and b are those of a logistic regression with an L2 penalty (scikit-learn) on m, standardised; they are convex to
    find, so no seed matters. A checkpoint keeps the states, which take nearly all of the time.

    Parameters
    ----------
    source : hub name or path of the encoder and its tokenizer.
    longest : word pieces that are read; a longer text loses its middle.
    strength : inverse of the penalty, as scikit-learn's ``C``.
    batch_size, device : how and where states are computed.

    Source: Reimers and Gurevych (2019) for the mean of states as the vector of a text.

    >>> from oodometer.models import FrozenEncoder
    >>> FrozenEncoder("a-path").longest
    256
    """

    kind = "frozen-encoder"

    def __init__(
        self,
        source: str,
        *,
        longest: int = 256,
        strength: float = 1.0,
        batch_size: int = 64,
        device: str | None = None,
    ) -> None:
        self.source, self.longest, self.strength = source, longest, strength
        self.batch_size, self.device = batch_size, device
        self.net: Any = None
        self.tokenizer: Any = None
        self.weights: Array = np.empty((0, 0), dtype=np.float32)
        self.bias: Array = np.empty(0, dtype=np.float32)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "source": self.source, "longest": self.longest, "strength": self.strength, "batch_size": self.batch_size
        }  # fmt: skip

    def fit(
        self,
        texts: Sequence[Text],
        labels: Sequence[int] | Sequence[str],
        *,
        classes: Sequence[int | str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the linear layer; see `SequenceClassifier.fit`."""
        from sklearn.linear_model import LogisticRegression

        texts = check_texts(texts)
        codes, named = check_labels(labels, len(texts), classes)
        if len(np.unique(codes)) < 2:
            raise InputError(
                "rows of at least two classes", got="one", remedy="give rows of more", column="label"
            )
        states = self.states(texts, checkpoint=checkpoint, progress=progress)
        centre, spread = states.mean(0), states.std(0) + 1e-6
        found = LogisticRegression(C=self.strength, max_iter=1000).fit((states - centre) / spread, codes)
        weights, bias = found.coef_, found.intercept_
        if len(weights) == 1:  # two classes: one column, which is the difference of the two logits
            weights, bias = np.vstack([0 * weights, weights]), np.array([0.0, bias[0]])
        full = np.zeros((len(named), weights.shape[1]))
        shift = np.full(len(named), -30.0)  # a class that no row had is all but impossible
        full[found.classes_], shift[found.classes_] = weights, bias
        self.weights = (full / spread).astype(np.float32)
        self.bias = (shift - (full / spread) @ centre).astype(np.float32)
        self.classes = named
        return self

    def states(
        self,
        texts: Sequence[Text],
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Array:
        """Mean state of each text, float32, shape (sample, dimension); also useful as ``features`` of a record."""
        torch = load_torch()
        self._open()
        device = choose_device(self.device)
        self.net.to(device)
        sequences = piece_ids(self.tokenizer, check_texts(texts), self.longest)
        batches = sorted_batches(sequences.lengths, self.batch_size)
        kept = None if checkpoint is None else _Kept(Path(checkpoint), self.options(), sequences.values)
        out = np.empty((len(texts), int(self.net.config.hidden_size)), dtype=np.float32)
        with torch.inference_mode():
            for done, batch in enumerate(batches, 1):
                part = None if kept is None else kept.read(done)
                if part is None:
                    ids, real = padded(sequences, batch, int(self.tokenizer.pad_token_id))
                    mask = torch.from_numpy(real).to(device)
                    held = self.net(input_ids=torch.from_numpy(ids).to(device), attention_mask=mask.long())
                    summed = (held.last_hidden_state * mask[:, :, None]).sum(1)
                    part = (summed / mask.sum(1, keepdim=True)).float().cpu().numpy()
                    if kept is not None:
                        kept.write(done, part)
                out[batch] = part
                if progress is not None:
                    progress(done, len(batches))
        return out

    def logits(self, texts: Sequence[Text], *, progress: Progress | None = None) -> Array:
        """Logits of texts; see `SequenceClassifier.logits`."""
        self._must_be_fitted()
        out: Array = self.states(texts, progress=progress) @ self.weights.T + self.bias
        return out

    @property
    def parameters(self) -> int:
        """Number of parameters of the encoder and the layer."""
        self._must_be_fitted()
        self._open()
        return sum(int(one.numel()) for one in self.net.parameters()) + self.weights.size + self.bias.size

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the layer; the encoder stays where ``source`` says."""
        self._must_be_fitted()
        torch = load_torch()
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        tensors = {"weights": torch.from_numpy(self.weights), "bias": torch.from_numpy(self.bias)}
        write_tensors(home / WEIGHTS, tensors, {})
        about = {"kind": self.kind, "classes": list(self.classes), "options": self.options()}
        write_atomic(home / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        return home

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a saved layer; the encoder is opened when it is first asked."""
        about = read_description(Path(folder))
        if about["kind"] != cls.kind:
            raise InputError(
                f"a saved {cls.kind} model",
                got=f"kind {about['kind']!r}",
                remedy="use load_model",
                file=str(folder),
            )
        model = cls(**about["options"])
        tensors, _ = read_tensors(Path(folder) / WEIGHTS)
        model.classes = tuple(about["classes"])
        model.weights, model.bias = tensors["weights"].numpy(), tensors["bias"].numpy()
        return model

    def _open(self) -> None:
        if self.net is None:
            self.tokenizer = load_pretrained("AutoTokenizer", self.source)
            self.net = load_pretrained("AutoModel", self.source).eval()


@final
class _Kept:
    """States that were computed before, one file a batch, in a folder named after settings and texts."""

    def __init__(self, folder: Path, settings: dict[str, Any], values: Array) -> None:
        from ..torch.training import fingerprint

        self.folder = folder / fingerprint(settings, values)
        self.folder.mkdir(parents=True, exist_ok=True)

    def read(self, batch: int) -> Array | None:
        path = self.folder / f"{batch:06d}.npy"
        if not path.is_file():
            return None
        try:
            content = path.read_bytes()
            if content[-_SEAL:].decode() == checksum(content[:-_SEAL]):
                found: Array = np.load(BytesIO(content[:-_SEAL]), allow_pickle=False)
                return found
        except (OSError, ValueError):
            pass
        made_anew(path, "the states kept there are damaged or of another version")
        return None

    def write(self, batch: int, states: Array) -> None:
        plain = BytesIO()
        np.save(plain, states)
        write_atomic(self.folder / f"{batch:06d}.npy", plain.getvalue() + checksum(plain.getvalue()).encode())
