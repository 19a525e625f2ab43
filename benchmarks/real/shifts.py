"""Shifts made by re-drawing real rows: random halves, other class shares, other shares of subgroups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oodometer import Predictions

from .data import Floats, Ints, Outputs

SUBGROUPS = 10
_SMALLEST = 1e-6  # probabilities below it are alike to the clustering: 20news holds exact zeros


@dataclass(frozen=True)
class Shift:
    """How a target is drawn from the half that is no reference; `alpha` of the Dirichlet shares, small = strong."""

    name: str
    by: str = ""  # "label" or "subgroup"; empty for no shift
    alpha: float = 0.0


SHIFTS = (Shift("none"), Shift("label, alpha 1", "label", 1.0), Shift("label, alpha 0.1", "label", 0.1),
    Shift("subgroup, alpha 1", "subgroup", 1.0), Shift("subgroup, alpha 0.1", "subgroup", 0.1))  # fmt: skip


def subgroups(probabilities: Floats, *, count: int = SUBGROUPS, seed: int = 0, rounds: int = 50) -> Ints:
    """k-means clusters of log-probabilities, shape (sample,): Lloyd's rounds from distant seeded starts.

    Written out, because the clusters must not depend on the version of a library.
    """
    points = np.log(np.maximum(probabilities, _SMALLEST))
    rng = np.random.default_rng([seed, 0xC1])
    centres = points[[int(rng.integers(len(points)))]]
    while len(centres) < count:  # k-means++: far points are likely starts
        nearest = _squares(points, centres).min(axis=1)
        pick = int(np.searchsorted(np.cumsum(nearest), rng.random() * nearest.sum()))
        centres = np.vstack([centres, points[min(pick, len(points) - 1)]])
    group = np.full(len(points), -1)
    for _ in range(rounds):
        fresh = _squares(points, centres).argmin(axis=1)
        if (fresh == group).all():
            break
        group = fresh
        for k in np.unique(group):
            centres[k] = points[group == k].mean(axis=0)
    return group


def _squares(points: Floats, centres: Floats) -> Floats:
    """Squared distances, shape (sample, centre)."""
    return np.stack([np.square(points - c).sum(axis=1) for c in centres], axis=1)


def redraw(group: Ints, alpha: float, rng: np.random.Generator) -> Ints:
    """Rows drawn without replacement so that the groups have Dirichlet(alpha) shares, as many rows as they allow."""
    sizes = np.bincount(group)
    present = np.flatnonzero(sizes)
    shares = rng.dirichlet(np.full(len(present), alpha))
    total = float(np.min(sizes[present] / np.maximum(shares, 1e-12)))
    wanted = np.floor(total * shares + 1e-9).astype(int)
    return np.concatenate(
        [rng.choice(np.flatnonzero(group == k), size=n, replace=False) for k, n in zip(present, wanted, strict=True)]
    )


@dataclass(frozen=True)
class Draw:
    """A labelled reference, an unlabelled target and the accuracy of the target's rows."""

    reference: Predictions
    target: Predictions
    truth: float


def draws(outputs: Outputs, shift: Shift, seeds: range) -> Iterator[tuple[int, Draw]]:
    """One draw for each seed: a random half is the reference, the target is drawn from the other half."""
    groups = outputs.label if shift.by == "label" else subgroups(outputs.probabilities) if shift.by else None
    right = outputs.right
    for seed in seeds:
        rng = np.random.default_rng([seed, 0x5EA])
        rows = rng.permutation(len(right))
        half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        chosen = rest if groups is None else rest[redraw(groups[rest], shift.alpha, rng)]
        yield (seed,
            Draw(outputs.record(half, labelled=True), outputs.record(chosen, labelled=False),
            float(right[chosen].mean())))  # fmt: skip
