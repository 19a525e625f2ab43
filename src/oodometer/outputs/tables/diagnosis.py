"""The tables of a diagnosis: what each look at the shift found, and how the user's own columns moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.diagnosis import Diagnosis


_COLUMNS = ("finding", "says", "statistic", "p_value", "power", "strength", "supports", "refutes")


def tables(found: Diagnosis) -> dict[str, Maker]:
    """A row for each finding; ``columns``, a row for each of the user's columns, where they were given as features."""
    made: dict[str, Maker] = {"findings": lambda: _findings(found)}
    if found.columns:
        made["columns"] = lambda: columns_table(found)
    return made


def columns_table(found: Diagnosis) -> Table:
    """How far each column moved, and in ``value`` by how much that alone would change the accuracy."""
    rows = [
        {
            "column": one.name,
            "type": one.kind,
            "distance": one.distance,
            "psi": one.psi,
            "p_value": one.p_value,
            "moved": one.moved,
            **ends(one.explains),
            "says": one.says,
        }
        for one in found.columns
    ]
    return Table(("column", "type", "distance", "psi", "p_value", "moved", *INTERVAL, "says"), rows)


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
