"""The command `rank`: which of several models is best, by a few labels or none."""

from __future__ import annotations

from typing import Any

from ..options import option
from ..verbs.options import RankOptions
from . import output
from .commands import Written, command


class _Rank(RankOptions):
    """The options of `rank`, and where rows to label next go."""

    suggested: str | None = option(
        default=None,
        path="written",
        metavar="FILE",
        flag="--out",
        help="Write the suggested rows, ids and texts, to this .csv or .jsonl file.",
    )


@command(_Rank, written=("json", "report", "save"))
def rank(arguments: dict[str, Any], to: Written) -> None:
    """Rank models by a few labels, or none: which one, and how sure."""
    from oodometer.results.ranking import FewShotRanking
    from oodometer.verbs.rank import check_out, write_suggested
    from oodometer.verbs.rank import rank as run

    out = arguments.pop("suggested", None)
    check_out(out, arguments["suggest"])
    with output.results(), output.progress_bar("asking the models") as progress:
        result = run(**arguments, argv=output.command_line(), progress=progress)
        visible = to.deliver(result.to_dict(), result)
        ranking = result if isinstance(result, FewShotRanking) and out is not None else None
        if ranking is not None:
            write_suggested(ranking, str(out))
    if visible:
        output.show(result)
        if ranking is not None:
            output.say(f"Wrote {len(ranking.suggested):,} rows to label next to {out}")
