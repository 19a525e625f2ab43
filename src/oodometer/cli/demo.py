"""The command `demo`: the main job on real data, and a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..results import percent
from ..verbs.options import DemoOptions
from . import output
from .commands import Written, command


@command(DemoOptions)
def demo(given: dict[str, Any], to: Written) -> None:
    """Run the main job on handwritten digits that drift; no files needed."""
    from ..errors import MissingExtraError
    from ..verbs.demo import demo as run

    out = Path(given["out"])
    with output.progress_bar("training and estimating") as progress:
        found = run(out, progress=progress)
    rows = []
    for step in found.steps:
        i, truth = step.estimation.headline.interval, step.estimation.target["accuracy"]
        shown = [percent(i.value), f"[{percent(i.lower)}, {percent(i.upper)}]", percent(truth["value"])]
        rows.append([str(step.severity), step.name, *shown, step.estimation.headline.trust])
    columns = ["severity", "drift", "estimate", "interval", "truth", "trust"]
    output.print_table(columns, rows, "Accuracy without labels, and the truth")
    output.deliver(found.to_dict(), json=str(out / "demo.json"))
    target, labels = found.steps[3].files
    output.say(f"Try it yourself: oodometer estimate {found.reference} {target} --labels {labels}")
    try:
        from ..reports import write_report

        write_report(found.to_dict(), out / "report.html")
    except MissingExtraError as error:
        output.say(f"no report: {error}")
        return
    output.say(f"report: {out / 'report.html'}")
