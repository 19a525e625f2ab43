"""The command `audit`: a few labels on the target in, a valid interval and a verdict on the label-free one out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..verbs.options import AuditOptions
from . import output
from .commands import Written, command


@command(AuditOptions, written=("json", "report", "save"))
def audit(given: dict[str, Any], to: Written) -> None:
    """Check a model on the target by a few labels."""
    from ..errors import UsageError
    from ..verbs.audit import audit as run

    out = given.get("out")
    if given["suggest"] and out is None:
        raise UsageError("say where to write the suggested rows: --suggest N --out FILE.csv")
    if to.report is not None:  # before the work, not after it
        path = Path(to.report)
        if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            why = "it is a folder" if path.is_dir() else f"{path.parent} is no folder that may be written"
            raise UsageError(f"cannot write {to.report}: {why}; choose a file in a folder that exists")
    with output.results(), output.progress_bar("auditing") as progress:
        found = run(**given, expected_widths=to.report is not None, progress=progress)
        found = replace(found, argv=output.command_line())
        shown = to.deliver(found.to_dict(), found)
    if shown:
        output.show(found)
        if found.suggestion is not None:
            output.tell(f"Wrote {len(found.suggestion.row)} rows to label to {out}")
            if str(out).lower().endswith(".html"):
                output.tell("Open it in a browser, label, save the CSV there, and give that with --labels")
