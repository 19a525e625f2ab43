"""The shelf: kinds of live models by name, and a saved model back from its folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from .base import SequenceClassifier
from .text.bag_of_words import BagOfWords
from .text.convolution import Convolution
from .text.embedding_sum import EmbeddingSum
from .text.encoder import Encoder
from .text.frozen_encoder import FrozenEncoder
from .text.network import read_description
from .text.recurrent import Recurrent
from .text.token_encoder import TokenEncoder

__all__ = ["KINDS", "load_model"]

KINDS: dict[str, type[SequenceClassifier]] = {
    one.kind: one
    for one in (BagOfWords, EmbeddingSum, Convolution, Recurrent, Encoder, TokenEncoder, FrozenEncoder)
}


def load_model(folder: str | os.PathLike[str]) -> SequenceClassifier:
    """Read a model of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_model("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder/oodometer_model.json: expected a model saved by oodometer, got ...
    """
    about = read_description(Path(folder))
    kind = KINDS.get(str(about["kind"]))
    if kind is None:
        raise InputError(
            f"a model of the kinds {', '.join(KINDS)}", got=repr(about["kind"]), remedy="update oodometer",
            file=str(folder),
        )  # fmt: skip
    return kind.load(folder)
