"""Live models -> Predictions: classifiers of sequences, from word counts to transformer encoders; the extra `hf`."""

from __future__ import annotations

from .bag_of_words import BagOfWords
from .base import SequenceClassifier, Text
from .convolution import Convolution
from .embedding_sum import EmbeddingSum
from .encoder import Encoder
from .energy import Energy, EnergyMeter
from .frozen_encoder import FrozenEncoder
from .recurrent import Recurrent
from .shelf import KINDS, load_model

__all__ = [
    "KINDS",
    "BagOfWords",
    "Convolution",
    "EmbeddingSum",
    "Encoder",
    "Energy",
    "EnergyMeter",
    "FrozenEncoder",
    "Recurrent",
    "SequenceClassifier",
    "Text",
    "load_model",
]
