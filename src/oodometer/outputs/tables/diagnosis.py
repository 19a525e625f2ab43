"""The table of a diagnosis: what each look at the shift found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Maker, Table

if TYPE_CHECKING:
    from ...results.diagnosis import Diagnosis

__all__ = ["tables"]

_COLUMNS = ("finding", "says", "statistic", "p_value", "power", "strength", "supports", "refutes")


def tables(found: Diagnosis) -> dict[str, Maker]:
    """A row for each finding."""
    return {"findings": lambda: _findings(found)}


def _findings(found: Diagnosis) -> Table:
    rows = [
        {
            "finding": one.name,
            "says": one.says,
            "statistic": one.statistic,
            "p_value": one.p_value,
            "power": one.power,
            "strength": one.strength,
            "supports": ", ".join(one.supports),
            "refutes": ", ".join(one.refutes),
        }
        for one in found.findings
    ]
    return Table(_COLUMNS, rows)
