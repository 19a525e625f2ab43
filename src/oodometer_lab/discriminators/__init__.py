"""Discriminators: models that judge whether an output is right, learnt from a model's mistakes, and their votes."""

from __future__ import annotations

from oodometer.diagnoses.text_likeness import likeness

from .augmentation import reformatted
from .base import Dev, Discriminator, load_discriminator
from .classifier import ClassifierDiscriminator, RegressionDiscriminator, sentence_bleu, token_f1
from .collect import CollectOptions, Decoder, Examples, collect, folds_of
from .ensemble import HALF, AcceptanceThresholds, Panel, fit_thresholds
from .existing import PretrainedDiscriminator, RuleDiscriminator
from .pair_encoder import HEADS, SMALL, PretrainingOptions, pretrain
from .sequence import GenerativeDiscriminator, LikelihoodDiscriminator

__all__ = [
    "HALF",
    "HEADS",
    "SMALL",
    "AcceptanceThresholds",
    "ClassifierDiscriminator",
    "CollectOptions",
    "Decoder",
    "Dev",
    "Discriminator",
    "Examples",
    "GenerativeDiscriminator",
    "LikelihoodDiscriminator",
    "Panel",
    "PretrainedDiscriminator",
    "PretrainingOptions",
    "RegressionDiscriminator",
    "RuleDiscriminator",
    "collect",
    "fit_thresholds",
    "folds_of",
    "likeness",
    "load_discriminator",
    "pretrain",
    "reformatted",
    "sentence_bleu",
    "token_f1",
]
