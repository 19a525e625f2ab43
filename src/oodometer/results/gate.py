"""Gate: whether a new model may take the place of another, from the interval of their difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..plain import Plain
from .values import Interval, Record, percent

GateVerdict = Literal["worse", "not_worse", "undecided"]
GateMethod = Literal["interval", "anytime"]
GateUnit = Literal["rows", "clusters", "labelled rows"]
WORSE, UNDECIDED = 3, 4  # exit codes: shown worse; cannot be told, and a decision was asked for


@dataclass(frozen=True)
class Gate(Record):
    """What `compare` says to a drop that must not happen: ``b``, the new model, against ``a``, the base.

    Parameters
    ----------
    drop : the largest fall that is no failure, in the unit of the difference: a fraction of accuracy, or of the scale.
    verdict : "worse" where the whole interval of b - a lies below -drop, "not_worse" where it lies above, else
        "undecided".
    difference : b - a with that interval.
    a, b : names of the models.
    rows, unit : what it comes from: so many rows, or clusters, or labelled rows where judges are corrected.
    method : "interval", that of the comparison, valid for one look; or "anytime", valid however often one looks.
    needed_rows : about how many of these decide it with a power of 0.8 if the difference stays as it is; None where
        it is decided or that cannot be said.
    strict : whether "undecided" fails, too.

    Either decision is a statement of one side, wrong in at most (1 - level) / 2 of runs: 2.5 % at a level of 95 %.

    >>> apart = Interval(-0.06, -0.09, -0.03, 0.95, "asymptotic")
    >>> Gate(drop=0.02, verdict="worse", difference=apart, a="base", b="new", rows=400).exit_code
    3
    """

    drop: float
    verdict: GateVerdict
    difference: Interval
    a: str
    b: str
    rows: int
    method: GateMethod = "interval"
    needed_rows: int | None = None
    strict: bool = False
    unit: GateUnit = "rows"

    @property
    def exit_code(self) -> int:
        """What the command ends with: 3 where b is shown worse, 4 where ``strict`` and undecided, else 0."""
        if self.verdict == "worse":
            return WORSE
        return UNDECIDED if self.strict and self.verdict == "undecided" else 0


def gate_sentence(gate: Plain, say: Callable[[float], str]) -> str:
    """The verdict of a gate in a line, from the mapping that JSON holds; ``say`` writes an amount in its unit."""
    drop, gap = say(gate["drop"]), gate["difference"]
    where = {"worse": "below", "not_worse": "above"}.get(gate["verdict"])
    basis = f"the whole {percent(gap['level'], None)} interval lies {where} -{drop}"
    if gate["method"] == "anytime":
        ends = " to ".join(
            f"{'-' if gap[end] < 0 else '+'}{say(abs(gap[end]))}" for end in ("lower", "upper")
        )
        basis = f"the interval that holds at every look, {ends}, lies {where} -{drop}"
    if gate["verdict"] == "worse":
        return f"Gate: {gate['b']} is worse than {gate['a']} by more than {drop}: {basis}"
    if gate["verdict"] == "not_worse":
        return f"Gate: {gate['b']} has not fallen by {drop}: {basis}"
    text = f"Gate: undecided whether {gate['b']} fell by more than {drop}"
    if gate["needed_rows"] is None:
        return text
    needed = float(format(gate["needed_rows"], ".2g"))
    unit = gate.get("unit", "rows")
    return f"{text}; about {needed:,.0f} {unit} (here {gate['rows']:,}) decide it if the difference stays"
