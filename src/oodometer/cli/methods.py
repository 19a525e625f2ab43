"""The command `methods`: what there is, what it needs and what it assumes."""

from __future__ import annotations

from typing import Annotated

import typer

from . import output


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="methods")(methods)


def methods(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List estimators, scores, calibrators, metrics, rankers, simulations and shifts."""
    from ..verbs.methods import methods as run

    found = run()
    if json:
        output.deliver({"methods": found}, json="-")
        return
    for what in ("estimator", "score", "calibrator", "metric", "ranker", "simulation", "shift"):
        rows = [[m["name"], m["needs"], m["assumes"] or m["summary"]] for m in found if m["what"] == what]
        output.print_table(["name", "needs", "assumes" if what == "estimator" else "is"], rows, f"{what}s")
