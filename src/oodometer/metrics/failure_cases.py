"""Failure cases of an accuracy-coverage curve: where accuracy rises with coverage, and plateaus of sure mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import clopper_pearson
from ..plain import Json
from ..registry import register
from ..results import percent
from .ranks import Groups, RankMetric, Ranks
from .resampling import FEW_ROWS, REPLICATES, RankBins, generator, rank_bins, resampled

Sizes = Mapping[str, Array]
_STEPS, _CELLS = 100, 512
REGIONS = {"start": (0.0, 0.2), "middle": (0.2, 0.8), "end": (0.8, 1.0)}
TAIL = 0.2  # the share of the rows, the most confident, where applications that tolerate no errors work
_WHERE = {
    "start": "in the first 20 % of coverage",
    "middle": "between 20 and 80 % of coverage",
    "end": "in the last 20 % of coverage",
    "strong": "strongly",
}
# smaller rises are no one's business, however certain
_RISE = {
    "start": 0.02,
    "middle": 0.01,
    "end": 0.01,
}
_STRONG = 0.05
_STEP_UP, _OFTEN = 0.001, 10
COVERAGES = np.arange(1, _STEPS + 1) / _STEPS
LEAST = {**_RISE, "strong": _STRONG, "often": _OFTEN - 1}
"""The size that cases 2 to 6 must go beyond, whatever chance may give: a rise, or for "often" a number of rises."""
_WIDE, _FLAT, _HIGH, _ALIKE, _GAP = 0.3, 0.02, 0.9, 0.05, 0.02


@register("metric")
class FailureCases(RankMetric[list[dict[str, Any]]]):
    """A table of six cases, each with ``seen``, the numbers that show it, ``share`` and a sentence.

    ============= ===== ====================================================================================
    name          case  seen where, on 100 steps of coverage
    ============= ===== ====================================================================================
    start         2     accuracy climbs by 2 points or more inside the first 20 % of coverage
    middle        3     by 1 point or more between 20 and 80 %
    end           4     by 1 point or more in the last 20 %
    often         5     at 10 steps or more accuracy rises by 0.1 point or more
    strong        6     accuracy climbs by 5 points or more, anywhere
    plateau       -     over 30 % of coverage or more accuracy varies by 2 points at most, confidence stays above
                        0.9 and varies by 0.05 at most, and the rows there are less often correct than they
                        say: by 2 points, and beyond the exact interval
    ============= ===== ====================================================================================

    A climb is the largest rise from one point of the curve to a later one. Numbers and borders are this library's
    reading: the source draws its cases without defining them. Its case 1, the tail, needs two models and is found by
    `compare`. Chance alone makes curves climb, so cases 2 to 6 must also go beyond every one of 200 curves whose errors
    are redrawn from the nearest accuracy that only falls (isotonic regression over ranks). ``share`` is how often the
    same is found in bootstrap replicates, whose own noise adds climbs. Source: Mishra, Arunkumar and Baral (2022).

    >>> from oodometer import Predictions
    >>> sure, unsure = [0.99] * 100 + [0.98] * 100, [0.6] * 300
    >>> r = Predictions.from_confidence(sure + unsure, correct=[0, 1] * 50 + [1] * 100 + [1] * 300)
    >>> [case["name"] for case in FailureCases().compute(r) if case["seen"]]
    ['middle', 'end', 'strong', 'often']
    """

    name = "failure_cases"
    bigger_is_better = None
    citation = "mishra2022"
    gives = "table"

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> list[Json]:
        """The table; the level is that of the exact interval in a plateau."""
        if state.rows < FEW_ROWS:
            raise NotApplicable(
                f"needs at least {FEW_ROWS} labelled rows to tell a case from chance; got {state.rows}"
            )
        groups = state.groups
        seen = rank_bins(groups).at_coverages(COVERAGES).accuracy
        again = resampled(groups, seed).at_coverages(COVERAGES).accuracy
        # curves whose accuracy never rises with rank: errors redrawn cell by cell from the isotonic fit
        cells = groups.joined(_CELLS)
        cell_sizes = cells.sizes.astype(np.int64)
        risk = np.clip(1 - falling_accuracy(cells.correct, cell_sizes), 0, 1)
        wrong = generator(seed, "falling").binomial(
            cell_sizes, risk, size=(REPLICATES, len(cell_sizes))
        )
        answered = np.broadcast_to(cells.answered, wrong.shape)
        errors = np.cumsum(wrong, axis=1).astype(np.float64)
        falling = RankBins(answered, errors, cells.highest, cells.lowest, cells.widths is not None)
        chance = falling.at_coverages(COVERAGES).accuracy
        sizes = (case_sizes(seen), case_sizes(again), case_sizes(chance))
        return [*_climbs(seen, *sizes), _often(seen, *sizes), _plateau(groups, seed, level)]


def falling_accuracy(correct: Array, sizes: Array) -> Array:
    """The nearest accuracy that never rises with rank, cell by cell (isotonic regression), (cell,).

    Cells are pooled from the last one on, in the order of sums of `scipy.optimize.isotonic_regression`, to the same
    bit: that library takes 0.15 s to load.
    """
    rates, rows = (correct / sizes)[::-1].tolist(), sizes[::-1].astype(float).tolist()
    values, weights, lengths = rates[:1], rows[:1], [1]
    at = 1
    while at < len(rates):
        value, weight, begin = rates[at], rows[at], at
        at += 1
        if values[-1] >= value:
            pooled = weight * value + weights[-1] * values.pop()
            weight += weights.pop()
            begin -= lengths.pop()
            value = pooled / weight
            while at < len(rates) and value >= rates[at]:
                pooled += rows[at] * rates[at]
                weight += rows[at]
                value = pooled / weight
                at += 1
            while values and values[-1] >= value:
                pooled += weights[-1] * values.pop()
                weight += weights.pop()
                begin -= lengths.pop()
                value = pooled / weight
        values.append(value)
        weights.append(weight)
        lengths.append(at - begin)
    return np.repeat(values, lengths)[::-1]


def _part(name: str) -> Array:
    """Which of the steps of coverage a case is about."""
    low, high = REGIONS.get(name, (0.0, 1.0))
    return (low + 1e-9 < COVERAGES) & (high + 1e-9 >= COVERAGES)


def case_sizes(accuracy: Array) -> dict[str, Array]:
    """How far many curves at `COVERAGES` show cases 2 to 6: name -> largest rise, or number of rises, (replicate,)."""
    out = {}
    for name in (*REGIONS, "strong"):
        part = accuracy[:, _part(name)]
        # from a point to a later one
        out[name] = (part - np.minimum.accumulate(part, axis=1)).max(axis=1)
    out["often"] = (np.diff(accuracy, axis=1) >= _STEP_UP).sum(axis=1)
    return out


def _critical(name: str, chance: Sizes) -> float:
    return max(LEAST[name], float(chance[name].max()))


def _climbs(accuracy: Array, seen: Sizes, again: Sizes, chance: Sizes) -> list[Json]:
    out = []
    for case, name in enumerate([*REGIONS, "strong"], 2):
        region = _part(name)
        value, bound = float(seen[name][0]), _critical(name, chance)
        part, x = accuracy[0, region], COVERAGES[region]
        top = int((part - np.minimum.accumulate(part)).argmax())
        bottom = int(part[: top + 1].argmin())
        is_seen, where = value > bound, _WHERE[name]
        say = (
            f"accuracy rises {where}, from {percent(part[bottom])} at {percent(x[bottom])} coverage to "
            f"{percent(part[top])} at {percent(x[top])}: the rows answered first are worse than those that follow"
            if is_seen
            else f"accuracy does not rise {where} by more than chance explains"
        )
        row = {
            "name": name,
            "case": 6 if name == "strong" else case,
            "seen": is_seen,
            "share": float((again[name] > bound).mean()),
            "rise": value,
            "beyond": bound,
            "from_coverage": float(x[bottom]),
            "to_coverage": float(x[top]),
            "from_accuracy": float(part[bottom]),
            "to_accuracy": float(part[top]),
        }
        out.append(row | {"sentence": say})
    return out


def _often(accuracy: Array, seen: Sizes, again: Sizes, chance: Sizes) -> Json:
    value, bound = int(seen["often"][0]), _critical("often", chance)
    steps = np.flatnonzero(np.diff(accuracy[0]) >= _STEP_UP)
    is_seen = value > bound
    say = "accuracy does not rise more often than chance explains"
    if is_seen:
        say = f"accuracy rises at {value} of {_STEPS - 1} steps of coverage: confidence orders the rows badly all along"
    row: Json = {
        "name": "often",
        "case": 5,
        "seen": is_seen,
        "share": float((again["often"] > bound).mean()),
        "rises": value,
        "beyond": bound,
    }
    return row | {"at_coverages": COVERAGES[steps + 1].tolist(), "sentence": say}


def _plateau(groups: Groups, seed: int, level: float) -> Json:
    """The widest stretch of ranks in which accuracy and confidence hardly vary though confidence is high."""
    out: Json = {"name": "plateau", "case": None, "seen": False, "share": 0.0}
    if groups.highest[0] > 1 or groups.lowest[-1] < 0:
        return out | {
            "sentence": "rows are not ordered by a confidence in [0, 1], so no plateau can be found"
        }
    points = rank_bins(groups).at_coverages(COVERAGES)
    accuracy, confidence = points.accuracy[0], points.confidence[0].astype(np.float64)
    best = (0, 0)
    for i in range(_STEPS):
        flat = (
            np.maximum.accumulate(accuracy[i:]) - np.minimum.accumulate(accuracy[i:])
            <= _FLAT + 1e-12
        )
        fits = flat & (confidence[i:] >= _HIGH) & (confidence[i] - confidence[i:] <= _ALIKE)
        width = len(fits) if fits.all() else int(fits.argmin())
        if width > best[1] - best[0]:
            best = (i, i + width)
    i, j = best[0], best[1] - 1
    wide = (j - i) / _STEPS
    if wide < _WIDE:
        return out | {
            "width": max(wide, 0.0),
            "sentence": "no wide stretch of coverage where confidence hardly varies",
        }
    rows = float(points.answered[0, j] - points.answered[0, i])
    wrong = float(points.wrong[0, j] - points.wrong[0, i])
    right = 1 - wrong / rows
    stated = float(
        np.interp(np.linspace(COVERAGES[i], COVERAGES[j], 201), COVERAGES, confidence).mean()
    )
    upper = clopper_pearson(rows - wrong, rows, level)[1]
    again = resampled(groups, seed).at_coverages(COVERAGES[[i, j]])
    share = 1 - np.diff(again.wrong, axis=1)[:, 0] / np.maximum(
        np.diff(again.answered, axis=1)[:, 0], 1
    )
    is_seen = stated - right >= _GAP and upper < stated
    say = (
        f"a plateau from {percent(COVERAGES[i])} to {percent(COVERAGES[j])} coverage: accuracy stays within "
        f"{percent(accuracy[i : j + 1].min())} to {percent(accuracy[i : j + 1].max())}, confidence within "
        f"{confidence[j]:.3f} to {confidence[i]:.3f}, and {percent(wrong / rows)} of the rows there are wrong where "
        f"their confidence admits {percent(1 - stated)}: within it no threshold is better than another"
        if is_seen
        else "confidence hardly varies over a wide stretch, but the rows there are right as often as it says"
    )
    out |= {"seen": bool(is_seen), "share": float((stated - share >= _GAP).mean()), "width": wide}
    out |= {"from_coverage": float(COVERAGES[i]), "to_coverage": float(COVERAGES[j])}
    out |= {
        "accuracy_low": float(accuracy[i : j + 1].min()),
        "accuracy_high": float(accuracy[i : j + 1].max()),
    }
    out |= {"confidence_low": float(confidence[j]), "confidence_high": float(confidence[i])}
    return out | {"right": right, "stated": stated, "sentence": say}


def tail_difference(a: RankBins, b: RankBins) -> Array:
    """Case 1, the tail: mean accuracy of B minus that of A over the first 20 % of coverage, of each replicate."""
    coverages = np.arange(1, round(TAIL * _STEPS) + 1) / _STEPS
    return np.asarray(
        (b.at_coverages(coverages).accuracy - a.at_coverages(coverages).accuracy).mean(axis=1)
    )
