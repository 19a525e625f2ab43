"""Registry: the kinds of discriminators, and one of any kind back from the folder it was saved to."""

from __future__ import annotations

import os

from ..models.artifacts import KINDS, load_artifact
from .base import Discriminator

KINDS.update(
    {
        "classifier": "discriminators.classifier:ClassifierDiscriminator",
        "generative": "discriminators.generative:GenerativeDiscriminator",
        "likelihood": "discriminators.likelihood:LikelihoodDiscriminator",
        "pretrained": "discriminators.pretrained:PretrainedDiscriminator",
        "regression": "discriminators.regression:RegressionDiscriminator",
        "rule": "discriminators.rule:RuleDiscriminator",
    }
)


def load_discriminator(folder: str | os.PathLike[str]) -> Discriminator:
    """Read a discriminator of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_discriminator("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder...: expected a model saved by oodometer, got no such file; ...
    """
    found: Discriminator = load_artifact(folder, Discriminator, "a discriminator")
    return found
