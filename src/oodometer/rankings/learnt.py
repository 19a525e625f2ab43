"""Learnt: weights of kinds of evidence, fitted on other sets than the one that is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..results import plain
from .rules import Method, Rule, scored

_STEPS = 50


@final
@dataclass(frozen=True, eq=False)
class LearntWeights:
    """Weights of kinds of evidence.

    names : of the evidence. weights : shape (piece,). sets : names of the sets that they were fitted on.
    """

    names: tuple[str, ...]
    weights: Array
    sets: tuple[str, ...] = ()

    def rule(self, pieces: Mapping[str, Method]) -> Rule:
        """The weighted sum of the standardised evidence. Raises `UsageError` where a piece is missing."""
        lacking = [name for name in self.names if name not in pieces]
        if lacking:
            raise UsageError(f"expected the evidence {', '.join(self.names)}, got none for {', '.join(lacking)}")
        chosen = {name: pieces[name] for name in self.names}
        return lambda drawn: np.tensordot(self.weights, standardised(scored(chosen, drawn)), 1)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {"weights": dict(zip(self.names, plain(self.weights), strict=True)), "fitted_on": list(self.sets)}


def standardised(scores: Array) -> Array:
    """Scores minus their mean over the models (last axis), divided by their standard deviation; 0 where there is none.

    >>> standardised(np.array([1.0, 3.0, np.nan])).tolist()
    [-1.0, 1.0, 0.0]
    """
    there = ~np.isnan(scores)
    count = np.maximum(there.sum(axis=-1, keepdims=True), 1)
    rest = np.where(there, scores, 0.0)
    away = np.where(there, rest - rest.sum(axis=-1, keepdims=True) / count, 0.0)
    spread = np.sqrt(np.square(away).sum(axis=-1, keepdims=True) / count)
    size = np.abs(rest).max(axis=-1, keepdims=True)
    varies = spread > 1e-12 * size  # below it is rounding
    return np.asarray(away / np.where(varies, spread, 1.0) * varies)


def fit_weights(
    sets: Mapping[str, tuple[Array, Sequence[float] | Array]], names: Sequence[str], *, ridge: float = 1.0
) -> LearntWeights:
    """Logistic regression on pairs of models: log-odds that a is better = w . (x_a - x_b), x standardised evidence.

    Minimises the mean over sets of the mean over draws and pairs of log(1 + exp(-w . d)), d from the worse model to
    the better one, plus ridge |w|^2 / (2 P), P the pairs of all sets. There is no intercept, as no model comes first.
    Draws of a set are no new data, which is why P counts pairs.

    Parameters
    ----------
    sets :
        Name -> (evidence of shape (piece, draw, model), as `scored` gives it, and accuracies of shape (model,)).
    names :
        Of the pieces.
    ridge :
        Above 0.

    Raises `UsageError` without sets, for other pieces or a ridge that is none, `InputError` where no pair differs.

    >>> evidence = np.array([[[0.0, 1.0, 2.0]], [[1.0, 0.0, 1.0]]])  # the first kind follows the truth
    >>> found = fit_weights({"set": (evidence, [0.5, 0.6, 0.7])}, ["good", "noise"])
    >>> bool(found.weights[0] > abs(found.weights[1]))
    True
    """
    if not sets or not ridge > 0:
        raise UsageError(f"expected at least one set and a ridge above 0, got {len(sets)} and {ridge}")
    gaps = [_gaps(name, np.asarray(x, dtype=np.float64), np.asarray(t), len(names)) for name, (x, t) in sets.items()]
    pairs = sum(count for _, count in gaps)
    if not pairs:
        raise InputError("two models that differ in accuracy", got="equal ones in all sets", remedy="give other sets")
    used = [gap for gap, count in gaps if count]
    every = np.concatenate(used)
    share = np.concatenate([np.full(len(gap), 1 / (len(used) * len(gap))) for gap in used])
    weights = np.zeros(len(names))
    for _ in range(_STEPS):  # Newton's steps: the loss is convex, and the ridge keeps them short
        wrong = 1 / (1 + np.exp(np.clip(every @ weights, -500, 500)))
        slope = -(share * wrong) @ every + ridge / pairs * weights
        bend = (every * (share * wrong * (1 - wrong))[:, None]).T @ every + ridge / pairs * np.eye(len(names))
        step = np.linalg.solve(bend, slope)
        weights = weights - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return LearntWeights(tuple(names), weights, tuple(sets))


def leave_one_out(
    sets: Mapping[str, tuple[Array, Sequence[float] | Array]], names: Sequence[str], *, ridge: float = 1.0
) -> dict[str, LearntWeights]:
    """For each set the weights that are fitted on all others, so that no set is judged by what it taught.

    Parameters as in `fit_weights`. Raises `UsageError` for fewer than two sets.
    """
    if len(sets) < 2:
        raise UsageError(f"expected at least two sets, got {len(sets)}; weights are fitted on the others")
    return {
        left: fit_weights({name: one for name, one in sets.items() if name != left}, names, ridge=ridge)
        for left in sets
    }


def _gaps(name: str, evidence: Array, truth: Array, pieces: int) -> tuple[Array, int]:
    """Standardised evidence of the better minus that of the worse model, (draw x pair, piece), and how many pairs."""
    if evidence.ndim != 3 or len(evidence) != pieces or evidence.shape[2] != len(truth):
        raise UsageError(
            f"expected evidence of shape ({pieces}, draw, {len(truth)}) of {name}, got {evidence.shape}; use `scored`"
        )
    better, worse = np.nonzero(truth[:, None] > truth[None, :])
    x = standardised(evidence)
    return (x[:, :, better] - x[:, :, worse]).reshape(pieces, -1).T, len(better)
