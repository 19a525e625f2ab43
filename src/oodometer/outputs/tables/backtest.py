"""Tables of a backtest: methods by family and severity, methods over all, single trials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .base import Maker, Table

if TYPE_CHECKING:
    from ...results.backtest import Backtest

__all__ = ["tables"]

_ERRORS = ("error", "bias", "coverage", "width", "cases")
_TRIAL = ("family", "severity", "repeat", "rows", "method", "value", "lower", "upper", "level", "truth", "error")


def tables(found: Backtest) -> dict[str, Maker]:
    """``rows`` by method, family and severity; ``methods`` over all trials, best first; ``trials``, each of them."""
    return {
        "rows": lambda: Table(("method", "family", "severity", *_ERRORS), [row.to_dict() for row in found.rows]),
        "methods": lambda: Table(("method", *_ERRORS), [row.to_dict() for row in found.overall()]),
        "trials": partial(_trials, found),
    }


def _trials(found: Backtest) -> Table:
    rows = [
        {
            "family": trial.family,
            "severity": trial.severity,
            "repeat": trial.repeat,
            "rows": trial.rows,
            "method": method,
            "value": value,
            "lower": lower,
            "upper": upper,
            "level": found.level,
            "truth": trial.truth,
            "error": value - trial.truth,
        }
        for trial in found.trials
        for method, (value, lower, upper) in trial.estimates.items()
    ]
    return Table(_TRIAL, rows)
