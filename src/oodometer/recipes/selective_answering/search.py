"""Search: is a failure case beyond chance, and how often would a true one be seen? Simulated from the curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...metrics.failure_cases import COVERAGES, LEAST, TAIL, case_sizes, falling_accuracy
from ...metrics.resampling import REPLICATES
from ...metrics.spread import generator
from ...verbs.compare.model_comparison import SURE
from ..base import Progress
from ..kit.tables import rounded

CASES = {"tail": 1, "start": 2, "middle": 3, "end": 4, "often": 5, "strong": 6}
EFFECTS = (0.1, 0.2)
"""True inversions, in accuracy, at which the power of the search is simulated."""
_CHANCE = 2000  # curves of chance from which a p-value is read: few enough for a moment, many enough for twenty looks
_SAMPLES = 50  # simulated sets of rows for each model, case and inversion
_TENTH = len(COVERAGES) // 10
_LEAD = 0.01  # of AUC, the true lead of the model with the worse tail
_TAIL_LEAST = 0.005  # of accuracy, from which on `compare` speaks of a tail


@dataclass(frozen=True)
class _Steps:
    """Rows and errors in each step of coverage, (step,)."""

    rows: Array
    right: Array

    @property
    def falling(self) -> Array:
        """The nearest accuracy of the steps that never rises."""
        return _falling(self.right, self.rows)


def _steps_of(curve: Mapping[str, Any], rows: int) -> _Steps:
    """What a published curve was read from; errors of a tie are shares of rows."""
    answered = np.ceil(rows * COVERAGES - 1e-9)
    size = np.diff(answered, prepend=0.0)
    right = np.diff(np.asarray(curve["y"]) * answered, prepend=0.0)
    return _Steps(size, np.clip(right, 0, size))


def _falling(right: Array, rows: Array) -> Array:
    """The nearest accuracy that never rises; a step without rows has that of the step before."""
    used = rows > 0
    out = np.zeros(len(rows))
    out[used] = falling_accuracy(right[used], rows[used])
    return out[np.maximum.accumulate(np.where(used, np.arange(len(rows)), 0))]


def search_of(
    models: Sequence[Mapping[str, Any]], sets: Sequence[str], seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """p-values of cases 2 to 6 for each model and set, and the power of the search for each case and set.

    ``observed``: the size of each case in the curve, and the share of 2,000 curves of chance, itself counted in, that
    reach it; 1 where the size is not large enough to be called a case. ``power``: the share of simulated sets of rows
    in which `compare` would see the case if a model's accuracy were inverted as `inverted` does it, the mean and that
    of each model, and the ``rise`` of the true curve, on average (for "often" the number of its rises).
    """
    observed, power = [], []
    total, done = len(sets) * (1 + len(CASES) * len(EFFECTS)), 0
    for name in sets:
        steps = [_steps_of(model[name]["curve"], int(model[name]["rows"])) for model in models]
        for model, one in zip(models, steps, strict=True):
            observed.append({"model": model["name"], "set": name, **_observed(model[name]["curve"], one, seed)})
        done += 1
        for case in CASES:
            for effect in EFFECTS:
                found = [power_of(case, one.rows, one.falling, effect, seed, _SAMPLES) for one in steps]
                shares, rises = ([pair[i] for pair in found] for i in (0, 1))
                row = {"name": case, "case": CASES[case], "set": name, "effect": effect}
                row |= {"power": float(np.mean(shares)), "by_model": shares, "rise": float(np.mean(rises))}
                power.append(row)
                done += 1
                if progress is not None:
                    progress(done, total)
    return {"chance": _CHANCE, "samples": _SAMPLES, "observed": rounded(observed), "power": rounded(power)}


def _observed(curve: Mapping[str, Any], steps: _Steps, seed: int) -> dict[str, Any]:
    seen = case_sizes(np.asarray(curve["y"])[None])
    chance = case_sizes(_curves(steps.rows, steps.falling, _CHANCE, generator(seed, "chance")))
    out = {}
    for case, size in seen.items():
        reached = 1 + int((chance[case] >= size[0] - 1e-9).sum())
        p = reached / (1 + _CHANCE) if size[0] > LEAST[case] else 1.0
        out[case] = {"size": float(size[0]), "p": p}
    return out


def _curves(rows: Array, accuracy: Array, many: int, rng: np.random.Generator) -> Array:
    """Accuracy at each coverage of samples with these accuracies of the steps, (replicate, coverage)."""
    right = rng.binomial(rows.astype(np.int64), np.clip(accuracy, 0, 1), size=(many, len(rows)))
    return np.asarray(np.cumsum(right, axis=1) / np.cumsum(rows))


def inverted(case: str, rows: Array, accuracy: Array, effect: float) -> Array:
    """Accuracies of the steps of coverage with a true inversion of a size, where the case is looked for, (step,).

    start, strong: the first tenth of the rows is less accurate by ``effect`` than the tenth that follows; middle: so is
    the tenth from 20 to 30 % coverage; end: the last tenth is more accurate by ``effect`` than all rows before it, or
    without errors where that is less; often: in the surer half every second step is less accurate than the next one.

    >>> flat = inverted("start", np.full(100, 10), np.full(100, 0.9), 0.2)
    >>> flat[[0, 9, 10]].round(3).tolist()
    [0.7, 0.7, 0.9]
    """
    out = np.array(accuracy, dtype=np.float64)
    if case in ("start", "strong", "middle"):
        at = 2 * _TENTH if case == "middle" else 0
        after = slice(at + _TENTH, at + 2 * _TENTH)
        out[at : at + _TENTH] = np.average(accuracy[after], weights=rows[after]) - effect
    elif case == "end":
        out[-_TENTH:] = np.average(accuracy[:-_TENTH], weights=rows[:-_TENTH]) + effect
    elif case == "often":
        half = len(out) // 2
        out[:half:2] = accuracy[1 : half + 1 : 2] - effect
    else:
        raise ValueError(case)
    return np.clip(out, 0, 1)


def power_of(case: str, rows: Array, accuracy: Array, effect: float, seed: int, samples: int) -> tuple[float, float]:
    """How often a case is seen that is there, and how large it truly is.

    A case of one model is seen as `FailureCases` sees it: beyond every one of 200 curves of chance, whose accuracy is
    fitted to each simulated set of rows anew.
    """
    rng = generator(seed, f"{case} {effect:g}")
    if case == "tail":
        # case 1: two models, the one less accurate by ``effect`` in the first fifth and ahead by 1 point of AUC
        first = COVERAGES <= TAIL + 1e-9
        worse, better = np.array(accuracy), np.array(accuracy)
        worse[first] = np.clip(accuracy[first] - effect, 0, 1)
        lost = float(_area(accuracy * rows, rows) - _area(worse * rows, rows)) + _LEAD
        better[~first] -= lost / float(_area(np.where(first, 0.0, rows), rows))
        better = np.clip(better, 0, 1)
        seen = 0
        for _ in range(samples):
            drawn = [rng.binomial(rows.astype(np.int64), one) for one in (worse, better)]
            a, b = (_resampled(rows, one, rng) for one in drawn)
            share = float(((_early(*b, first) > _early(*a, first)) & (_area(*a) > _area(*b))).mean())
            gap = float(_early(drawn[1], rows, first) - _early(drawn[0], rows, first))
            seen += bool(gap >= _TAIL_LEAST and share >= SURE)
        return seen / samples, float(_early(better * rows, rows, first) - _early(worse * rows, rows, first))
    truth = inverted(case, rows, accuracy, effect)
    expected = case_sizes((np.cumsum(truth * rows) / np.cumsum(rows))[None])[case]
    curves = _curves(rows, truth, samples, rng)
    right = np.diff(curves * np.cumsum(rows), prepend=0.0, axis=1)
    seen = 0
    for size, one in zip(case_sizes(curves)[case], right, strict=True):
        chance = case_sizes(_curves(rows, _falling(one, rows), REPLICATES, rng))[case]
        seen += bool(size > max(LEAST[case], float(chance.max())))
    return seen / samples, float(expected[0])


def _resampled(rows: Array, right: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Correct rows of each step in bootstrap replicates, and all rows, (replicate, step)."""
    hits = rng.poisson(right, size=(REPLICATES, len(rows)))
    return hits, hits + rng.poisson(rows - right, size=hits.shape)


def _accuracy(right: Array, rows: Array) -> Array:
    """Accuracy at each coverage, of correct rows and rows by step."""
    return np.asarray(np.cumsum(right, axis=-1) / np.maximum(np.cumsum(rows, axis=-1), 1))


def _area(right: Array, rows: Array) -> Array:
    """Mean accuracy over coverage."""
    return np.asarray(_accuracy(right, rows).mean(axis=-1))


def _early(right: Array, rows: Array, first: Array) -> Array:
    """Mean accuracy over the first coverages."""
    return np.asarray(_accuracy(right, rows)[..., first].mean(axis=-1))
