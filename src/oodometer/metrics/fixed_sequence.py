"""Fixed sequences: which of many thresholds keep a required accuracy, tested from strict to lenient, several starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


STARTS = 5
_FEWEST, _MOST = 5, 100  # rows whose confidences become thresholds
_ROWS_A_THRESHOLD = 25
_ROOM = 1.5  # times as many rows as a proof without an error needs, where the first start lies


def rows_set_aside(rows: int) -> int:
    """How many rows give their confidence as a threshold and are no part of a test: n / 25, 5 to 100.

    >>> rows_set_aside(1000), rows_set_aside(10), rows_set_aside(1)
    (40, 5, 0)
    """
    return min(int(np.clip(rows // _ROWS_A_THRESHOLD, _FEWEST, _MOST)), rows // 2)


def fewest_rows(accuracy: float, alpha: float) -> int:
    """The number of rows below which not even a file without an error proves the accuracy.

    >>> fewest_rows(0.9, 0.05)
    34
    """
    rows = least = _tested(accuracy, alpha)
    while rows - rows_set_aside(rows) < least:
        rows += 1
    return rows


def _tested(accuracy: float, alpha: float) -> int:
    return math.ceil(math.log(alpha) / math.log(accuracy))


def starts_of(accuracy: float, thresholds: int, rows: int, alpha: float) -> Float[Array, " t"]:
    """What part of an accuracy's level starts at each threshold, strict to lenient; nothing here reads a verdict.

    A fifth at each of five starts: at squares of equal steps, from where 1.5 times as many of the ``rows`` are
    answered as prove the accuracy without an error at ``alpha`` / 5, to the last threshold, which answers all.

    >>> starts_of(0.9, 9, 600, 0.05).tolist()
    [0.4, 0.0, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0, 0.2]
    """
    first = math.ceil(_ROOM * _tested(accuracy, alpha / STARTS) / max(rows, 1) * thresholds) - 1
    first = min(first, thresholds - 1)
    at = first + (thresholds - 1 - first) * np.linspace(0, 1, STARTS) ** 2
    return np.bincount(np.rint(at).astype(int), minlength=thresholds) / STARTS


def parts_of(required: Sequence[float], rows: int, alpha: float) -> Float[Array, " accuracy"]:
    """Equal parts of ``alpha`` for the accuracies that ``rows`` rows can reach, or for all where they reach none.

    >>> parts_of([0.9, 0.95, 0.99], 500, 0.05).tolist()
    [0.025, 0.025, 0.0]
    """
    use = np.array([_ROOM * _tested(a, alpha / len(required)) <= rows for a in required])
    use |= not use.any()
    return np.where(use, alpha / use.sum(), 0.0)


def binomial_tails(hits: Array, trials: Array, required: Sequence[float]) -> Float[Array, "accuracy t"]:
    """P(X >= hits) for X ~ Binomial(trials, accuracy), of each required accuracy; 1 where nothing was hit.

    >>> binomial_tails(np.array([3.0, 0.0]), np.array([3.0, 2.0]), [0.5]).tolist()
    [[0.125, 1.0]]
    """
    from scipy.special import betainc

    h, m, a = np.asarray(hits), np.asarray(trials), np.asarray(required)[:, None]
    return np.where(h > 0, betainc(np.maximum(h, 1e-9), m - h + 1, a), 1.0)


def rejected(
    tails: Float[Array, "accuracy t"], starts: Float[Array, "accuracy t"], parts: Float[Array, " accuracy"]
) -> Bool[Array, "accuracy t"]:
    """Which hypotheses "from threshold t on the accuracy is below a" are rejected, all at the level that parts sum to.

    An accuracy's part is laid at its ``starts`` (which sum to 1). What lies at a threshold goes on to the next, more
    lenient one as soon as the hypothesis there is rejected, and after the last to the starts of the next higher
    accuracy. A hypothesis is tested at all that lies there for its own accuracy and for higher ones, whose hypotheses
    it follows from. These are fixed sequences (Bauer 1991) with fallback (Wiens and Dmitrienko 2005), valid as a
    sequentially rejective procedure (Goeman and Solari 2010). Accuracies ascend, and ``tails`` ascend with them.

    >>> start, part = np.array([[0.5, 0.5, 0.0]]), np.array([0.05])
    >>> rejected(np.array([[0.01, 0.04, 0.03]]), start, part).tolist()
    [[True, True, True]]
    >>> rejected(np.array([[0.03, 0.02, 0.03]]), start, part).tolist()
    [[False, True, False]]
    """
    p, shares, lies = tails.tolist(), starts.tolist(), (starts * parts[:, None]).tolist()
    done = [[False] * tails.shape[1] for _ in p]
    changed = True
    while changed:
        changed, passed = False, 0.0
        for a, own in enumerate(parts.tolist()):
            carried = 0.0
            for t, share in enumerate(shares[a]):
                mass = share * (own + passed) + carried
                if not done[a][t]:
                    level = mass + sum([other[t] for other in lies[a + 1 :]])
                    if level > 0 and p[a][t] <= level:
                        changed = True
                        for lower in range(a + 1):
                            done[lower][t], lies[lower][t] = True, 0.0
                lies[a][t], carried = (0.0, mass) if done[a][t] else (mass, 0.0)
            passed = carried
    return np.array(done)
