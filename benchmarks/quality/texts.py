"""Text beds: models of film reviews, trained here on IMDb, meet sentences of critics (SST-2, MR) and buyers (CR)."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kit import data_folder
from benchmarks.real.data import Ints
from oodometer import Predictions


@dataclass(frozen=True)
class Situation:
    """A labelled reference, a target without labels, and the accuracy of the target's rows."""

    bed: str
    name: str
    reference: Predictions
    target: Predictions
    truth: float


MODELS = ("bayes", "logistic", "bigrams", "topics")
TRAINED = 12_500
REFERENCE = 5_000
TARGETS = {
    "sst-2": ("stsa.binary.dev", "stsa.binary.test"),
    "mr": ("rt-polarity.all",),
    "cr": ("custrev.all",),
}

Texts = NDArray[np.object_]


@cache
def _imdb(part: str) -> tuple[Texts, Ints]:
    with lzma.open(data_folder() / f"imdb_{part}.jsonl.xz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return np.array([r["text"] for r in rows], dtype=object), np.array([r["label"] for r in rows])


@cache
def _sentences() -> dict[str, tuple[Texts, Ints]]:
    with lzma.open(data_folder() / "sst_mr_cr_etc.tsv.xz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t", 2) for line in lines]
    out = {}
    for name, files in TARGETS.items():
        chosen = [(text, int(label)) for file, label, text in rows if file in files]
        out[name] = np.array([t for t, _ in chosen], dtype=object), np.array([y for _, y in chosen])
    return out


def reviewed(model: str, seed: int) -> Iterator[Situation]:
    """One model, its reference of IMDb test reviews, and the three sets of sentences."""
    texts, labels = _imdb("train")
    rows = np.random.default_rng([seed, 0x7E]).permutation(len(labels))[:TRAINED]
    vectors, chosen = _made(model, seed)
    x = vectors.fit_transform(texts[rows])
    chosen.fit(x, labels[rows])

    def record(some: Texts, truth: Ints) -> Predictions:
        seen = vectors.transform(some)
        features = {"features": seen.astype(np.float32)} if model == "topics" else {}
        return Predictions.from_arrays(
            probabilities=chosen.predict_proba(seen), label=truth, classes=[0, 1], **features
        )

    texts, labels = _imdb("test")
    rows = np.random.default_rng([seed, 0x7F]).permutation(len(labels))[:REFERENCE]
    reference = record(texts[rows], labels[rows])
    for name, (sentences, truth) in _sentences().items():
        target = record(sentences, truth)
        yield Situation(
            f"texts: {name}",
            f"{model}, seed {seed}",
            reference,
            target.without_labels(),
            target.accuracy,
        )


def _made(model: str, seed: int) -> tuple[Any, Any]:
    """How texts become numbers, and what judges them. `topics` has few enough numbers to be given as features."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    if model == "bayes":
        return CountVectorizer(min_df=3, binary=True), MultinomialNB()
    if model == "logistic":
        return TfidfVectorizer(min_df=3), LogisticRegression(C=5.0, max_iter=300)
    if model == "bigrams":
        return TfidfVectorizer(min_df=5, ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(
            C=10.0, max_iter=300
        )
    topics = make_pipeline(
        TfidfVectorizer(min_df=5, sublinear_tf=True), TruncatedSVD(64, random_state=seed)
    )
    return topics, LogisticRegression(C=10.0, max_iter=1000)
