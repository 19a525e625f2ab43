"""The command `methods`: what there is, what it needs and what it assumes."""

from __future__ import annotations

from typing import Any

from ..options import Options, option
from . import output
from .commands import Written, command


class _Methods(Options):
    """The options of `methods`."""

    json: bool = option(default=False, help="Print JSON.")


@command(_Methods)
def methods(given: dict[str, Any], to: Written) -> None:
    """List estimators, scores, calibrators, metrics, rankers, simulations and shifts."""
    from ..verbs.methods import methods as run

    found = run()
    if given["json"]:
        output.deliver({"methods": found}, json="-")
        return
    for what in ("estimator", "score", "calibrator", "metric", "ranker", "simulation", "shift"):
        rows = [[m["name"], m["needs"], m["assumes"] or m["summary"]] for m in found if m["what"] == what]
        output.print_table(["name", "needs", "assumes" if what == "estimator" else "is"], rows, f"{what}s")
