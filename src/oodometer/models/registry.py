"""Registry: a classifier of any kind back from the folder it was saved to."""

from __future__ import annotations

import os

from .artifacts import load_artifact
from .base import Classifier


def load_model(folder: str | os.PathLike[str]) -> Classifier:
    """Read a classifier of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_model("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder/oodometer_model.json: expected a model saved by oodometer, got ...
    """
    found: Classifier = load_artifact(folder, Classifier, "a classifier")
    return found
