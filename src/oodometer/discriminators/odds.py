"""Odds: from the log odds that a network gives to a probability that means something, whatever it was trained on."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

_RANGE = (-3.0, 3.0)  # of log t


def probability(margins: Array, *, trained: float, share: float | None = 0.5, temperature: float = 1.0) -> Array:
    """P(Correct) = sigmoid((m - logit(trained)) / t + logit(share)), float32, shape (sample,).

    m is the log odds of Correct that a network gives after training on pairs of which the share ``trained`` was
    correct; without logit(trained) it is a log-likelihood ratio, which does not depend on that share. ``share`` is the
    share of correct outputs that P shall hold for, None that of the training. Source: Saerens et al. (2002).

    >>> probability(np.log([0.9 / 0.1]), trained=0.9).round(3).tolist()  # as likely correct as everything else
    [0.5]
    >>> print(probability(np.log([0.9 / 0.1]), trained=0.9, share=None))
    [0.9]
    """
    from scipy.special import expit, logit

    ratio = (np.asarray(margins, dtype=np.float64) - logit(trained)) / temperature
    out: Array = expit(ratio + logit(trained if share is None else share)).astype(np.float32)
    return out


def fit_temperature(margins: Array, correct: Array, *, trained: float) -> float:
    """The t in [e^-3, e^3] of `probability` under which the verdicts of a dev set are most likely.

    The dev set's own share of correct outputs is taken for ``share``. A verdict counts as certain but for one case in
    n + 2, n the verdicts of its kind, so that a dev set without any error does not make P certain. 1 where the dev set
    has one class only. Source: Guo et al. (2017); Platt (1999) for the certainty.

    >>> m = np.array([4.0] * 400 + [-4.0] * 400)
    >>> round(fit_temperature(m, np.array(([1] * 300 + [0] * 100) + ([0] * 300 + [1] * 100)), trained=0.5), 1)
    3.7
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logit

    right = np.asarray(correct, dtype=bool)
    if right.all() or not right.any():
        return 1.0
    ratio = np.asarray(margins, dtype=np.float64) - logit(trained)
    prior, many = logit(right.mean()), int(right.sum())
    sure = np.where(right, (many + 1) / (many + 2), 1 / (len(right) - many + 2))

    def loss(log_t: float) -> float:
        log_odds = ratio * np.exp(-log_t) + prior
        return float((np.logaddexp(0, log_odds) - sure * log_odds).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x))
