"""Live models -> Predictions: classifiers of texts, images and tables, encoder-decoders, judges; the extra `hf`."""

from __future__ import annotations

from .base import Answers, Classifier, Request, Text
from .ensemble import Ensemble
from .image.encoder import ImageEncoder
from .image.resnet import ResNet
from .inoculation import Dose, Inoculated, inoculate, mixed
from .opening import open_classifier
from .registry import load_model
from .response_ranking import ResponseRanker
from .seq2seq import Beams, EncoderDecoder, exact_match, snapshot_folders
from .text.bag_of_words import BagOfWords
from .text.convolution import Convolution
from .text.embedding_sum import EmbeddingSum
from .text.encoder import Encoder
from .text.frozen_encoder import FrozenEncoder
from .text.recurrent import Recurrent
from .text.token_encoder import TokenEncoder
from .uncertainty import MonteCarloDropout, TemperatureScaling, train_deep_ensemble

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
