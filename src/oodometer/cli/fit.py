"""The command `fit`: a labelled reference in, a file of everything that was learnt from it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results import percent
from ..results.values import counted
from ..verbs.options import FitOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..verbs.fit import Oodometer


@command(FitOptions)
def fit(given: dict[str, Any], to: Written) -> None:
    """Learn from a reference once, for `estimate FILE.oodo TARGET` to ask every night."""
    from ..verbs.fit import fit as run

    with output.progress_bar("fitting", lines=True) as progress:
        made = run(**given, progress=progress)
    show(made, given["out"])


def show(made: Oodometer, out: str) -> None:
    """What was learnt from how many rows, what was not, and how it is asked."""
    fitted, rows = made.fitted_, made.fitted_.reference.rows
    trials = "no backtest" if fitted.trials is None else f"{len(fitted.trials.trials)} simulated targets"
    output.tell(
        f"Fitted {counted(len(fitted.plan.methods), 'method')} on {counted(rows, 'row')} of {fitted.name}, "
        f"{percent(fitted.reference.correct / rows)} right; {trials}",
        f"Wrote {out} ({Path(out).stat().st_size / 1e6:.1f} MB); ask it: oodometer estimate {out} TARGET",
    )
    if output.verbose():
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in fitted.skipped))
    output.tell(*(f"warning: {warning}" for warning in fitted.warnings))
    output.left_out({"skipped_method": len(fitted.skipped)})
