"""Expected confusion: precision, recall, F1 and AUC without labels, from counts of calibrated cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BinnedMap, bin_centres, bins_for
from ..intervals import from_spread
from ..kernels import others_and_mass
from ..results import Interval, Kind

__all__ = ["Cells", "count_others", "expected_confusion", "expected_metrics"]

_REPLICATES = 60
_VALUES_AT_A_TIME = 1 << 20  # cells of replicates drawn together
_REDRAWN_BINS = 120  # a divisor of every number of bins
_LARGEST_CONFUSION = 100  # classes up to which the matrix itself is printed


class Cells(NamedTuple):
    """Counts of a target.

    Parameters
    ----------
    top : rows by (predicted class, bin of its probability).
    others : rows by (class, bin of its probability) where the class was not the predicted one.
    mass : summed probability of class k over rows predicted j, axes (j, k), diagonal zero.
    map : rate of being correct for each cell of ``top``.
    """

    top: Array
    others: Array
    mass: Array
    map: BinnedMap


def count_others(probabilities: Array, predicted: Array, *, is_argmax: bool = True) -> dict[str, Array]:
    """``others`` and ``mass`` of `Cells` for one batch of probabilities with axes (sample, class).

    A class that is not the most probable one has a probability of at most one half, so that a shift of its bits is
    its bin: one pass and no logarithm. (``is_argmax`` false: a calibrator may have moved the argmax.)

    >>> count_others(np.array([[0.9, 0.1]]), np.array([0]))["mass"].tolist()
    [[0.0, 0.1], [0.0, 0.0]]
    """
    width = bins_for(probabilities.shape[1])
    others, mass = others_and_mass(probabilities, predicted, width, is_argmax=is_argmax)
    return {"others": others, "mass": mass}


def _ratio(a: Array, b: Array) -> Array:
    """a / b, 0 where b is 0 (the convention of precision and recall without a case)."""
    out = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    np.divide(a, b, out=out, where=b > 0)
    return out


def expected_confusion(predicted: Array, found: Array, mass: Array) -> Array:
    """C[j, k], expected samples predicted j whose truth is k: ``found`` on the diagonal, errors spread by ``mass``.

    predicted and found have axes (class,), mass (class, class) with a zero diagonal; rows sum to ``predicted``.

    >>> expected_confusion(np.array([10.0, 0.0]), np.array([8.0, 0.0]), np.array([[0.0, 4.0], [0.0, 0.0]])).tolist()
    [[8.0, 2.0], [0.0, 0.0]]
    """
    total = mass.sum(axis=1)
    out: Array = mass * _ratio(predicted - found, total)[:, None]
    out[np.diag_indices(len(out))] = np.where(total > 0, found, predicted)
    return out


def class_metrics(cells: Cells, right: Array, rng: np.random.Generator | None = None) -> Array:
    """Precision, recall, F1 and AUC of each class; shape (4, class), or (4, replicate, class) of several at once.

    right: (expected) correct samples of each cell of ``cells.top``. With ``rng`` the samples of each class that were
    taken for another one are drawn, not only expected. AUC of class k against the rest, ties in a bin counted half:
    sum_b neg_b (pos above b + pos_b / 2) / (pos neg).
    """
    top = cells.top
    predicted, found = top.sum(axis=-1), right.sum(axis=-1)
    errors = _ratio(predicted - found, cells.mass.sum(axis=1))
    missed = np.einsum("jk,...j->...k", cells.mass, errors)
    share = cells.others * bin_centres(top.shape[-1])
    elsewhere = share * _ratio(missed, share.sum(axis=-1))[..., None]
    if rng is not None:
        elsewhere = rng.poisson(elsewhere).astype(np.float64)
        missed = elsewhere.sum(axis=-1)
    actual = found + missed
    precision, recall = _ratio(found, predicted), _ratio(found, actual)
    f1 = _ratio(2 * found, predicted + actual)
    positive = right + elsewhere
    negative = np.maximum(top + cells.others - positive, 0)
    above = positive.sum(axis=-1, keepdims=True) - np.cumsum(positive, axis=-1)
    above += positive / 2
    wins = np.einsum("...b,...b->...", negative, above)
    auc = _ratio(wins, positive.sum(axis=-1) * negative.sum(axis=-1))
    out: Array = np.clip(np.stack([precision, recall, f1, auc]), 0, 1)
    return out


def expected_metrics(
    cells: Cells, names: tuple[int | str, ...], *, level: float, kind: Kind, seed: int
) -> dict[str, Any]:
    """Macro and per-class metrics with intervals, and the expected confusion matrix.

    The interval is a seeded parametric bootstrap over cells: the target's counts and the labels in them are
    redrawn, and the map as another reference would have given it. Classes that are neither predicted nor expected leave
    the macro mean.
    """
    right = cells.top * cells.map.rate
    found = right.sum(axis=1)
    point = class_metrics(cells, right)
    present = (cells.top.sum(axis=1) > 0) | (cells.mass.sum(axis=0) >= 0.5)
    if not present.any():
        present[:] = True
    rng = np.random.default_rng([seed, 0xCB9E])
    coarse = cells._replace(top=_merge_bins(cells.top), others=_merge_bins(cells.others))
    step = max(_VALUES_AT_A_TIME // coarse.top.size, 1)
    groups = [min(step, _REPLICATES - start) for start in range(0, _REPLICATES, step)]
    draws = np.concatenate([_redraw(cells, coarse, many, rng) for many in groups])
    metrics = {}
    for i, metric in enumerate(("macro_precision", "macro_recall", "macro_f1", "macro_auc")):
        value = float(point[i][present].mean())
        lower, upper = from_spread(draws[:, i][:, present].mean(axis=1), value, level)
        metrics[metric] = Interval(value, lower, upper, level, kind).to_dict()
    per_class = []
    for k, name in enumerate(names):
        row: dict[str, Any] = {"class": name, "predicted_rows": int(cells.top[k].sum())}
        for i, metric in enumerate(("precision", "recall", "f1", "auc")):
            value = float(point[i, k])
            lower, upper = from_spread(draws[:, i, k], value, level)
            row[metric] = Interval(value, lower, upper, level, kind).to_dict()
        per_class.append(row)
    out: dict[str, Any] = {"metrics": metrics, "per_class": per_class}
    if len(names) <= _LARGEST_CONFUSION:
        out["confusion"] = expected_confusion(cells.top.sum(axis=1), found, cells.mass)
    return out


def _redraw(cells: Cells, coarse: Cells, many: int, rng: np.random.Generator) -> Array:
    """Class metrics of redrawn targets and references, axes (replicate, metric, class).

    In coarse bins: the spread needs no finer ones.
    """
    rates = [_merge_bins(cells.top * cells.map.redraw(rng)) for _ in range(many)]
    rate = np.stack(rates) / np.maximum(coarse.top, 1)
    top, others = (rng.poisson(counts, (many, *counts.shape)) for counts in (coarse.top, coarse.others))
    right = rng.binomial(top, np.clip(rate, 0, 1))
    again = coarse._replace(top=top.astype(np.float64), others=others.astype(np.float64))
    drawn: Array = class_metrics(again, right.astype(np.float64), rng)
    return np.moveaxis(drawn, 1, 0)


def _merge_bins(values: Array) -> Array:
    """Sums over neighbouring bins (the last axis), so that at most `_REDRAWN_BINS` are left."""
    classes, width = values.shape
    merged: Array = values.reshape(classes, min(width, _REDRAWN_BINS), -1).sum(axis=2)
    return merged
