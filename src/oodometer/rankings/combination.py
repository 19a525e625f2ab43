"""Combination: labels first, and other evidence for what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..results import plain
from .few_shot import ROUNDING, Method, Rule, drawn_scores, scored

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

    sets : Name -> (evidence of shape (piece, draw, model), as `scored` gives it, and accuracies of shape (model,)).
    names : Of the pieces.
    ridge : Above 0.

    Raises `UsageError` without sets, for other pieces or a ridge that is none, `InputError` where no pair differs.

    >>> evidence = np.array([[[0.0, 1.0, 2.0]], [[1.0, 0.0, 1.0]]])  # the first kind follows the truth
    >>> found = fit_weights({"set": (evidence, [0.5, 0.6, 0.7])}, ["good", "noise"])
    >>> bool(found.weights[0] > abs(found.weights[1]))
    True
    """
    if not sets or not ridge > 0:
        raise UsageError(f"expected at least one set and a ridge above 0, got {len(sets)} and {ridge}")
    used, pairs = list[Array](), 0
    for name, (values, accuracies) in sets.items():
        x, t, pieces = np.asarray(values, dtype=np.float64), np.asarray(accuracies), len(names)
        if x.ndim != 3 or len(x) != pieces or x.shape[2] != len(t):
            raise UsageError(
                f"expected evidence of shape ({pieces}, draw, {len(t)}) of {name}, got {x.shape}; use `scored`"
            )
        better, worse = np.nonzero(t[:, None] > t[None, :])
        x = standardised(x)
        pairs += len(better)
        if len(better):
            used.append((x[:, :, better] - x[:, :, worse]).reshape(pieces, -1).T)
    if not pairs:
        raise InputError("two models that differ in accuracy", got="equal ones in all sets", remedy="give other sets")
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
        left: fit_weights({name: evidence for name, evidence in sets.items() if name != left}, names, ridge=ridge)
        for left in sets
    }


def powered_accuracy(
    correct: Any, score: Any, pool_score: Any, *, lean: float | Literal["each", "shared"] = "shared"
) -> Rule:
    """PPI++ accuracy as a rule: v = mean_n Y + lam (mean_N f - mean_n f), n the drawn rows, N the pool.

    lam = cov(Y, f) / ((1 + n/N) var f) within the draw, 0 where f does not vary: "each" for each model by itself, as
    `oodometer.audits.judge.ppi_plus_plus` has it; "shared" from the covariances and variances of all
    models added up, as ten rows are few to fit a slope on. A number fixes lam: 1 is plain prediction-powered inference,
    0 is ACC. Values are not cut to [0, 1], which would make ties.

    correct : 1 where a model is right, shape (model, row).
    score : f, such as max probability, of the same rows, shape (model, row).
    pool_score : f on the pool, shape (model, pool row).
    lean : lam.

    Raises `UsageError` for shapes that do not go together, numbers that are none, or an unknown ``lean``. Source:
    Angelopoulos, Duchi and Zrnic (2023).

    >>> right, f = np.array([[1, 0, 1, 0]]), np.array([[0.9, 0.1, 0.9, 0.1]])
    >>> powered_accuracy(right, f, [[0.9, 0.9, 0.9, 0.1]], lean=1.0)(np.array([[0, 1]])).round(3).tolist()
    [[0.7]]
    """
    y, f, pool = (np.asarray(values, dtype=np.float64) for values in (correct, score, pool_score))
    if y.ndim != 2 or y.shape != f.shape or pool.ndim != 2 or len(pool) != len(y) or not pool.size:
        raise UsageError(
            "expected correctness and scores of shape (model, row) and a pool of the same models, "
            f"got shapes {y.shape}, {f.shape} and {pool.shape}"
        )
    if not (np.isfinite(y).all() and np.isfinite(f).all() and np.isfinite(pool).all()):
        raise UsageError("expected finite numbers, got nan among correctness or scores; give rows of known truth alone")
    number = isinstance(lean, (int, float, np.number)) and np.isfinite(lean)
    if not number and lean not in ("each", "shared"):
        raise UsageError(f"expected lean to be 'each', 'shared' or a number, got {lean!r}")
    mean_pool, rows = pool.mean(axis=1), pool.shape[1]

    def rule(drawn: Array) -> Array:
        size = drawn.shape[1]
        y_drawn, f_drawn = y.T[drawn], f.T[drawn]  # (draw, row, model)
        mean_y, mean_f = y_drawn.mean(axis=1), f_drawn.mean(axis=1)
        slope: Any = lean
        if isinstance(lean, str):  # of each draw and model, (draw, model), or (draw, 1) where it is shared
            centred = f_drawn - f_drawn.mean(axis=1, keepdims=True)
            along = np.einsum("dnm,dnm->dm", centred, y_drawn)
            spread = np.einsum("dnm,dnm->dm", centred, centred)
            if lean == "shared":
                along, spread = along.sum(axis=1, keepdims=True), spread.sum(axis=1, keepdims=True)
            varies = spread > 1e-12 * size
            slope = np.where(varies, along / ((1 + size / rows) * np.where(varies, spread, 1.0)), 0.0)
        return np.asarray(mean_y + slope * (mean_pool - mean_f))

    return rule


_LESS = 1 - 1e-6  # evidence stays below the label that it is compared with


def scaled(scores: Array) -> Array:
    """Scores of the models of each draw moved and stretched to [-1/2, 1/2]; 0 where they are equal or there is none.

    The last axis is that of models: (x - (max + min) / 2) / (max - min).

    >>> scaled(np.array([[1.0, 2.0, 5.0], [3.0, 3.0, np.nan]])).tolist()
    [[-0.5, -0.25, 0.5], [0.0, 0.0, 0.0]]
    """
    there = ~np.isnan(scores)
    some = there.any(axis=-1, keepdims=True)
    high = np.where(some, np.where(there, scores, -np.inf).max(axis=-1, keepdims=True), 0.0)
    low = np.where(some, np.where(there, scores, np.inf).min(axis=-1, keepdims=True), 0.0)
    apart = high - low > ROUNDING * np.maximum(np.abs(high), np.abs(low))
    away = np.where(there, scores, 0.0) - (high + low) / 2
    return np.where(there & apart, away / np.where(apart, high - low, 1.0), 0.0)


def mean_evidence(pieces: Mapping[str, Method]) -> Rule:
    """The mean of several kinds of evidence, each scaled over the models of a draw to [-1/2, 1/2]. Raises `UsageError`
    without evidence.

    >>> from .few_shot import fixed
    >>> rule = mean_evidence({"a": fixed([0, 1]), "b": fixed([0, 5]), "c": fixed([1, 0])})
    >>> rule(np.zeros((1, 2), dtype=np.int64)).round(3).tolist()
    [[-0.167, 0.167]]
    """
    if not pieces:
        raise UsageError("expected at least one kind of evidence, got none")
    return lambda drawn: np.asarray(scaled(scored(pieces, drawn)).mean(axis=0))


def labels_first(correct: Any, pieces: Mapping[str, Method], *, worth: float = 1.0) -> Rule:
    """ACC + worth * evidence / n: accuracy on the n drawn rows, and evidence for what it leaves open.

    The evidence is `mean_evidence`, in [-1/2, 1/2] (less a millionth), so that between two models it is worth less than
    ``worth`` labels: with 1 it decides ties, and a model with one row more right stays ahead whatever it says.

    correct : 1 where a model is right, 0 where it is wrong, shape (model, row).
    pieces : Name -> evidence, values or a rule, larger = better: CONF-GT, powered accuracy, a pool's, minus a factor.
    worth : How many labels all evidence together may outweigh; 0 is ACC.

    Raises `UsageError` without evidence and for a worth below 0.

    >>> from .few_shot import fixed
    >>> right = np.array([[1, 0], [0, 1], [1, 1]])
    >>> labels_first(right, {"pool": fixed([0.7, 0.8, 0.1])})(np.array([[0, 1]])).round(3).tolist()
    [[0.679, 0.75, 0.75]]
    """
    if not worth >= 0:
        raise UsageError(f"expected a worth in labels of at least 0, got {worth}")
    evidence, right = mean_evidence(pieces), np.asarray(correct, dtype=np.float64)
    return lambda drawn: drawn_scores(right, drawn) + worth * _LESS * evidence(drawn) / drawn.shape[1]
