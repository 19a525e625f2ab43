"""Bradley and Terry: strengths of models from battles of two, with errors by clusters, covariates, and P(best)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Array
from .clusters import student_quantile

LEAST_CLUSTERS = 10  # of judges, from which on they are taken to be drawn from others
_STEPS = 60  # of Newton
_LARGEST = 10.0  # a coefficient beyond which a model is held to win, or lose, always
_SMALL = 1e-10
_DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class Strengths:
    """What battles say of models: log P(i beats j) / P(j beats i) = s_i - s_j + x b, the s adding up to 0.

    models : names. value : strengths s and coefficients b of the covariates, (coefficient,). covariance : of them, by
    the sandwich, (coefficient, coefficient). covariates : names. degrees : of Student's law, clusters less one.
    shrunk : whether a model won, or lost, every battle, so that a tie of each one with the average was added.
    of_each_kind : the covariance by each kind of clusters alone, where there are several.
    """

    models: tuple[str, ...]
    value: Array
    covariance: Array
    covariates: tuple[str, ...]
    degrees: float
    shrunk: bool = False
    of_each_kind: tuple[Array, ...] = ()

    def error(self, weights: Array) -> float:
        """The standard error of a sum of coefficients with these weights: of several kinds of clusters the largest of
        both together and of each alone, as their difference may by luck come out small.
        """
        every = (self.covariance, *self.of_each_kind)
        return math.sqrt(max(0.0, *(float(weights @ part @ weights) for part in every)))

    def contrast(self, weights: Array, level: float = 0.95) -> tuple[float, float, float]:
        """A sum of coefficients with these weights, (coefficient,), and its ends."""
        value = float(weights @ self.value)
        half = student_quantile(level, self.degrees) * self.error(weights)
        return value, value - half, value + half

    def gap(self, i: int, j: int) -> Array:
        """The weights of s_i - s_j."""
        weights = np.zeros(len(self.value))
        weights[i] += 1
        weights[j] -= 1
        return weights

    def p_value(self, i: int, j: int) -> float:
        """Of equal strengths of two models, two-sided."""
        from scipy.special import stdtr

        weights = self.gap(i, j)
        error = self.error(weights)
        return (
            2 * float(stdtr(self.degrees, -abs(float(weights @ self.value)) / error))
            if error
            else 1.0
        )

    def beats(self, i: int, j: int, level: float = 0.95) -> tuple[float, float, float]:
        """P(i beats j) where covariates are 0, with its ends: the logistic function of s_i - s_j and its ends."""
        value, low, high = map(_logistic, self.contrast(self.gap(i, j), level))
        return value, low, high

    def wins(self, i: int, level: float = 0.95) -> tuple[float, float, float]:
        """P(i beats another model), mean over the others alike, where covariates are 0, with ends by the delta method
        on the scale of log-odds.
        """
        others = [j for j in range(len(self.models)) if j != i]
        chances = np.array([self.beats(i, j)[0] for j in others])
        mean = float(chances.mean())
        slope = np.zeros(len(self.value))
        for j, chance in zip(others, chances, strict=True):
            slope += chance * (1 - chance) * self.gap(i, j) / len(others)
        slope /= mean * (1 - mean)
        half = student_quantile(level, self.degrees) * self.error(slope)
        centre = math.log(mean / (1 - mean))
        return mean, _logistic(centre - half), _logistic(centre + half)

    @cached_property
    def draws(self) -> Array:
        """Draws of the strengths around their values, by Student's law, (draw, model)."""
        count, rng = len(self.models), np.random.default_rng(0)
        values, vectors = np.linalg.eigh(self.covariance[:count, :count])
        normal = rng.standard_normal((_DRAWS, count)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        degrees = max(self.degrees, 1.0)
        scale = np.sqrt(rng.chisquare(min(degrees, 1e9), _DRAWS) / degrees)
        return np.asarray(self.value[:count] + normal / scale[:, None])

    @property
    def p_best(self) -> Array:
        """The chance of each model to be the strongest, (model,)."""
        best = self.draws.argmax(axis=1)
        return np.bincount(best, minlength=len(self.models)) / len(best)


def bradley_terry(
    first: Array,
    second: Array,
    won: Array,
    *,
    clusters: Sequence[Array] = (),
    covariates: Array | None = None,
    names: Sequence[str] = (),
    models: Sequence[str] | None = None,
) -> Strengths:
    """Strengths of models from battles: maximum likelihood of P(first wins) = 1 / (1 + exp(-(s_first - s_second + x
    b))).

    first, second : names of the two models, (battle,). won : 1 where the first won, 0 the second, 0.5 a tie, which
    counts as half a win of each, (battle,). clusters : codes of what battles share, such as the prompt, and of the
    judge, each (battle,); none where battles are independent. covariates : what may help the first, such as its place,
    +1 or -1, or how much longer it is, (battle, covariate), their ``names``. models : their order, by default that of
    the alphabet.

    Errors are those of the sandwich A^-1 B A^-1, A the information and B the products of sums of scores over clusters,
    times G / (G - 1); of two kinds of clusters B_1 + B_2 - B_12 (Cameron, Gelbach and Miller 2011), no error less than
    that of one kind. The s add up to 0.
    A model that only wins, or only loses, has no finite strength: then one tie of each model with the average is added,
    and ``shrunk`` says so. The models must be connected by battles. Source: Bradley and Terry (1952), Hunter (2004).

    >>> found = bradley_terry(np.array(["a", "a", "b", "a"]), np.array(["b", "b", "a", "b"]), np.array([1, 1, 1, 0.5]))
    >>> found.models, round(float(found.value[0] - found.value[1]), 4), round(found.beats(0, 1)[0], 3)
    (('a', 'b'), 0.5108, 0.625)
    """
    order = (
        tuple(models) if models is not None else tuple(sorted({*first.tolist(), *second.tolist()}))
    )
    place = {name: i for i, name in enumerate(order)}
    i, j = (np.array([place[name] for name in side.tolist()]) for side in (first, second))
    extra = np.zeros((len(won), 0)) if covariates is None else np.asarray(covariates, dtype=float)
    design = np.zeros((len(won), len(order) + extra.shape[1]))
    design[np.arange(len(won)), i] += 1
    design[np.arange(len(won)), j] -= 1
    design[:, len(order) :] = extra
    y, weight = np.asarray(won, dtype=np.float64), np.ones(len(won))
    value = _fitted(design, y, weight, len(order))
    shrunk = value is None
    if value is None:
        ties = np.zeros((len(order), design.shape[1]))
        ties[:, : len(order)] = np.eye(len(order)) - 1 / len(order)
        more = np.vstack([design, ties])
        value = _fitted(
            more, np.append(y, np.full(len(order), 0.5)), np.ones(len(more)), len(order)
        )
        assert value is not None
    chance = _logistics(design @ value)
    information = (design * (chance * (1 - chance))[:, None]).T @ design
    if shrunk:
        information[: len(order), : len(order)] += (np.eye(len(order)) - 1 / len(order)) / 4
    bread, scores = _inverse(information, len(order)), design * (y - chance)[:, None]
    meat, count = _meat(scores, clusters)
    # of a model that always wins all scores are alike and know no chance: what the fit expects of it is added
    more = information if shrunk else np.zeros_like(information)
    kinds = [_by_cluster(scores, codes)[0] for codes in clusters] if len(clusters) > 1 else []
    return Strengths(
        models=order,
        value=value,
        covariance=bread @ (meat + more) @ bread,
        covariates=tuple(names),
        degrees=max(count - 1.0, 1.0),
        shrunk=shrunk,
        of_each_kind=tuple(bread @ (kind + more) @ bread for kind in kinds),
    )


def _fitted(design: Array, y: Array, weight: Array, models: int) -> Array | None:
    """The coefficients by Newton's steps, strengths adding up to 0; None where they run away."""
    value: Array = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = _logistics(design @ value)
        information = (design * (weight * chance * (1 - chance))[:, None]).T @ design
        step = _inverse(information, models) @ (design.T @ (weight * (y - chance)))
        largest = float(np.abs(step).max(initial=0.0))
        value = value + step * min(1.0, 4 / max(largest, _SMALL))
        if np.abs(value).max(initial=0.0) > _LARGEST:
            return None
        if largest < _SMALL:
            return value
    return None


def _inverse(information: Array, models: int) -> Array:
    """The inverse among coefficients whose strengths add up to 0."""
    level = np.zeros_like(information)
    level[:models, :models] = 1.0 / models
    scale = max(float(np.trace(information)) / len(information), _SMALL)
    inverse = np.linalg.pinv(information + scale * level, hermitian=True)
    centre = np.eye(len(information)) - level
    return np.asarray(centre @ inverse @ centre)


def _meat(scores: Array, clusters: Sequence[Array]) -> tuple[Array, float]:
    """Products of sums of scores over clusters, and the fewest clusters of a kind."""
    if not clusters:
        count = len(scores)
        return scores.T @ scores * count / max(count - 1, 1), float(count)
    parts = [_by_cluster(scores, codes) for codes in clusters]
    meat, count = parts[0]
    for other, more in parts[1:]:
        meat, count = meat + other, min(count, more)
    if len(clusters) > 1:
        both = np.unique(np.stack(clusters), axis=1, return_inverse=True)[1]
        meat = meat - _by_cluster(scores, both)[0]
        values, vectors = np.linalg.eigh(meat)  # a difference of products may have negative parts
        meat = (vectors * np.maximum(values, 0)) @ vectors.T
    return meat, float(count)


def _by_cluster(scores: Array, codes: Array) -> tuple[Array, int]:
    """Products of sums of scores over the clusters of one kind, and how many there are."""
    at = np.unique(codes, return_inverse=True)[1].ravel()
    count = int(at.max()) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, at, scores)
    return sums.T @ sums * count / max(count - 1, 1), count


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _logistics(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def connected(first: Array, second: Array) -> list[list[str]]:
    """The models in groups that are connected by battles, the largest first.

    >>> connected(np.array(["a", "b", "x"]), np.array(["b", "c", "y"]))
    [['a', 'b', 'c'], ['x', 'y']]
    """
    group = {name: {name} for name in [*first.tolist(), *second.tolist()]}
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[b]:
                group[name] = group[a]
    found = {id(names): sorted(names) for names in group.values()}
    return sorted(found.values(), key=lambda names: (-len(names), names))
