"""Examples: synthetic records on which every signal says something true, for contract checks and tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .arrays import Array, Ragged, softmax
from .fields import FIELDS
from .predictions import Predictions

_CLASSES = 4


def example_record(rows: int = 400, *, seed: int = 0, difficulty: float = 1.0, labelled: bool = True) -> Predictions:
    """A synthetic record with every field, on which every signal says something true about correctness.

    ``difficulty`` is the standard deviation of the noise between logits and truth: more noise, more errors.

    >>> easy, hard = example_record(difficulty=0.5), example_record(difficulty=3.0)
    >>> easy.accuracy > hard.accuracy
    True
    """
    rng = np.random.default_rng([seed, 7])
    label = rng.integers(_CLASSES, size=rows)
    signal = 2.5 * np.eye(_CLASSES)[label]
    seen = signal + difficulty * rng.standard_normal((rows, _CLASSES))
    logits = 2.5 * seen / difficulty**2  # the posterior's own logits: more noise, less confidence
    first = logits.argmax(axis=1)
    correct = first == label
    others = [softmax(2.5 * (signal + difficulty * rng.standard_normal(seen.shape)) / difficulty**2) for _ in range(3)]
    views = np.stack([(seen + 0.5 * rng.standard_normal(seen.shape)).argmax(axis=1) for _ in range(4)])
    votes = np.stack([np.where(rng.random(rows) < 0.8, correct, ~correct) for _ in range(3)])
    probabilities = softmax(logits)
    top = probabilities.max(axis=1)
    tokens = [[float(np.log(p)) / (1 + i % 5)] * (1 + i % 5) for i, p in enumerate(top)]
    record = Predictions.from_arrays(
        label=label,
        logits=logits,
        confidence=top,
        members=np.stack([o.argmax(axis=1) for o in others]),
        member_probabilities=np.stack(others),
        token_logprobs=Ragged.from_rows(tokens),
        views=views,
        votes=votes,
        features=(seen + np.where(correct, 0.1, 2.0)[:, None] * rng.standard_normal(seen.shape)).astype(np.float32),
        group=np.where(label % 2 == 0, "even", "odd").astype(object),
    )
    return record if labelled else record.without_labels()


def example_candidates(
    rows: int = 400, *, seed: int = 0, difficulty: float = 1.0, labelled: bool = True
) -> Predictions:
    """A synthetic record with `candidate_scores`, two to six a sample, and fields that name positions among them.

    >>> easy, hard = example_candidates(difficulty=0.5), example_candidates(difficulty=3.0)
    >>> easy.accuracy > hard.accuracy, easy.has_classes
    (True, False)
    """
    rng = np.random.default_rng([seed, 8])
    lengths = rng.integers(2, 7, size=rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    label = rng.integers(lengths)
    right = np.zeros(offsets[-1])
    right[offsets[:-1] + label] = 2.5

    def asked() -> Ragged:  # the posterior's own logits, as in `example_record`
        return Ragged(2.5 * (right + difficulty * rng.standard_normal(len(right))) / difficulty**2, offsets)

    said = Predictions.from_candidates(asked(), label=label)
    correct = said.verdicts == 1
    record = Predictions.from_candidates(
        said.candidate_scores,
        label=label,
        members=np.stack([Predictions.from_candidates(asked()).predicted for _ in range(3)]),
        views=np.stack([np.where(rng.random(rows) < 0.8, said.predicted, 0) for _ in range(4)]),
        votes=np.stack([np.where(rng.random(rows) < 0.8, correct, ~correct) for _ in range(3)]),
        features=np.where(correct, 0.1, 2.0)[:, None] * rng.standard_normal((rows, 3)),
        group=np.where(label % 2 == 0, "even", "odd").astype(object),
    )
    return record if labelled else record.without_labels()


def in_another_order(record: Predictions, rng: np.random.Generator) -> Predictions:
    """The same record with the candidates of each sample in a random order, which says nothing about the model.

    >>> p = Predictions.from_candidates([[3.0, 1.0]] * 20, label=[0] * 20)
    >>> q = in_another_order(p, np.random.default_rng(0))
    >>> sorted(set(q.label.tolist())), q.accuracy
    ([0, 1], 1.0)
    """
    scores = record.candidate_scores
    assert scores is not None
    starts, owner = scores.offsets[:-1], np.repeat(np.arange(len(scores)), scores.lengths)
    order = np.lexsort((rng.random(len(owner)), owner))  # shuffled within each row
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order)) - starts[owner]
    changes: dict[str, Any] = {"candidate_scores": Ragged(scores.values[order], scores.offsets)}
    for name in (n for n, field in FIELDS.items() if field.cell == "class" and record.has(n)):
        codes: Array = getattr(record, name)
        changes[name] = np.where(codes < 0, codes, place[starts + codes])
    return replace(record, _cache={}, **changes)
