"""Backtest: what trials on simulated shifts found, each of them and a table by method, family and severity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .shown import Shown
from .values import Skipped, aligned, percent, plain

Triple = tuple[float, float, float]
Key = tuple[str, float, int]


@dataclass(frozen=True)
class Trial:
    """One simulated target: its true accuracy, and what every method said of it.

    Parameters
    ----------
    family, severity, repeat : what was simulated.
    rows, truth : rows of the target and its accuracy.
    source : accuracy of the rows that the methods were fitted on.
    estimates : method -> (value, lower, upper).
    signs : what `ShiftStatistics` saw of the shift.
    """

    family: str
    severity: float
    repeat: int
    rows: int
    truth: float
    source: float
    estimates: Mapping[str, Triple]
    signs: Mapping[str, float]

    @property
    def key(self) -> Key:
        """Family, severity and repeat."""
        return self.family, self.severity, self.repeat

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "family": self.family,
            "severity": self.severity,
            "repeat": self.repeat,
            "rows": self.rows,
            "truth": self.truth,
            "source": self.source,
            "estimates": {m: list(t) for m, t in self.estimates.items()},
            "signs": dict(self.signs),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Trial:
        """The trial that `to_dict` wrote; `KeyError`, `TypeError` or `ValueError` for anything else."""
        estimates = {str(m): (float(a), float(b), float(c)) for m, (a, b, c) in plain["estimates"].items()}
        found = cls(
            str(plain["family"]),
            float(plain["severity"]),
            int(plain["repeat"]),
            int(plain["rows"]),
            float(plain["truth"]),
            float(plain["source"]),
            estimates,
            {str(k): float(v) for k, v in plain["signs"].items()},
        )
        shares = [(0.0, found.truth, 1.0), (0.0, found.source, 1.0)]
        shares += [(low, value, high) for value, low, high in estimates.values()]
        if found.rows < 1 or not all(0 <= a <= b <= c <= 1 for a, b, c in shares):  # NaN is in no order
            raise ValueError("shares outside [0, 1], or out of order")
        return found


@dataclass(frozen=True)
class BacktestRow:
    """One method on one family at one severity: errors in accuracy (fractions), over ``cases`` trials.

    error : mean absolute error; bias : mean error; coverage : share of trials whose truth its interval held;
    width : mean width of the interval.
    """

    method: str
    family: str
    severity: float
    error: float
    bias: float
    coverage: float
    width: float
    cases: int

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {k: plain(getattr(self, k)) for k in self.__dataclass_fields__}


@dataclass(frozen=True, repr=False)
class Backtest(Shown):
    """What `backtest` found: every trial, and a table by method, family and severity.

    ``reused`` trials came from the cache.
    """

    reference: Mapping[str, Any]
    families: tuple[str, ...]
    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...]
    level: float
    seed: int
    reused: int = 0
    argv: str | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return summary_of_backtest(self)

    @property
    def methods(self) -> list[str]:
        """Methods that answered at least once, in the order of presentation."""
        return list(dict.fromkeys(m for t in self.trials for m in t.estimates))

    @property
    def rows(self) -> list[BacktestRow]:
        """The table."""
        cells: dict[tuple[str, str, float], list[tuple[float, float, float, float]]] = defaultdict(list)
        for t in self.trials:
            for method, three in t.estimates.items():
                cells[method, t.family, t.severity].append((*three, t.truth))
        return [_row(key, np.array(found)) for key, found in cells.items()]

    def overall(self) -> list[BacktestRow]:
        """Each method over all trials in which it answered, best first; families count alike."""
        by_method: dict[str, list[BacktestRow]] = defaultdict(list)
        for row in self.rows:
            by_method[row.method].append(row)
        out = []
        for method, rows in by_method.items():
            families: dict[str, list[BacktestRow]] = defaultdict(list)
            for row in rows:
                families[row.family].append(row)

            def mean(name: str, families: dict[str, list[BacktestRow]] = families) -> float:
                return float(np.mean([np.mean([getattr(r, name) for r in f]) for f in families.values()]))

            out.append(
                BacktestRow(
                    method,
                    "all",
                    0.0,
                    mean("error"),
                    mean("bias"),
                    mean("coverage"),
                    mean("width"),
                    sum(r.cases for r in rows),
                )
            )
        return sorted(out, key=lambda r: r.error)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        return {
            "command": "backtest",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "reference": plain(self.reference),
            "families": list(self.families),
            "trials": len(self.trials),
            "reused": self.reused,
            "overall": [r.to_dict() for r in self.overall()],
            "rows": [r.to_dict() for r in self.rows],
            "skipped": [s.to_dict() for s in self.skipped],
            "warnings": list(self.warnings),
        }


def _row(key: tuple[str, str, float], found: Any) -> BacktestRow:
    value, lower, upper, truth = found.T
    held = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
    return BacktestRow(
        *key,
        float(np.abs(value - truth).mean()),
        float((value - truth).mean()),
        float(held.mean()),
        float((upper - lower).mean()),
        len(found),
    )


def summary_of_backtest(found: Backtest) -> str:
    """Every method over all trials, best first: error, bias, how often its interval held the truth."""
    rows = [
        [one.method, f"{100 * one.error:.1f}", f"{100 * one.bias:+.1f}", percent(one.coverage, 0)]
        for one in found.overall()
    ]
    told = f"{len(found.trials)} simulated targets from {found.reference['rows']} rows of {found.reference['name']}"
    table = aligned(["method", "error (points)", "bias (points)", "interval held"], rows)
    return "\n".join([told, table, *(f"warning: {warning}" for warning in found.warnings)])
