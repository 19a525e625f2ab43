"""Asking: what is requested of a live model, and what it answers; both know nothing of how a model works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Ragged, softmax
from ..errors import InputError, UsageError
from ..predictions import Predictions

AUGMENTATIONS = ("shift", "randaugment")
"""How views are made: of images mirrored and moved, of texts with words left out; or, of images, by RandAugment."""


@dataclass(frozen=True)
class Request:
    """What is asked of a classifier beside its logits.

    Parameters
    ----------
    features : what the last linear layer reads.
    views : number of augmented copies of each input whose class is asked.
    dropout : number of passes with dropout left on (Monte Carlo dropout); the probabilities are then their mean, and
        the classes of the passes stand among the views. Source: Gal and Ghahramani (2016).
    seed : of the augmentation and of dropout.
    first_row : position of the first input in the whole data set: draws depend on it, not on how the rows are batched.
    augmentation : how views are made, one of `AUGMENTATIONS`.

    >>> Request(views=2, dropout=2)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected views or dropout, got both; ask for one of them
    """

    features: bool = False
    views: int = 0
    dropout: int = 0
    seed: int = 0
    first_row: int = 0
    augmentation: str = "shift"

    def __post_init__(self) -> None:
        if min(self.views, self.dropout) < 0:
            raise UsageError(f"expected counts from 0 on, got {self.views} views and {self.dropout} passes")
        if self.views and self.dropout:
            raise UsageError("expected views or dropout, got both; ask for one of them")
        if self.augmentation not in AUGMENTATIONS:
            raise UsageError(f"expected augmentation {' or '.join(AUGMENTATIONS)}, got {self.augmentation!r}")


@dataclass(frozen=True, eq=False)
class Answers:
    """What a classifier said of its inputs.

    Parameters
    ----------
    classes : class names, in the order of the class axis.
    logits : float32, shape (sample, class); None where the model gives probabilities alone.
    probabilities : float, shape (sample, class); None where they are the softmax of the logits.
    features : float32, shape (sample, feature), where asked for.
    views : positions of classes, int64, shape (view, sample), where asked for.
    members : probabilities of each model of an ensemble, shape (model, sample, class).
    names : names along the model axis.
    variance : of the probabilities over passes with dropout, or over the models of an averaged ensemble, shape
        (sample, class); None of a single pass.
    candidates : number of candidates of each sample, int64, shape (sample,), of a ranker; None of a classifier. The
        classes are then positions among the candidates; behind a sample's last one logits are -inf, probabilities 0.
    """

    classes: tuple[int | str, ...]
    logits: Array | None = None
    probabilities: Array | None = None
    features: Array | None = None
    views: Array | None = None
    members: Array | None = None
    names: tuple[str, ...] = ()
    variance: Array | None = None
    candidates: Array | None = None

    @property
    def distribution(self) -> Array:
        """Probabilities, shape (sample, class)."""
        if self.probabilities is not None:
            return self.probabilities
        assert self.logits is not None
        return softmax(self.logits)

    def logits_of(self, kind: str) -> Array:
        """The logits; `UsageError` where the model, of a ``kind``, gives probabilities alone."""
        if self.logits is None:
            raise UsageError(f"the {kind} model gives probabilities and no logits; use ask")
        return self.logits

    def record(self, **fields: Any) -> Predictions:
        """The record of these answers; ``fields`` are further ones, such as ``label`` and ``columns``.

        A variance becomes the column ``variance``: that of the probability of the predicted class.
        """
        classes = list(self.classes)
        named = np.array(classes, dtype=object)
        if self.features is not None:
            fields["features"] = self.features
        if self.views is not None:
            fields["views"] = named[self.views]
        if self.variance is not None:
            own = self.variance[np.arange(len(self.variance)), self.distribution.argmax(1)]
            columns = fields.get("columns", {})
            if "variance" in columns:
                raise InputError(
                    "no column variance beside that of the answers",
                    got="one",
                    remedy="give it another name, or leave it out",
                    column="variance",
                )
            fields["columns"] = {**columns, "variance": own}
        if self.members is not None:
            fields["members"] = named[self.members.argmax(-1)]
            fields["names"] = {"model": self.names} if self.names else {}
        if self.candidates is not None:
            return Predictions.from_candidates(self._scores(self.candidates), **fields)
        if self.members is not None:
            fields["member_probabilities"] = self.members
        if self.logits is not None:
            return Predictions.from_logits(self.logits, classes=classes, **fields)
        return Predictions.from_probabilities(self.distribution, classes=classes, **fields)

    def _scores(self, candidates: Array) -> Ragged:
        """A score for each candidate: its logit, or the logarithm of its probability."""
        values = self.logits
        if values is None:
            p = self.distribution
            values = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
        real = np.arange(values.shape[1]) < candidates[:, None]
        return Ragged(values[real], np.concatenate([[0], np.cumsum(candidates)]))
