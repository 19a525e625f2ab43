"""The command `stress`: models and data in, their quality and the estimates without labels as a shift grows, out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..verbs.model_options import StressOptions
from . import output
from .commands import Written, command


@command(StressOptions, written=("json",), kept=True)
def stress(given: dict[str, Any], to: Written) -> None:
    """Ask models about data whose shift grows: accuracy, Brier, ECE, and the estimate without labels beside them."""
    from ..verbs.stress import stress as run

    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        found = run(**given, argv=output.command_line(), progress=progress)
        told = found.to_dict()
        page, why = _page(Path(given["out"]))
        output.deliver(told, report=page)
        shown = to.deliver(told)
    if shown:
        output.show(found)
        output.tell(*why)
        output.say(f"Predictions, stress.json and stress.csv: {found.out}")


def _page(out: Path) -> tuple[str | None, list[str]]:
    """Where the page of the folder goes, and what is to be said of it; None where what draws it is absent."""
    from ..errors import MissingExtraError
    from ..outputs.files import PAGES, check_outputs

    page = str(out / "report.html")
    try:
        check_outputs([page], PAGES)
    except MissingExtraError as error:
        return None, [f"No report: {error}"]
    return page, [f"Report: {page}"]
