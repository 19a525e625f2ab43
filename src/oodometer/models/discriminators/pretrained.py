"""Pretrained: a Hugging Face classifier that exists already, as a discriminator; nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...arrays import Array, softmax
from ...errors import InputError, UsageError
from ..base import Progress
from ..hub import load_pretrained
from ..text.encoder import counted_ids
from ..torch.batches import padded, sorted_batches
from ..torch.library import choose_device
from ..torch.library import torch as load_torch
from .base import Discriminator, check_pairs

__all__ = ["PretrainedDiscriminator"]


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
        self.net: Any = None
        self.tokenizer: Any = None

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
        torch, device = load_torch(), choose_device(self.device)
        places = self._open()
        self.net.to(device).eval()
        texts: list[Any] = list(zip(given, found, strict=True))
        if self.template is not None:
            texts = [
                self.template.replace("{input}", "\0").replace("{output}", output).replace("\0", one)
                for one, output in texts
            ]
        sequences, cut = counted_ids(self.tokenizer, texts, self._room())
        out = np.empty((len(texts), int(self.net.config.num_labels)), dtype=np.float32)
        batches = sorted_batches(sequences.lengths, self.batch_size)
        typed = self.template is None and "token_type_ids" in self.tokenizer.model_input_names
        with torch.inference_mode():
            for done, batch in enumerate(batches, 1):
                ids, real = padded(sequences, batch, int(self.tokenizer.pad_token_id))
                more = {}
                if typed:
                    mark = ids == self.tokenizer.sep_token_id
                    more["token_type_ids"] = torch.from_numpy(
                        np.minimum(mark.cumsum(1) - mark, 1).astype(np.int64)
                    ).to(device)
                logits = self.net(
                    input_ids=torch.from_numpy(ids).to(device),
                    attention_mask=torch.from_numpy(real).to(device).long(),
                    **more,
                ).logits
                out[batch] = logits.float().cpu().numpy()
                if progress is not None:
                    progress(done, len(batches))
        self._count_truncated(cut, len(given), self._room())
        p: Array = expit(out[:, 0]) if out.shape[1] == 1 else softmax(out)[:, places].sum(axis=1)
        return np.clip(p, 0, 1).astype(np.float32)

    @property
    def parameters(self) -> int:
        """Number of parameters of the classifier."""
        self._open()
        return sum(int(one.numel()) for one in self.net.parameters())

    def _write(self, folder: Path) -> dict[str, Any]:
        """Nothing but the options; the classifier stays where ``source`` says."""
        return {}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """The classifier is opened when it is first asked."""
        return cls(**about["options"])

    def _room(self) -> int:
        positions = getattr(self.net.config, "max_position_embeddings", None) or self.max_length
        offset = 2 if self.net.config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        return min(self.max_length, int(positions) - offset)

    def _open(self) -> list[int]:
        """Open the classifier; positions of the labels that mean Correct."""
        if self.net is None:
            self.tokenizer = load_pretrained("AutoTokenizer", self.source)
            self.net = load_pretrained("AutoModelForSequenceClassification", self.source)
        labels = {int(place): str(name) for place, name in self.net.config.id2label.items()}
        if len(labels) == 1:
            return [0]
        found = []
        for wanted in self.correct:
            at = [
                place
                for place, name in labels.items()
                if wanted == place or str(wanted).lower() == name.lower()
            ]
            if not at:
                raise InputError(
                    f"a label of the classifier that means Correct, of {', '.join(labels.values())}",
                    got=repr(wanted),
                    remedy="name one of them with correct=",
                    file=self.source,
                )
            found += at
        return sorted(set(found))
