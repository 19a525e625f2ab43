"""The shelf: kinds of discriminators by name, and a saved one back from its folder."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import InputError
from .base import Discriminator
from .classifier import ClassifierDiscriminator
from .generative import GenerativeDiscriminator
from .pretrained import PretrainedDiscriminator
from .regression import RegressionDiscriminator
from .rule import RuleDiscriminator
from .trained import read_description

__all__ = ["KINDS", "load_discriminator"]

KINDS: dict[str, type[Discriminator]] = {
    one.kind: one
    for one in (
        GenerativeDiscriminator,
        ClassifierDiscriminator,
        RegressionDiscriminator,
        PretrainedDiscriminator,
        RuleDiscriminator,
    )
}


def load_discriminator(folder: str | os.PathLike[str]) -> Discriminator:
    """Read a discriminator of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_discriminator("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder...: expected a discriminator saved by oodometer, got no such file; ...
    """
    about = read_description(Path(folder))
    kind = KINDS.get(str(about["kind"]))
    if kind is None:
        raise InputError(
            f"a discriminator of the kinds {', '.join(KINDS)}", got=repr(about["kind"]), remedy="update oodometer",
            file=str(folder),
        )  # fmt: skip
    return kind.load(folder)
