"""The command `diagnose`: two prediction files in, the kind of shift between them and the tests behind it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from ..results.columns import explained_text
from ..results.diagnosis import column_lines
from ..verbs.options import DiagnoseOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..diagnoses import Diagnosis
    from ..results.columns import ColumnChange


_MOST_COLUMNS = 8  # without -v
_SMALLEST_P = 0.001  # what is below it reads alike


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, DiagnoseOptions, written=("json", "out"))(diagnose)


def diagnose(given: dict[str, Any], to: Written) -> None:
    """Say what kind of shift lies between a reference and a target."""
    from ..verbs.diagnose import diagnose as run

    to.check()
    with output.progress_bar("diagnosing") as progress:
        found = run(**given, progress=progress)
    if to.deliver(_with_origin(found, given["reference"], given["target"], given["seed"]), found):
        show(found)


def _with_origin(found: Diagnosis, reference: str, target: str, seed: int) -> dict[str, Any]:
    from ..version import __version__

    return {
        "command": "diagnose",
        "version": __version__,
        "argv": output.command_line(),
        "seed": seed,
        "reference": {"name": reference},
        "target": {"name": target},
        **found.to_dict(),
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _p_value(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def _power(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def show_columns(columns: Sequence[ColumnChange]) -> None:
    """How the user's columns moved, those that explain most of a change of accuracy first; without -v a few of them."""
    if not output.verbose():
        columns = [one for one in columns if one.matters][:_MOST_COLUMNS]
    if columns:
        output.print_table(
            ["column", "what changed", "distance", "p", "explains"],
            [
                [one.name, one.says, f"{one.distance:.3f}", _p_value(one.p_value), explained_text(one)]
                for one in columns
            ],
            "Your columns",
            bold=[(i, 0) for i, one in enumerate(columns) if one.matters],
        )


def show(found: Diagnosis, seed: int = 0) -> None:
    """The kind and why, then what each test saw, then which methods that speaks for and against."""
    output.tell(f"Kind of shift: {found.kind}", f"  {found.why}", *(f"  {line}" for line in column_lines(found)))
    show_columns(found.columns)
    output.print_table(
        ["look", "finding", "statistic", "p", "power"],
        [[f.name, f.says, _number(f.statistic), _p_value(f.p_value), _power(f.power)] for f in found.findings],
        "What each look sees",
        bold=[(i, 0) for i, f in enumerate(found.findings) if f.strength == "strong"],
    )
    verdicts = [f for f in found.findings if f.supports or f.refutes]
    if verdicts and output.verbose():
        output.print_table(
            ["look", "supports", "refutes"],
            [[f.name, ", ".join(f.supports), ", ".join(f.refutes)] for f in verdicts],
            "Methods whose assumption that speaks for or against",
        )
    output.tell("No test here sees a change of the truth itself (P(y | x)): only labels do, see `oodometer audit`.")
    output.tell(*(f"warning: {warning}" for warning in found.warnings))
    few = min(sum(one.matters for one in found.columns), _MOST_COLUMNS)
    output.left_out(seed=seed, column=len(found.columns) - few, note=len(verdicts))
