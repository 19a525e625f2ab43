"""Every classifier that can be trained keeps the contract of live models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.testing import check_model
from oodometer_lab.datasets import Dataset
from oodometer_lab.datasets.dialogues import replies
from oodometer_lab.models import (
    BagOfWords,
    Convolution,
    EmbeddingSum,
    Encoder,
    FrozenEncoder,
    FrozenRanker,
    Recurrent,
    ResponseRanker,
    TokenEncoder,
)
from oodometer_lab.models.artifacts import KINDS, kind_named
from oodometer_lab.models.base import Classifier
from oodometer_lab.models.image.network import ImageEncoder, ResNet
from oodometer_lab.models.torch.training import TrainingConfig

QUICK = TrainingConfig(epochs=2, batch_size=8, learning_rate=5e-3, checkpoint_seconds=0.0)
SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
OF_TRAINED = {
    "ensemble",
    "monte-carlo-dropout",
    "temperature-scaling",
}  # made of models that are trained already
TRAINED = sorted(
    name for name in KINDS if name not in OF_TRAINED and kind_named(name, Classifier) is not None
)

Make = Callable[[Path, Path], Classifier]
MAKERS: dict[str, Make] = {
    "bag-of-words": lambda text, image: BagOfWords(training=QUICK),
    "convolution": lambda text, image: Convolution(dimensions=8, filters=4, training=QUICK),
    "embedding-sum": lambda text, image: EmbeddingSum(dimensions=8, training=QUICK),
    "recurrent": lambda text, image: Recurrent(dimensions=8, units=8, training=QUICK),
    "encoder": lambda text, image: Encoder(
        config=SHAPE, vocab_size=150, max_length=24, training=QUICK
    ),
    "token-encoder": lambda text, image: TokenEncoder(
        config=SHAPE, vocab_size=150, max_length=24, training=QUICK
    ),
    "frozen-encoder": lambda text, image: FrozenEncoder(str(text), max_length=24),
    "response-ranker": lambda text, image: ResponseRanker(
        config=SHAPE, max_length=24, training=QUICK
    ),
    "frozen-ranker": lambda text, image: FrozenRanker(str(text), hidden=8, training=QUICK),
    "resnet": lambda text, image: ResNet(width=8, image_size=16, dropout=0.2, training=QUICK),
    "image-encoder": lambda text, image: ImageEncoder(str(image), training=QUICK),
}


def images(rows: int = 40, size: int = 16) -> Dataset:
    """Images whose upper or lower half is dark."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(128, 256, size=(rows, size, size, 3)).astype(np.uint8)
    labels = (np.arange(rows) % 2).tolist()
    for row, label in enumerate(labels):
        half = slice(None, size // 2) if label else slice(size // 2, None)
        pixels[row, half] //= 4
    names = ("dark below", "dark above")
    return Dataset("halves", pixels, tuple(names[one] for one in labels), modality="image")


@pytest.fixture(scope="session")
def tiny_vit(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained ViT of 16 units and its processor, as a hub would give it."""
    folder = tmp_path_factory.mktemp("vit")
    transformers.set_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=16,
        patch_size=8,
        id2label={0: "cat", 1: "dog", 2: "owl"},
        label2id={"cat": 0, "dog": 1, "owl": 2},
        hidden_dropout_prob=0.1,
    )
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 16, "width": 16}).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", TRAINED)
def test_the_contract(
    kind: str, torch: Any, transformers: Any, reviews: Any, tiny_encoder: Path, tiny_vit: Path
) -> None:
    texts, labels = reviews[0][:40], tuple(("bad", "good")[one] for one in reviews[1][:40])
    data = Dataset("reviews", tuple(texts), labels)
    if kind == "token-encoder":
        pairs = tuple(
            (text, text.upper() if one == "good" else "no")
            for text, one in zip(texts, labels, strict=True)
        )
        data = Dataset("pairs", pairs, labels, modality="pair")
    if kind in ("response-ranker", "frozen-ranker"):
        data = replies(
            [(str(i), tuple(texts[2 * i : 2 * i + 2])) for i in range(20)], "reviews", candidates=3
        )
    if kind in ("resnet", "image-encoder"):
        data = images()
    check_model(lambda: MAKERS[kind](tiny_encoder, tiny_vit), data)


def test_a_broken_model_is_found(torch: Any, reviews: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose answers depend on the order of the rows does not pass."""
    plain = BagOfWords._scores
    monkeypatch.setattr(
        BagOfWords, "_scores", lambda self, net, ids, real: plain(self, net, ids, real).cumsum(0)
    )
    data = Dataset("reviews", tuple(reviews[0][:40]), tuple(reviews[1][:40]))
    with pytest.raises(AssertionError, match="the order of the samples changes nothing"):
        check_model(lambda: BagOfWords(training=QUICK), data)
