"""Live models under test: torch with one thread, small texts that a model can learn, a tiny encoder on the disk."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
PLAIN = ("film", "story", "actor", "scene", "the", "a", "was", "seen")


@pytest.fixture(scope="session")
def torch() -> Any:
    """The library, with one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("torch", reason="needs the extra hf: pip install 'oodometer[hf]'")
    found.set_num_threads(1)
    return found


@pytest.fixture(scope="session")
def transformers(torch: Any) -> Any:
    """The library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("transformers", reason="needs the extra hf: pip install 'oodometer[hf]'")


def review(rng: np.random.Generator, label: int) -> str:
    """A text of plain words with two words that give its label away."""
    told = rng.choice(GOOD if label else BAD, size=2).tolist()
    length = int(rng.integers(3, 12))
    found = [*rng.choice(PLAIN, size=length).tolist(), *told]
    rng.shuffle(found)
    return " ".join(found)


@pytest.fixture(scope="session")
def reviews() -> tuple[list[str], list[int]]:
    """200 texts and their labels."""
    rng = np.random.default_rng(0)
    labels = (np.arange(200) % 2).tolist()
    return [review(rng, label) for label in labels], labels


@pytest.fixture(scope="session")
def tiny_encoder(transformers: Any, tmp_path_factory: pytest.TempPathFactory, reviews: Any) -> Path:
    """A folder with an untrained BERT of 16 units and its tokenizer, as a hub would give it."""
    from oodometer.models.text.wordpiece import learn_wordpiece

    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = learn_wordpiece(reviews[0], 200, 64)
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
