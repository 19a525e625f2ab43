"""Discriminators: the old place of what is now in `oodometer.discriminators`; goes with the next release."""

from __future__ import annotations

from ..deprecation import moved

_NAMES = (
    "HEADS",
    "SMALL",
    "ClassifierDiscriminator",
    "Decoder",
    "Dev",
    "Discriminator",
    "Examples",
    "GenerativeDiscriminator",
    "Panel",
    "PretrainedDiscriminator",
    "RegressionDiscriminator",
    "RuleDiscriminator",
    "collect",
    "load_discriminator",
    "pretrain",
    "sentence_bleu",
    "token_f1",
)

__getattr__ = moved(__name__, {name: f"discriminators:{name}" for name in _NAMES})
