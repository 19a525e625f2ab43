"""The command `rank`: models, a few labels and perhaps a pool in; which model, how sure, by which evidence, out."""

from __future__ import annotations

from typing import Any

from ..options import option
from ..verbs.model_options import RankOptions
from . import output
from .commands import Written, command


class _Typed(RankOptions):
    """The options of `rank`, and where rows to label next go."""

    suggested: str | None = option(
        default=None, path="written", metavar="FILE", flag="--out",
        help="Write the suggested rows, ids and texts, to this .csv or .jsonl file.",
    )  # fmt: skip


@command(_Typed, written=("json", "report", "save"))
def rank(given: dict[str, Any], to: Written) -> None:
    """Rank models by a few labels and a pool without: which one, how sure, by which evidence, what to label next."""
    from ..verbs.rank import check_out, write_suggested
    from ..verbs.rank import rank as run

    out = given.pop("suggested", None)
    check_out(out, given["suggest"])
    if to.report is not None and "attribution" not in given and "factors" not in given:
        given["attribution"] = "auto"
    with output.results(), output.progress_bar("asking the models") as progress:
        found = run(**given, argv=output.command_line(), progress=progress)
        shown = to.deliver(found.to_dict(), found)
        if out is not None:
            write_suggested(found, out)
    if shown:
        output.show(found)
        if out is not None:
            output.say(f"Wrote {len(found.suggested):,} rows to label next to {out}")
