"""Selection: whether labelled rows look like a random sample, by what the model says of them and of the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array

LEVEL = 0.001  # below which p-value labelled rows are said to be no random sample
_LEAST = 5.0  # labelled rows of a class to expect; rarer ones are taken together
_LEAST_LABELS = 10


def unlike(confidence: Array, said: Array, labels: Array | None = None) -> str | None:
    """Why the labelled rows can hardly be a random sample, or None.

    Counts of labelled rows (first) and of the others (second): ``confidence`` by its cell, in order, shape (2, cell),
    compared by a rank test (Wilcoxon, Mann and Whitney, with ties); ``said`` by predicted class, shape (2, class), by a
    chi-squared test. ``labels``, (class,), are the labels: that all are of one class while the model predicts others,
    too, is as likely as that many random rows are all predicted as it. Each of the tests has a third of `LEVEL`.

    >>> print(unlike(np.array([[0, 30], [50, 50]]), np.array([[15, 15], [50, 50]])))
    their confidence is higher than that of the other rows (rank test, p = 8.7e-07)
    >>> unlike(np.array([[15, 15], [50, 50]]), np.array([[15, 15], [50, 50]]), np.array([14, 16])) is None
    True
    """
    found = []
    (n, m), total = confidence.sum(axis=1).astype(float), confidence.sum(axis=0).astype(float)
    if n >= _LEAST_LABELS and m:
        rows = n + m
        rank = np.cumsum(total) - (total - 1) / 2
        spread = n * m / 12 * (rows + 1 - float((total**3 - total).sum()) / (rows * (rows - 1)))
        z = (float(confidence[0] @ rank) - n * (rows + 1) / 2) / math.sqrt(spread) if spread > 0 else 0.0
        than = "higher" if z > 0 else "lower"
        p = math.erfc(abs(z) / math.sqrt(2))
        found.append((p, f"their confidence is {than} than that of the other rows (rank test, p = {_shown(p)})"))
    n, m = said.sum(axis=1).astype(float)
    expected = said.sum(axis=0) * n / max(n + m, 1)
    rare = expected < _LEAST
    cells = np.column_stack([said[:, ~rare], said[:, rare].sum(axis=1)]) if rare.any() else said
    cells = cells[:, cells.sum(axis=0) > 0].astype(float)
    if n >= _LEAST_LABELS and m and cells.shape[1] > 1:
        from scipy.special import chdtrc

        wanted = np.outer([n, m], cells.sum(axis=0)) / (n + m)
        if wanted.min() >= 1:
            p = float(chdtrc(cells.shape[1] - 1, float(((cells - wanted) ** 2 / wanted).sum())))
            why = f"other classes are predicted for them than for the other rows (chi-squared test, p = {_shown(p)})"
            found.append((p, why))
    if labels is not None and m and labels.sum() >= _LEAST_LABELS and np.count_nonzero(labels) == 1:
        share = (float(said[:, int(np.argmax(labels))].sum()) + 1) / (float(said.sum()) + 2)
        p = share ** float(labels.sum())
        found.append((p, f"all of them are of one class, as is predicted for {100 * share:.0f} % of all rows"))
    p, why = min(found, default=(1.0, ""))
    return why if p < LEVEL / 3 else None


def _shown(p: float) -> str:
    return f"{p:.1e}" if p >= 1e-99 else "0"


def of_state(state: Any) -> str | None:
    """The same of the counts of a pass; None where there are none."""
    return None if state is None else unlike(state["confidence"], state["said"], state["labels"])
