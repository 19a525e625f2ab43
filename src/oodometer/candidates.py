"""Candidates: one score for each reply or option of a sample, and labels that are positions among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, Ragged
from .errors import InputError
from .kernels import Top

NO_CLASSES = "does not apply: the labels are positions among candidates, not classes"
_LEAST = 2


def check_candidate_scores(value: Any, column: str = "candidate_scores") -> Ragged:
    """Scores of the candidates of each sample: finite numbers, at least two in a row; a row may have its own length.

    >>> check_candidate_scores([[0.5, -1.0], [2.0, 0.0, 1.0]]).lengths.tolist()
    [2, 3]
    >>> check_candidate_scores([[0.5, -1.0], [2.0]])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column candidate_scores: expected at least 2 candidates, got 1; ...
    """
    try:
        ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
        kind = ragged.values.dtype.kind
    except (TypeError, ValueError):
        kind = "O"
    if kind not in "fiu":
        raise InputError(
            "a list of numbers a sample",
            got="other values",
            column=column,
            remedy="give one score for each candidate, larger = more likely right",
        )
    few = ragged.lengths < _LEAST
    if few.any():
        row = int(np.argmax(few))
        raise InputError(
            f"at least {_LEAST} candidates",
            got=str(ragged.lengths[row]),
            row=row + 1,
            column=column,
            remedy="a choice needs two: add the others' scores, or drop the row",
        )
    if ragged.offsets[0] or ragged.offsets[-1] < len(ragged.values):  # a part of something larger
        ragged = ragged.take(np.arange(len(ragged)))
    wide = kind == "f" and ragged.values.dtype.itemsize >= 4
    values = ragged.values if wide else ragged.values.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(ragged.offsets, at, side="right"))
        cell = f"{column}[{at - ragged.offsets[row - 1]}]"
        raise InputError(
            "a finite number",
            got=str(values[at]),
            row=row,
            column=cell,
            remedy="leave the candidate out or find out why the model gave it",
        )
    return Ragged(values, ragged.offsets)


def check_within(positions: Array, scores: Ragged, column: str) -> None:
    """Positions of shape (..., sample) are below the number of candidates of their row; -1 is unknown."""
    lengths = scores.lengths
    outside = positions >= lengths
    if outside.any():
        at = np.unravel_index(int(np.argmax(outside)), outside.shape)
        row, got = int(at[-1]), int(positions[at])
        known = positions[positions >= 0]
        from_one = bool((positions <= lengths).all()) and int(known.min()) >= 1
        raise InputError(
            f"a position below {lengths[row]}, the number of candidates in the row",
            got=str(got),
            row=row + 1,
            column=column,
            remedy="these seem to count from 1: subtract 1"
            if from_one
            else "positions count from 0: check that the candidates are those of this row",
        )


def candidate_softmax(scores: Ragged) -> Ragged:
    """exp(s_ik) / sum_j exp(s_ij) over the candidates of each row, float64: scores are read as logits.

    For log-likelihoods this is the probability of each candidate given that one of them is said.

    >>> candidate_softmax(Ragged.from_rows([[0.0, 0.0], [np.log(3.0), 0.0]])).values.round(2).tolist()
    [0.5, 0.5, 0.75, 0.25]
    """
    if not len(scores):
        return Ragged(np.empty(0), scores.offsets)
    starts, lengths = scores.offsets[:-1], scores.lengths
    values = scores.values.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):  # a gap of more than the largest number is a probability of 0 as well
        shifted = values - np.repeat(np.maximum.reduceat(values, starts), lengths)
    np.exp(shifted, out=shifted)
    shifted /= np.repeat(np.add.reduceat(shifted, starts), lengths)
    return Ragged(shifted, scores.offsets)


def top_candidates(scores: Ragged, probabilities: Ragged) -> Top:
    """Position of the largest score in each row (the first among ties), its probability and the runner-up's.

    >>> scores = Ragged.from_rows([[1.0, 1.0], [0.0, np.log(2.0), 0.0]])
    >>> top_candidates(scores, candidate_softmax(scores)).best.tolist()
    [0, 1]
    """
    if not len(scores):
        return Top(np.empty(0, np.int32), np.empty(0), np.empty(0))
    starts, lengths = scores.offsets[:-1], scores.lengths
    at_top = np.flatnonzero(scores.values == np.repeat(np.maximum.reduceat(scores.values, starts), lengths))
    owner = np.repeat(np.arange(len(scores)), lengths)[at_top]
    first = at_top[np.flatnonzero(np.diff(owner, prepend=-1))]
    others = probabilities.values.copy()
    others[first] = -1.0
    second = np.maximum.reduceat(others, starts)
    return Top((first - starts).astype(np.int32), probabilities.values[first], second)


def own_probability(probabilities: Ragged, positions: Array) -> Array:
    """The probability of the candidate at one position in each row, shape (sample,).

    >>> own_probability(Ragged.from_rows([[0.25, 0.75], [0.5, 0.3, 0.2]]), np.array([1, 2])).tolist()
    [0.75, 0.2]
    """
    out: Array = probabilities.values[probabilities.offsets[:-1] + positions]
    return out
