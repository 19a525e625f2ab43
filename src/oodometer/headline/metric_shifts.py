"""Metrics besides the accuracy under two hypotheses: only the inputs changed, or the shift resembles public ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..plain import Json, Plain

FORMAT = 1
PUBLIC = 0.6  # how far public shifts are heard where nothing speaks against the other hypothesis
_QUANTILE, _REACH = ("p", "standard_error", "size"), ("points", "cases", "inside", "off_by_3")
_ATOMS = 400  # of each hypothesis
_GRID = (np.arange(_ATOMS) + 0.5) / _ATOMS
_NORMAL = np.array([NormalDist().inv_cdf(p) for p in _GRID])


@dataclass(frozen=True)
class MetricSigns:
    """What is known of a metric of a target without labels, brought to [0, 1].

    value : if P(y | x) stood still, with the standard errors ``below`` and ``above`` it. source : on the reference.
    error : standard error of the reference's value, carried over to the target's rows. moved : how far the outputs
    moved (None: unseen). separation : 2 AUC - 1 of a classifier that tells target rows from reference rows.
    """

    value: float
    below: float
    above: float
    source: float
    error: float
    moved: float | None = None
    separation: float | None = None


@dataclass(frozen=True)
class MetricPrior:
    """Where the truth of one metric ended under public shifts, given what is known without labels.

    With c the value and m the smaller one of moved / (1 + moved) and v / (1 + v), v the separation, quantile p of the
    truth is c + chance_p error + size_p m. Without a shift that can be seen what is left is chance. The two readings
    are put together as a mixture (`heard`): share w of public shifts, and 1 - w of a normal distribution about c, or
    about whatever another hypothesis says that fits better.

    Parameters
    ----------
    levels : the p, ascending. chance, size : shape (level,). moved : m where nothing shows how far the outputs moved.
    reach : rows of (most points that the band of 90 % reaches from the value, cases, share of them inside, share whose
        value was off by more than three points), whole domains left out.

    Source: `benchmarks/natural/metrics.py`; linear quantile regression after Koenker and Bassett (1978).

    >>> prior = packaged_metrics().priors["precision"]
    >>> still = MetricSigns(0.9, 0.01, 0.01, 0.9, 0.01, moved=0.0)
    >>> moved = MetricSigns(0.9, 0.01, 0.01, 0.9, 0.01, moved=0.8)
    >>> [round(float(np.ptp(prior.heard(one, np.array([0.05, 0.95])))), 1) > 0.1 for one in (still, moved)]
    [False, True]
    """

    levels: Array
    chance: Array
    size: Array
    moved: float
    reach: tuple[tuple[float, int, float, float], ...] = ()

    def size_of(self, signs: MetricSigns) -> float:
        """How large the shift is that can be seen, from 0 to 1."""
        moved = self.moved if signs.moved is None else signs.moved / (1 + signs.moved)
        return (
            moved
            if signs.separation is None
            else min(moved, signs.separation / (1 + signs.separation))
        )

    def public(self, signs: MetricSigns, p: Array) -> Array:
        """Quantiles ``p`` if the shift resembles public ones, shape of ``p``; linear between the fitted ones."""
        ends = signs.value + self.chance * signs.error + self.size * self.size_of(signs)
        ends = np.maximum.accumulate(np.clip(ends, 0.0, 1.0))
        return np.asarray(np.interp(p, [0.0, *self.levels, 1.0], [0.0, *ends, 1.0]))

    def heard(
        self,
        signs: MetricSigns,
        p: Array,
        *,
        share: float = PUBLIC,
        others: Sequence[tuple[float, float, float]] = (),
    ) -> Array:
        """Quantiles ``p`` where several hypotheses are heard, public shifts with this share.

        others : of each of the rest, which share alike, the value and the standard errors below and above it; by
            default those of ``signs``.
        """
        rest = others or [(signs.value, signs.below, signs.above)]
        normal = [
            value + _NORMAL * np.where(_NORMAL < 0, below, above) for value, below, above in rest
        ]
        atoms = np.concatenate(
            [self.public(signs, _GRID), *(np.clip(points, 0.0, 1.0) for points in normal)]
        )
        weights = np.repeat([share, *[(1 - share) / len(rest)] * len(rest)], _ATOMS) / _ATOMS
        order = np.argsort(atoms, kind="stable")
        reached = np.cumsum(weights[order]) - weights[order] / 2
        return np.asarray(np.interp(p, reached, atoms[order]))

    def to_dict(self) -> Json:
        """Return a plain mapping, as the file holds it."""
        rows = zip(self.levels, self.chance, self.size, strict=True)
        quantiles = [[round(float(number), 4) for number in row] for row in rows]
        tables = (("quantiles", _QUANTILE, quantiles), ("reach", _REACH, self.reach))
        return {"moved": self.moved} | {
            name: [dict(zip(columns, line, strict=True)) for line in lines]
            for name, columns, lines in tables
        }

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read what `to_dict` gave; `LookupError`, `TypeError` or `ValueError` for anything else."""
        rows = [[float(row[name]) for name in _QUANTILE] for row in plain["quantiles"]]
        levels, chance, size = np.array(rows).reshape(-1, len(_QUANTILE)).T
        reach = tuple(tuple(row[name] for name in _REACH) for row in plain["reach"])
        prior = cls(levels, chance, size, float(plain["moved"]), reach)
        numbers = np.concatenate([levels, chance, size, [prior.moved]])
        if not len(levels) or not np.isfinite(numbers).all() or (np.diff(levels) <= 0).any():
            raise ValueError("numbers that are missing or out of order")
        return prior


@dataclass(frozen=True)
class MetricShifts:
    """The prior of each metric: where CBPE, or another method that asks for P(y | x), gives the value (``priors``), and
    where nothing but the reference does (``alone``). about : provenance: command, date, sources, cases.
    """

    priors: Mapping[str, MetricPrior]
    alone: Mapping[str, MetricPrior] = field(default_factory=dict)
    about: Plain = field(default_factory=dict)

    def to_dict(self) -> Json:
        """Return a plain mapping, as the file holds it."""
        both = {"priors": self.priors, "alone": self.alone}
        return {"format": FORMAT, **self.about} | {
            name: {metric: prior.to_dict() for metric, prior in by_metric.items()}
            for name, by_metric in both.items()
        }

    @classmethod
    def from_dict(cls, plain: Any, file: str) -> Self:
        """Read what `to_dict` gave; `InputError` for another format, or for what is no such mapping."""
        expected = f"priors of metrics of format {FORMAT}"
        remedy = "take `metrics` out of the file for the packaged ones, or make them again with "
        remedy += "`python -m benchmarks.natural.metrics`"
        file_format = (
            plain.get("format", "none") if isinstance(plain, Mapping) else type(plain).__name__
        )
        if file_format != FORMAT:
            raise InputError(expected, got=f"format {file_format}", remedy=remedy, file=file)
        try:
            priors, alone = (
                {str(metric): MetricPrior.from_dict(entry) for metric, entry in plain[name].items()}
                for name in ("priors", "alone")
            )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                expected, got=f"one without {error}", remedy=remedy, file=file
            ) from None
        about = {
            name: plain[name] for name in ("made_by", "date", "cases", "sources") if name in plain
        }
        return cls(priors, alone, about)


@cache
def packaged_metrics() -> MetricShifts:
    """The priors that come with the package."""
    text = files("oodometer.headline").joinpath("metric_shifts.json").read_text(encoding="utf-8")
    return MetricShifts.from_dict(json.loads(text), "metric_shifts.json")
