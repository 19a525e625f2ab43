"""Live models -> Predictions: classifiers of sequences, encoder-decoders, judges of their outputs; the extra `hf`."""

from __future__ import annotations

from .base import SequenceClassifier, Text
from .energy import Energy, EnergyMeter
from .registry import KINDS, load_model
from .seq2seq import Beams, EncoderDecoder, exact_match, snapshot_folders
from .text.bag_of_words import BagOfWords
from .text.convolution import Convolution
from .text.embedding_sum import EmbeddingSum
from .text.encoder import Encoder
from .text.frozen_encoder import FrozenEncoder
from .text.recurrent import Recurrent
from .text.token_encoder import TokenEncoder

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
