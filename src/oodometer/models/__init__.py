"""Live models -> Predictions: classifiers of sequences, encoder-decoders, judges of their outputs; the extra `hf`."""

from __future__ import annotations

from .bag_of_words import BagOfWords
from .base import SequenceClassifier, Text
from .convolution import Convolution
from .embedding_sum import EmbeddingSum
from .encoder import Encoder
from .energy import Energy, EnergyMeter
from .frozen_encoder import FrozenEncoder
from .recurrent import Recurrent
from .seq2seq import Beams, EncoderDecoder, exact_match, snapshot_folders
from .shelf import KINDS, load_model
from .token_encoder import TokenEncoder

__all__ = [
    "KINDS",
    "BagOfWords",
    "Beams",
    "Convolution",
    "EmbeddingSum",
    "Encoder",
    "EncoderDecoder",
    "Energy",
    "EnergyMeter",
    "FrozenEncoder",
    "Recurrent",
    "SequenceClassifier",
    "Text",
    "TokenEncoder",
    "exact_match",
    "load_model",
    "snapshot_folders",
]
