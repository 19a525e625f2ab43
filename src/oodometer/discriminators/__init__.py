"""Discriminators: models that judge whether an output is right, learnt from a model's mistakes, and their votes."""

from __future__ import annotations

from .base import Dev, Discriminator
from .classifier import ClassifierDiscriminator
from .collect import CollectOptions, Decoder, collect, folds_of
from .ensemble import Panel
from .examples import Examples
from .generative import GenerativeDiscriminator
from .likelihood import LikelihoodDiscriminator
from .masked_pretraining import PretrainingOptions, pretrain
from .pair_encoder import HEADS, SMALL
from .pretrained import PretrainedDiscriminator
from .registry import load_discriminator
from .regression import RegressionDiscriminator
from .rule import RuleDiscriminator
from .text_metrics import sentence_bleu, token_f1
from .thresholds import HALF, AcceptanceThresholds, fit_thresholds

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
    "load_discriminator",
    "pretrain",
    "sentence_bleu",
    "token_f1",
]
