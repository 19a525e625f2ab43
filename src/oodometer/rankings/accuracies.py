"""Accuracies: how accurate each of several models is, from a few labels and what all of them say of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..intervals import check_level
from ..kernels.incomplete_beta import beta_quantile
from ..results import Interval

ASSUMES = "the classes' odds given all models are off by one scale and one shift of each class"
"""On what the interval rests, beside the labelled rows being a random sample."""

# Standard deviations of the prior: of the common scale (of probabilities or with a reference, of classes alone), of
# each model's weight (with a reference, without), of each class's shift with the chance of either, and of a model's
# accuracy about what the class probabilities say (of the value, of the interval). Half or twice of one of them moves
# what 25 labels are worth on the suites of `benchmarks.mixture` by a tenth.
_SCALE, _SCALE_ALONE, _WEIGHT, _WEIGHT_ALONE, _OWN, _OWN_INTERVAL = 0.3, 0.6, 0.05, 0.1, 0.03, 0.04
_SHIFTS = {0.5: 0.8, 2.0: 0.2}
_LOOSE = (1.0, 0.5, 2.0)  # the same of the fit to a reference: scale, weights, shifts
_FLOOR = 1e-3  # of a probability: a model that is sure beyond it is not believed
_SAID = 0.9  # the probability of a class that a model names without one
_NUMBERS = 2**23  # probabilities that are read: of more rows those at even distances
_STEPS = 60
MOST_CLASSES = 2_000  # what is fitted grows with their square


def model_accuracies(
    probabilities: Any,
    labels: Any,
    rows: Any,
    *,
    reference: tuple[Any, Any] | None = None,
    level: float = 0.95,
) -> tuple[Interval, ...]:
    """Accuracy of each model on rows like these, from a few labels and what all models say of all rows.

    The mean of `class_posterior`; the interval is that of a beta distribution with its mean and variance. It is
    conditional on the form of p there and on random labelled rows.

    probabilities : shape (model, row, class), or predicted classes, integers of shape (model, row).
    labels, rows : true classes of the labelled rows, and their positions among all.
    reference : the same of rows of known ground; None without.
    level : nominal coverage of the intervals.

    Raises `InputError` without a label; other errors as there.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=2000)
    >>> odds = np.stack([2 * c * rng.normal(np.where(truth, c, -c)) for c in (1.5, 0.5)])
    >>> p = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=2)
    >>> known, labels = (p[:, 1000:], truth[1000:]), truth[:25]
    >>> right = p.argmax(axis=2) == truth
    >>> right.mean(axis=1).round(2).tolist(), right[:, :25].mean(axis=1).tolist()
    ([0.94, 0.68], [0.96, 0.6])
    >>> [round(one.value, 2) for one in model_accuracies(p[:, :1000], labels, np.arange(25), reference=known)]
    [0.95, 0.68]
    """
    level = check_level(level)
    if not np.size(labels):
        raise InputError(
            "labelled rows", got="none", remedy="label a few rows drawn at random; ten already help"
        )
    return intervals_of(*class_posterior(probabilities, labels, rows, reference=reference), level)


def intervals_of(
    mean: Array, covariance: Array, alone: Array, level: float
) -> tuple[Interval, ...]:
    """Intervals of beta distributions with the means and variances of `class_posterior`."""
    center = np.clip(mean, 0.005, 0.995)
    variance = np.diag(covariance) + alone
    out, tail = [], (1 - level) / 2
    for value, part in zip(
        center.tolist(), np.minimum(variance / (center * (1 - center)), 0.9).tolist(), strict=True
    ):
        size = 1 / part - 1
        ends = [beta_quantile(value * size, (1 - value) * size, at) for at in (tail, 1 - tail)]
        out.append(Interval(value, min(ends[0], value), max(ends[1], value), level, "conditional"))
    return tuple(out)


def class_posterior(
    probabilities: Any, labels: Any, rows: Any, *, reference: tuple[Any, Any] | None = None
) -> tuple[Array, Array, Array]:
    """Mean and covariance of the models' accuracies, (model,) and (model, model), and each one's variance beside it.

    One model of the true class stands for the labels that are missing. With l_m(x) the centred log probabilities of
    model m, shape (class,), and g(x) the centred log of their mean over the models,

        p(y = k | x) = softmax_k((1 + s) g(x) + sum_m d_m l_m(x) + b_k),

    s, d_m and b_k normal about 0. A reference fits them loosely, and g becomes what it says; the labels then fit them
    again, tightly (mode by Newton's steps, normal posterior about it). A model's accuracy is the mean of p(its class |
    x) over all rows, plus w times (its right answers less those that p expects): w = t^2 / (t^2 + v/n), t = 0.03, v the
    variance of a label, n labels: a tenth of the difference at 25, four fifths at 1,000. The b_k are small (0.5) or,
    once in five, large (2): the labels say which. The covariance is what s, d_m and b_k leave open; the variance of
    each model alone, (1 - w) 0.04^2 and that of the rows, is how far it may be from what p says. Without a label p is
    what the reference says, or the models themselves.

    probabilities : Shape (model, row, class), or predicted classes, integers of shape (model, row).
    labels : True classes of the labelled rows, positions, shape (labelled row,).
    rows : Positions of the labelled rows among all, a random sample of them, same shape.
    reference : The same of rows of known ground: probabilities or classes of the same models, and a label a row.

    Raises `UsageError` for shapes and positions that do not fit, `InputError` for probabilities that are no numbers.
    Source: ours. Semi-supervised evaluation of several models by a mixture of densities, Shanmugam et al. (2025), has
    the aim; `benchmarks.mixture` measures it beside this one.
    """
    truth, rows = np.asarray(labels), np.asarray(rows)
    outputs = np.asarray(probabilities)
    reference_outputs, answers = (
        (None, truth) if reference is None else (np.asarray(reference[0]), np.asarray(reference[1]))
    )
    classes = _number_of_classes(outputs, truth, rows, reference_outputs, answers)
    models, few = len(outputs), len(truth)
    rest = np.delete(np.arange(outputs.shape[1]), rows)
    limit = max(500, _NUMBERS // (models * classes))
    predicted, logs, base = _features(
        outputs[:, np.concatenate([rows, _spaced(rest, limit)])], classes
    )
    weight = _WEIGHT_ALONE
    if reference_outputs is not None:
        indices, weight = _spaced(np.arange(len(answers)), limit), _WEIGHT
        _, features, start = _features(reference_outputs[:, indices], classes)
        theta, *_ = _fit(start, features, answers[indices], np.repeat(_LOOSE, (1, models, classes)))
        base = base + logs @ theta[: 1 + models] + theta[1 + models :]
        logs[:, :, 0] = base - base.mean(axis=1, keepdims=True)
    centers, covariances, variances, chances = [], [], [], []
    for shift, chance in _SHIFTS.items():
        scale = _SCALE_ALONE if reference_outputs is None and outputs.ndim == 2 else _SCALE
        prior = np.repeat((scale, weight, shift), (1, models, classes))
        theta, covariance, loss = _fit(base[:few], logs[:few], truth, prior)
        # what the labels say for this prior, by Laplace's approximation
        chances.append(
            np.log(chance) - loss + np.linalg.slogdet(covariance)[1] / 2 - np.log(prior).sum()
        )
        value, gradient, square = _means(base, logs, theta, predicted)
        share, moved, away = np.zeros(models), gradient, np.zeros(models)
        if few:
            expected, slope, _ = _means(base[:few], logs[:few], theta, predicted[:, :few])
            right = (predicted[:, :few] == truth).mean(axis=1)
            share = _OWN**2 / (_OWN**2 + np.maximum(expected * (1 - expected), 0.02) / few)
            moved, away = gradient - share[:, None] * slope, right - expected
        covariances.append(moved @ covariance @ moved.T)
        variances.append(_OWN_INTERVAL**2 * (1 - share) + (square - value**2) / len(base))
        centers.append(value + share * away)
    chance = _softmax(np.array([chances]))[0]
    mean = chance @ centers
    away = centers - mean
    return mean, np.tensordot(chance, covariances, 1) + (away.T * chance) @ away, chance @ variances


def _number_of_classes(
    outputs: Array, truth: Array, rows: Array, reference_outputs: Array | None, answers: Array
) -> int:
    """How many classes there are, by the columns of probabilities, else by the largest; `UsageError` for answers,
    labels and positions that do not fit.
    """
    if truth.ndim != 1 or truth.shape != rows.shape or outputs.ndim not in (2, 3):
        shapes = f"{outputs.shape}, {truth.shape} and {rows.shape}"
        raise UsageError(
            f"expected answers of shape (model, row, ...) and a label a labelled row, got {shapes}"
        )
    if outputs.ndim == 3:
        classes = int(outputs.shape[2])
    else:
        coded = [truth, answers, outputs]
        if reference_outputs is not None and reference_outputs.ndim == 2:
            coded.append(reference_outputs)
        classes = max(2, *(int(codes.max(initial=0)) + 1 for codes in coded))
    for what, positions, limit in (
        ("classes", np.concatenate([truth, answers]), classes),
        ("rows", rows, outputs.shape[1]),
    ):
        if len(positions) and (positions.min() < 0 or positions.max() >= limit):
            raise UsageError(
                f"expected positions among {limit} {what}, got {positions.min()} to {positions.max()}"
            )
    if reference_outputs is not None and reference_outputs.shape != (
        len(outputs),
        len(answers),
        *outputs.shape[2:],
    ):
        raise UsageError(
            f"expected a reference of the same models and classes, a label a row, got shape {reference_outputs.shape}"
        )
    return classes


def _spaced(positions: Array, limit: int) -> Array:
    """At most so many of the positions, evenly spaced."""
    return positions[np.linspace(0, len(positions) - 1, min(limit, len(positions))).astype(np.intp)]


def _features(outputs: Array, classes: int) -> tuple[Array, Array, Array]:
    """Predicted classes, shape (model, row); g and each l_m, shape (row, class, 1 + model); g, shape (row, class)."""
    if outputs.ndim == 2:
        outputs = np.where(
            np.arange(classes) == outputs[:, :, None], _SAID, (1 - _SAID) / (classes - 1)
        )
    if not np.isfinite(outputs).all():
        raise InputError(
            "probabilities", got="nan or inf", remedy="give a number for each class of each row"
        )
    p = np.maximum(outputs, _FLOOR, dtype=np.float64)
    logs = np.log(np.concatenate([(p / p.sum(axis=2, keepdims=True)).mean(axis=0)[None], p]))
    logs = np.moveaxis(logs - logs.mean(axis=2, keepdims=True), 0, 2)
    return outputs.argmax(axis=2), logs, logs[:, :, 0].copy()


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _fit(
    base: Array, features: Array, truth: Array, prior: Sequence[float] | Array
) -> tuple[Array, Array, float]:
    """Weights of the features and shifts of the classes at the mode, their covariance, the loss; by Newton."""
    feature_count, rows = features.shape[2], np.arange(len(truth))
    precision = 1 / np.square(prior)

    def loss(theta: Array) -> float:
        q = _softmax(base + features @ theta[:feature_count] + theta[feature_count:])[rows, truth]
        return float(-np.log(np.maximum(q, 1e-300)).sum() + precision @ theta**2 / 2)

    theta = np.zeros(len(precision))
    before = loss(theta)
    for _ in range(_STEPS):
        q = _softmax(base + features @ theta[:feature_count] + theta[feature_count:])
        weighted = features * q[:, :, None]
        mean, off = weighted.sum(axis=1), q.copy()
        off[rows, truth] -= 1
        slope = (
            np.concatenate([np.tensordot(off, features, 2), off.sum(axis=0)]) + precision * theta
        )
        bend = np.diag(precision)
        bend[:feature_count, :feature_count] += (
            np.tensordot(weighted, features, ((0, 1), (0, 1))) - mean.T @ mean
        )
        bend[:feature_count, feature_count:] += weighted.sum(axis=0).T - mean.T @ q
        bend[feature_count:, :feature_count] = bend[:feature_count, feature_count:].T
        bend[feature_count:, feature_count:] += np.diag(q.sum(axis=0)) - q.T @ q
        step, length = np.linalg.solve(bend, slope), 1.0
        while (after := loss(theta - length * step)) > before and length > 1e-3:
            length /= 2
        if after > before:
            break
        theta, fell, before = theta - length * step, before - after, after
        if fell < 1e-9:
            break
    return theta, np.linalg.inv(bend), before


def _means(
    base: Array, features: Array, theta: Array, predicted: Array
) -> tuple[Array, Array, Array]:
    """Of p(predicted class) over rows: mean, its gradient, and mean square, with the model as the first axis."""
    feature_count, rows = features.shape[2], np.arange(len(base))
    q = _softmax(base + features @ theta[:feature_count] + theta[feature_count:])
    mean = np.einsum("nkp,nk->np", features, q)
    value, gradient, square = [], [], []
    for classes in predicted:
        chance = q[rows, classes]
        shift = np.bincount(classes, weights=chance, minlength=q.shape[1]) - chance @ q
        gradient.append(
            np.concatenate([chance @ (features[rows, classes] - mean), shift]) / len(chance)
        )
        value.append(chance.mean())
        square.append(np.square(chance).mean())
    return np.array(value), np.array(gradient), np.array(square)
