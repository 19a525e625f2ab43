"""Mandoline: reference accuracy re-weighted so that the user's slices are as frequent as on the target."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.domain_classifier import check_overlap, effective_rows, weighted_accuracy
from ..inference.folds import seeded_sample
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent
from .base import Estimator, Sums

_MOST_VALUES = 20
_RIDGE = 1e-4
_MOST_UNSEEN = 0.5
_MOST_ROWS = 20_000
_FEW_SLICES = 60  # up to so many the exact curvature is cheap
_LARGEST_MISMATCH = 0.02


@final
@register("estimator")
class Mandoline(Estimator):
    """``mandoline``: sum_i w_i correct_i / sum_i w_i, w = exp(theta . g(x)), g = one-hot slices of `group` and of every
    extra column with at most 20 values.

    theta maximises mean_T theta . g - log mean_S exp(theta . g) - 1e-4 |theta|^2 / 2 (KLIEP, log-linear): then every
    slice is as frequent on the weighted reference as on the target. For a single column this is post-stratification.
    A value that the reference never had is left out of its column's frequencies; its share is given and
    warned about. Variance: sum w^2 (c - v)^2 / (sum w)^2 + v(1-v)/n_T. `NotApplicable` without slices, below 30
    effective rows, or when more than half of the target has an unseen value. Source: Chen et al. (2021).

    >>> reference = Predictions.from_arrays(correct=[1] * 60 + [0, 1] * 20, group=["day"] * 60 + ["night"] * 40)
    >>> target = Predictions.from_arrays(confidence=[0.9] * 100, group=["day"] * 20 + ["night"] * 80)
    >>> round(Mandoline().fit(reference).estimate(target).value, 3)  # 0.2 * 1 + 0.8 * 0.5
    0.6
    """

    name = "mandoline"
    family = "covariate shift"
    order = 260
    cost = "slow"
    stable = "P(y | x)"
    needs = ()
    also_reads = ("group",)
    assumes = "within every combination of the given slices the accuracy is unchanged"
    citation = "chen2021"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        kept: dict[str, Array] | None = getattr(self, "_values", None)
        if kept is None:
            return (
                None
                if _slices(record)
                else "needs a column of 2 to 20 values to slice by, `group` in a file (--map theirs=group)"
            )
        lost = sorted(set(kept) - set(_columns(record)))
        return f"needs the columns {', '.join(lost)} to slice by, as in the reference" if lost else None

    def _fit(self, reference: Predictions) -> None:
        if len(reference) > _MOST_ROWS:
            reference = reference.take(seeded_sample(len(reference), _MOST_ROWS, self.seed))
        slices = _slices(reference)
        self._values = {name: np.unique(values) for name, values in slices.items()}
        codes = np.stack([np.searchsorted(self._values[k], v) for k, v in slices.items()])
        cells, cell = np.unique(codes, axis=1, return_inverse=True)
        self._cells: Array = np.hstack(
            [row[:, None] == np.arange(len(v)) for row, v in zip(cells, self._values.values(), strict=True)]
        ).astype(np.float64)
        self._cell_rows: Array = np.bincount(cell.ravel())
        self._cell_hits: Array = np.bincount(cell.ravel(), weights=reference.verdicts)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows of each value of each column, the last one of a column for values that the reference never had."""
        counts = []
        for name, values in self._values.items():
            seen = _names(_columns(batch)[name])
            assert seen is not None
            place = np.minimum(np.searchsorted(values, seen), len(values) - 1)
            code = np.where(values[place] == seen, place, len(values))
            counts.append(np.bincount(code, minlength=len(values) + 1))
        return Sums(rows=len(batch), counts=np.concatenate(counts))

    def finish(self, state: Sums) -> Estimate:
        """Weighted accuracy of the reference."""
        rows, warnings, means, start = state["rows"], [], [], 0
        unseen: dict[str, float] = {}
        for name, values in self._values.items():
            counts = state["counts"][start : start + len(values) + 1]
            start += len(counts)
            unseen[name] = float(counts[-1]) / rows
            if unseen[name] > _MOST_UNSEEN:
                raise NotApplicable(
                    f"{percent(unseen[name], 0)} of the target has a {name} that the reference never had"
                )
            if unseen[name]:
                warnings.append(f"{percent(unseen[name])} of the target has a {name} that the reference never had")
            means.append(counts[:-1] / counts[:-1].sum())
        goal = np.concatenate(means)
        log_weight = log_linear_tilt(self._cells, self._cell_rows, goal)
        weight = np.exp(log_weight - log_weight.max())
        mass = weight * self._cell_rows
        mismatch = float(np.abs(mass @ self._cells / mass.sum() - goal).max())
        if mismatch > _LARGEST_MISMATCH:
            warnings.append(
                f"no weights of the reference give the target's slices: one is off by {percent(mismatch)} of the rows"
            )
        hits, misses = self._cell_hits.astype(np.intp), (self._cell_rows - self._cell_hits).astype(np.intp)
        weights = np.concatenate([np.repeat(weight, hits), np.repeat(weight, misses)])
        verdicts = np.repeat([1, 0], [hits.sum(), misses.sum()])
        effective = effective_rows(weights)
        warnings += check_overlap(effective)
        ends = weighted_accuracy(weights, verdicts, rows, self.level)
        details = {
            "effective_rows": effective,
            "slices": list(self._values),
            "share_unseen": unseen,
            "mismatch": mismatch,
        }
        return self._estimate(state, *ends, details=details, warnings=tuple(warnings))


def log_linear_tilt(cells: Array, rows: Array, means: Array) -> Array:
    """theta . g of each cell, theta = argmax theta . means - log sum_c rows_c/n exp(theta . g_c) - ridge |theta|^2 / 2.

    cells: g of every distinct cell, shape (cell, slice); rows: reference rows, shape (cell,); means: mean of g on the
    target, shape (slice,). Concave, so that there is one answer wherever the search starts.

    >>> tilt = log_linear_tilt(np.eye(2), np.array([60, 40]), np.array([0.2, 0.8]))
    >>> weight = np.array([60, 40]) * np.exp(tilt)
    >>> (weight / weight.sum()).round(3).tolist()
    [0.2, 0.8]
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    base = np.log(rows / rows.sum())

    def loss(theta: Array) -> tuple[float, Array]:
        z = base + cells @ theta
        top = float(logsumexp(z))
        value = top - means @ theta + _RIDGE / 2 * theta @ theta
        return float(value), np.exp(z - top) @ cells - means + _RIDGE * theta

    def curvature(theta: Array) -> Array:
        z = base + cells @ theta
        share = np.exp(z - logsumexp(z))
        mean = share @ cells
        out: Array = (cells.T * share) @ cells - np.outer(mean, mean) + _RIDGE * np.eye(len(mean))
        return out

    start = np.zeros(cells.shape[1])
    if cells.shape[1] <= _FEW_SLICES:
        found = minimize(loss, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-8})
    else:
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 500})
    out: Array = cells @ found.x
    return out


def _columns(record: Predictions) -> dict[str, Array]:
    own = {} if record.group is None else {"group": record.group}
    return own | {k: v for k, v in sorted(record.columns.items()) if v.ndim == 1}


def _names(values: Array, most: int | None = None) -> Array | None:
    """Values as text, so that 1, 1.0 and "1" are one value however they were stored; None for more than ``most``."""
    plain = values.astype(str) if values.dtype.kind == "O" else values
    distinct, place = np.unique(plain, return_inverse=True)
    if most is not None and len(distinct) > most:
        return None
    text = np.array([str(v).removesuffix(".0") for v in distinct.tolist()], dtype=np.str_)
    out: Array = text[place.ravel()]
    return out


def _slices(record: Predictions) -> dict[str, Array]:
    """Columns of 2 to 20 values, as text."""
    named = {name: _names(values, _MOST_VALUES) for name, values in _columns(record).items()}
    return {name: v for name, v in named.items() if v is not None and len(np.unique(v)) > 1}
