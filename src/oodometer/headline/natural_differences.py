"""Natural differences: by how much one model is better than another on a target without labels, by public shifts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Self

import numpy as np

from ..arrays import Array
from ..plain import Plain
from ..results import Interval, percent


@dataclass(frozen=True)
class PairSigns:
    """What is known without labels of the difference a - b in accuracy; it lives on the rows where a and b part.

    reference_rows, rows : rows of reference and target on which they name different classes. share : of the target.
    reference : mean of (a right) - (b right) over those of the reference, with two rows added that tell nothing.
    agreement : mean share of the other models that side with a less that side with b, over those of the target and of
    the reference; None without other models. moved : total variation between predicted classes of both files, mean of
    a and b.
    """

    reference_rows: int
    rows: int
    share: float
    reference: float
    agreement: tuple[float, float] | None
    moved: float


def pairs_on_target(
    right: Array, reference: Array, target: Array
) -> Iterator[tuple[int, int, PairSigns]]:
    """The signs of each two models; whether right, and classes by number, of shape (model, row)."""
    models, both = len(reference), (reference, target)
    classes = int(max(named.max(initial=0) for named in both)) + 1
    sides = [
        np.stack([(named == codes).sum(axis=0, dtype=np.int32) for codes in named])
        for named in both
    ]
    shares = [
        np.stack([np.bincount(codes, minlength=classes) / max(len(codes), 1) for codes in named])
        for named in both
    ]
    moved = np.abs(shares[0] - shares[1]).sum(axis=1) / 2
    won = right.astype(np.int8)
    for i, j in combinations(range(models), 2):
        differs_on_reference, differs_on_target = (named[i] != named[j] for named in both)
        count, rows = int(differs_on_reference.sum()), int(differs_on_target.sum())
        agreement = [
            float((side[i] - side[j])[differs].mean()) / (models - 2)
            if models > 2 and differs.any()
            else 0.0
            for side, differs in zip(sides, (differs_on_reference, differs_on_target), strict=True)
        ]
        agreement_signs = None if models == 2 else (agreement[1], agreement[0])
        gap = float(won[i].sum(dtype=np.int64) - won[j].sum(dtype=np.int64)) / (count + 2)
        yield (
            i,
            j,
            PairSigns(
                count,
                rows,
                rows / max(len(differs_on_target), 1),
                gap,
                agreement_signs,
                float(moved[i] + moved[j]) / 2,
            ),
        )


@dataclass(frozen=True)
class NaturalDifferences:
    """Where the difference of two models ended under shifts that nobody made, given what is seen without labels.

    Let a be the model that is ahead on the reference, D the share of target rows on which a and b name different
    classes, e the difference over such rows of the reference, t and s how much more other models agree with a than with
    b over such rows of target and reference. Then

        value = w_1 e + w_2 t + w_3 s,
        quantile p of the difference = D (value + a_p se + b_p moved + c_p),
        se = sqrt((1 - e^2) (1 / (reference_rows + 2) + 1 / (rows + 2))),

    in three groups: other models ``agree`` that a is ahead (t > 0), ``contradict`` it, or there are none (``alone``).
    A pair is decided where either model is better at the chance of its group, ``sure``, or more.

    Parameters
    ----------
    levels : the p, ascending and symmetric. groups : name -> (w, shape (3,); a_p, b_p, c_p, shape (level, 3)).
    sure : group -> the chance from which on the order is called decided. decided : group -> public pairs that were
        called so with their source left out, and the share of them whose order was right.
    about : provenance: command, date, sources, pairs.

    Source: `benchmarks/natural/pairs.py`; linear quantile regression after Koenker and Bassett (1978).

    >>> prior = packaged_differences()
    >>> signs = PairSigns(100, 300, 0.3, 0.5, (0.5, 0.5), 0.05)
    >>> interval, chance = prior.difference(signs, 0.9)
    >>> 0.05 < interval.value < 0.25 and chance > prior.sure["agree"]
    True
    >>> prior.difference(PairSigns(100, 0, 0.0, 0.5, (0.0, 0.5), 0.05), 0.9)[0].value  # no row parts them
    0.0
    """

    levels: Array
    groups: Mapping[str, tuple[Array, Array]]
    sure: Mapping[str, float]
    decided: Mapping[str, tuple[int, float]]
    about: Plain

    def quantiles(self, signs: PairSigns) -> Array:
        """Quantiles at ``levels`` of the difference a - b, shape (level,)."""
        agreements = signs.agreement or (0.0, 0.0)
        lean = math.copysign(1.0, signs.reference or agreements[0])
        weights, table = self.groups[group_of(signs)]
        out = lean * (weights @ (signs.reference, *agreements)) + table @ scales_of(signs)
        out = np.maximum.accumulate(np.clip(out, -1.0, 1.0)) * signs.share
        return out if lean > 0 else -out[::-1]

    def difference(self, signs: PairSigns, level: float) -> tuple[Interval, float]:
        """The median of the difference a - b with its central interval, and how likely a is the better one."""
        inner, p = self.quantiles(signs), np.array([0.5, (1 - level) / 2, (1 + level) / 2])
        below = np.array([0.0, *self.levels, 1.0])
        ends = np.array([-signs.share, *inner, signs.share]) + 0.0
        value, lower, upper = map(float, np.interp(p, below, ends))
        # quantiles that the ends made equal would leave the inverse without a meaning
        chance = (
            1 - float(np.interp(0.0, ends + 1e-12 * np.arange(len(ends)), below))
            if signs.share
            else 0.5
        )
        return Interval(value, lower, upper, level, "empirical"), chance

    @property
    def assumes(self) -> str:
        """What the intervals rest on, in words."""
        pairs, sources = f"{self.about['pairs']:,}", len(self.about["sources"])
        text = f"the difference of two models moves as it did under public natural shifts ({pairs} pairs of {sources} "
        return f"{text}sources), and row by row the targets' files hold the same rows"

    def why(self, group: str) -> str:
        """When a pair of the group is decided, and how often that was right."""
        pairs, right = self.decided[group]
        text = f"of {pairs:,} such public pairs, their sources left out, {percent(right, 0)} were in this order"
        return f"Decided from a probability of {percent(self.sure[group], 0)} on; {text}"

    @classmethod
    def from_dict(cls, plain: Plain) -> Self:
        """Read what `benchmarks/natural/pairs.py` wrote."""
        groups = {}
        for name, group in plain["groups"].items():
            quantiles = np.array([list(row.values()) for row in group["quantiles"]])
            groups[name] = np.array(list(group["value"].values())), quantiles
        decided = {name: (row["pairs"], row["right"]) for name, row in plain["decided"].items()}
        about = {
            name: value
            for name, value in plain.items()
            if name not in ("sure", "decided", "groups", "levels")
        }
        return cls(np.array(plain["levels"]), groups, plain["sure"], decided, about)


def group_of(signs: PairSigns) -> str:
    """Which numbers of the prior are asked: do other models see the same one ahead as the reference does?"""
    if signs.agreement is None:
        return "alone"
    return (
        "agree"
        if (signs.reference or signs.agreement[0]) * signs.agreement[0] > 0
        else "contradict"
    )


def scales_of(signs: PairSigns) -> Sequence[float]:
    """What the quantiles of the prior are linear in: standard error, moved, 1."""
    chance = 1 / (signs.reference_rows + 2) + 1 / (signs.rows + 2)
    return math.sqrt((1 - signs.reference**2) * chance), signs.moved, 1.0


@cache
def packaged_differences() -> NaturalDifferences:
    """The prior of differences that comes with the package."""
    text = (
        files("oodometer.headline").joinpath("natural_differences.json").read_text(encoding="utf-8")
    )
    return NaturalDifferences.from_dict(json.loads(text))
