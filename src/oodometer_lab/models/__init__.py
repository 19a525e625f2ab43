"""Live models -> Predictions: classifiers of texts, images and tables, encoder-decoders, judges; the extra `hf`."""

from __future__ import annotations

from .base import Answers, Classifier, Request, Text, load_model
from .ensemble import Ensemble, train_deep_ensemble
from .image.network import ImageEncoder, ResNet
from .inoculation import Dose, Inoculated, inoculate, mixed
from .opening import open_classifier
from .response_ranking import FrozenRanker, ResponseRanker
from .seq2seq import Beams, EncoderDecoder, exact_match, snapshot_folders
from .text.encoder import Encoder, TokenEncoder
from .text.frozen_encoder import FrozenEncoder
from .text.words import BagOfWords, Convolution, EmbeddingSum, Recurrent
from .uncertainty import MonteCarloDropout, TemperatureScaling

__all__ = [
    "Answers",
    "BagOfWords",
    "Beams",
    "Classifier",
    "Convolution",
    "Dose",
    "EmbeddingSum",
    "Encoder",
    "EncoderDecoder",
    "Ensemble",
    "FrozenEncoder",
    "FrozenRanker",
    "ImageEncoder",
    "Inoculated",
    "MonteCarloDropout",
    "Recurrent",
    "Request",
    "ResNet",
    "ResponseRanker",
    "TemperatureScaling",
    "Text",
    "TokenEncoder",
    "exact_match",
    "inoculate",
    "load_model",
    "mixed",
    "open_classifier",
    "snapshot_folders",
    "train_deep_ensemble",
]
